/* SPDX-License-Identifier: MIT
 *
 * block_set.h - sets of blocks, as expressions name them.
 *
 *     "RE"             whose name, by itself or with those that it is written inside of, a regular
 *                      expression (POSIX extended) matches; '...' likewise
 *     file("RE")       whose file it matches
 *     is("BLOCK")      one block, as everywhere else (reference.h)
 *     all              every block
 *     pred(S) succ(S)  that call one of S; that one of S calls
 *     to(S) from(S)    S and all that leads to it; S and all that it leads to
 *     thresh(N)        whose own cost is N % of the whole or more
 *     thresh-stack(N)  that were on the stack for N % of it or more
 *     thresh-gc(N)     while they were on the stack the collector cost N % of it or more
 *     not S, S and S, S or S, (S)
 *
 * The words are those of MLton's mlprof. Its own form is understood as well: operators in front, as
 * in (and "a" (not "b")), and what words apply to without brackets, as in (to "a").
 */
#ifndef CRN_PROFILE_BLOCK_SET_H
#define CRN_PROFILE_BLOCK_SET_H

#include "profile/model.h"

/* Parameters of an expression. */
typedef struct crn_block_set_about {
    uint32_t metric;       /* metric of the thresholds */
    const char *collector; /* name of the garbage collector's blocks */
} crn_block_set_about;

/* Returns a set: 1 for each block in it; never the root. Free it with crn_free. On an error returns
 * NULL, and the message has the column. */
uint8_t *crn_block_set_make(const crn_profile *profile, crn_block_set_about about,
                            const char *expression, crn_error *error);

#endif
