/* SPDX-License-Identifier: MIT
 *
 * assertion.h - statements about a profile that hold or do not, for test suites.
 *
 *     calls("parse" -> "token") == 3 and ticks("solve") < 1e6
 *
 * A sequence is blocks in quotes (" or '), named as everywhere, with -> between them.
 *   calls(s)           calls that end in the sequence
 *   METRIC(s)          its inclusive cost; wall is in nanoseconds
 *   self.METRIC(s)     the cost of the contexts that end in it
 *   inclusive.METRIC(s)  the same as METRIC(s), but for calls also those below
 *   contexts(s)        how many contexts end in it
 *   calls() METRIC() contexts()  of the whole profile
 *   folded() cycles()  calls folded by limits; calls that came back along cycles
 * A metric whose name is not a word is quoted: self."cache misses"("f").
 *
 * Numbers may have a unit: ns us ms s, B KiB MiB GiB, %. Operators, weakest first:
 * or, and, not, == != < <= > >=, + -, * /, unary -. C's || && ! do as well.
 */
#ifndef CRN_PROFILE_ASSERTION_H
#define CRN_PROFILE_ASSERTION_H

#include "profile/model.h"

/* A figure that was looked up: its position in the text, and its value. */
typedef struct crn_assertion_figure {
    const char *start;
    size_t length;
    long double value;
} crn_assertion_figure;

enum { CRN_ASSERTION_FIGURES = 64 };

typedef struct crn_assertion {
    bool holds;
    size_t count;
    crn_assertion_figure figures[CRN_ASSERTION_FIGURES]; /* of the first lookups */
} crn_assertion;

/* Evaluates `text`. If `unknown_is_zero`, blocks that are not in the profile count as never called;
 * otherwise they are an error, as the name may be misspelt. On an error returns false, and the
 * message has the column. */
bool crn_assertion_check(const crn_profile *profile, const char *text, bool unknown_is_zero,
                         crn_assertion *assertion, crn_error *error);

#endif
