/* SPDX-License-Identifier: MIT
 *
 * instances.h - merges functions that a compiler made from one piece of source: template instances
 * and clones.
 */
#ifndef CRN_PROFILE_INSTANCES_H
#define CRN_PROFILE_INSTANCES_H

#include "profile/model.h"

/* Merges blocks with the same file, line and column whose names differ only in template arguments,
 * parameters and clone suffixes (".part.0", ".constprop.1", "[clone ...]"). The merged block has
 * the name without these. `apart`, by block, excludes blocks; it may be NULL. Costs and calls are
 * added, and calls between instances of one function fold like recursion. */
crn_profile *crn_instances_merge(const crn_profile *profile, const uint8_t *apart);

/* Returns the profile with short names: without parameters, template arguments, clone suffixes,
 * and what they are inside of ("ns::f<int>(int)" and "Outer.f" become "f"). Blocks that then have
 * the same name, file, line and column are one. */
crn_profile *crn_names_shorten(const crn_profile *profile);

#endif
