/* SPDX-License-Identifier: MIT
 *
 * instances.h - one piece of source that became several functions: instances of a template,
 * clones that the compiler made.
 */
#ifndef CRN_PROFILE_INSTANCES_H
#define CRN_PROFILE_INSTANCES_H

#include "profile/model.h"

/* The profile in which blocks are one that were written in one place (file, line, column) and whose
 * names differ only in template arguments, parameters and what compilers append (".part.0",
 * ".constprop.1", "[clone ...]"): the block has the name without these. `apart` is by block and
 * says which are left alone; it may be NULL. Costs and calls are added up, and what called itself
 * through another instance folds, as recursion does. */
crn_profile *crn_instances_merge(const crn_profile *profile, const uint8_t *apart);

#endif
