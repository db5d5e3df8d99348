/* SPDX-License-Identifier: MIT
 *
 * children.h - walking the tree of contexts downwards, however deep it is.
 */
#ifndef CRN_PROFILE_CHILDREN_H
#define CRN_PROFILE_CHILDREN_H

#include "profile/model.h"

typedef void crn_children_visit(void *data, uint32_t context);

/* Calls `enter` for each context before those below it and `leave` after them. Children
 * come in the order of their numbers. */
void crn_children_walk(const crn_profile *profile, crn_children_visit *enter,
                       crn_children_visit *leave, void *data);

#endif
