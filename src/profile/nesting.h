/* SPDX-License-Identifier: MIT
 *
 * nesting.h - lexical nesting: names of blocks together with the blocks that they are written in.
 */
#ifndef CRN_PROFILE_NESTING_H
#define CRN_PROFILE_NESTING_H

#include "profile/model.h"

/* Limit on the number of outer blocks in a name. */
enum { CRN_NESTING_MOST = 16 };

/* Lists the lexical ancestors of `block` that its name should show, outermost first, and returns
 * their number. Blocks that are a whole file are left out, as the file name says that; likewise
 * outer names that the inner name already begins with, as in "run(int)::{lambda()#1}::operator()".
 * Cycles of parents, which only damaged captures have, end at the limit. */
uint32_t crn_nesting_around(const crn_profile *profile, uint32_t block,
                            uint32_t around[CRN_NESTING_MOST]);

/* Returns "outer.middle", without the block itself; "" if there is nothing to show. Free it with
 * crn_free. */
char *crn_nesting_outer(const crn_profile *profile, uint32_t block);

/* Returns "outer.middle.inner". Free it with crn_free. */
char *crn_nesting_name(const crn_profile *profile, uint32_t block);

#endif
