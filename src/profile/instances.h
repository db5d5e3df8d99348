/* SPDX-License-Identifier: MIT
 *
 * instances.h - merges functions that a compiler made from the same source: template instances and
 * clones.
 */
#ifndef CRN_PROFILE_INSTANCES_H
#define CRN_PROFILE_INSTANCES_H

#include "profile/model.h"

/* Returns a copy in which blocks at the same file, line and column are one, if their names differ
 * only in template arguments, parameters and clone suffixes (".part.0", "[clone ...]"). The merged
 * name has none of these. Leaves blocks with apart[b] alone; `apart` may be NULL. Adds costs and
 * calls; calls between merged blocks fold like recursion. */
crn_profile *crn_instances_merge(const crn_profile *profile, const uint8_t *apart);

/* Returns a copy with short names: without parameters, template arguments, clone suffixes and outer
 * names ("ns::f<int>(int)" and "Outer.f" become "f"). Merges blocks that then have the same name,
 * file, line and column. */
crn_profile *crn_names_shorten(const crn_profile *profile);

#endif
