/* SPDX-License-Identifier: MIT
 *
 * nesting.h - lexical nesting: names of blocks with the names of the blocks around them in the
 * source.
 */
#ifndef CRN_PROFILE_NESTING_H
#define CRN_PROFILE_NESTING_H

#include "profile/model.h"

/* Limit on the number of outer blocks in a name. */
enum { CRN_NESTING_MOST = 16 };

/* Lists the lexical ancestors that the name of `block` should show, outermost first, and returns
 * their number. Skips blocks that are a whole file, as reports show the file's name, and blocks
 * with whose name the inner name begins, as in "run(int)::{lambda()#1}::operator()". Cycles of
 * parents, possible in damaged captures, end at the limit. */
uint32_t crn_nesting_around(const crn_profile *profile, uint32_t block,
                            uint32_t around[CRN_NESTING_MOST]);

/* Returns "outer.middle", without the block itself; "" without ancestors to show. Free it with
 * crn_free. */
char *crn_nesting_outer(const crn_profile *profile, uint32_t block);

/* Returns "outer.middle.inner". Free it with crn_free. */
char *crn_nesting_name(const crn_profile *profile, uint32_t block);

#endif
