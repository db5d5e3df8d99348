/* SPDX-License-Identifier: MIT
 *
 * nesting.h - blocks with those that they are written inside of: a function in another one, a
 * branch in its function.
 */
#ifndef CRN_PROFILE_NESTING_H
#define CRN_PROFILE_NESTING_H

#include "profile/model.h"

/* The most blocks around one that are told. */
enum { CRN_NESTING_MOST = 16 };

/* The blocks around `block` that its name does not tell anyway, the outermost first; returns how
 * many. A block that stands for a whole file is not told: the place says that. Nor is one whose
 * name the inner name begins with, as in "run(int)::{lambda()#1}::operator()". Blocks that claim to
 * lie in each other (no honest capture has such) end where the count does. */
uint32_t crn_nesting_around(const crn_profile *profile, uint32_t block,
                            uint32_t around[CRN_NESTING_MOST]);

/* "outer.middle", without the block itself; "" if nothing is told. To be freed. */
char *crn_nesting_outer(const crn_profile *profile, uint32_t block);

/* "outer.middle.inner". To be freed. */
char *crn_nesting_name(const crn_profile *profile, uint32_t block);

#endif
