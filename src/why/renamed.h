/* SPDX-License-Identifier: MIT
 *
 * renamed.h - functions that are on one side only, but call the same and cost alike.
 */
#ifndef CRN_WHY_RENAMED_H
#define CRN_WHY_RENAMED_H

#include "why/why.h"

/* Finds functions that were renamed or moved: mutually most alike among those of one side only, by
 * what they call, who calls them and where they are. Gives both the same number in the join, and
 * lists them in `why->matches`. */
void crn_why_find_renamed(crn_why *why, crn_block_join *join, const char *metric);

#endif
