/* SPDX-License-Identifier: MIT
 *
 * children.h - depth-first walk over the tree of contexts, without recursion.
 */
#ifndef CRN_PROFILE_CHILDREN_H
#define CRN_PROFILE_CHILDREN_H

#include "profile/model.h"

typedef void crn_children_visit(void *data, uint32_t context);

/* Calls `enter` for each context before its descendants, and `leave` after them. Children are
 * visited in the order of their numbers. */
void crn_children_walk(const crn_profile *profile, crn_children_visit *enter,
                       crn_children_visit *leave, void *data);

#endif
