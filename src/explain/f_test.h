/* SPDX-License-Identifier: MIT
 *
 * f_test.h - whether groups, or a line, explain more than chance does.
 */
#ifndef CRN_EXPLAIN_F_TEST_H
#define CRN_EXPLAIN_F_TEST_H

/* The regularised incomplete beta function I_x(a, b), for a and b above 0 and x from 0 to 1:
 * the continued fraction 8.17.22 of the NIST Digital Library of Mathematical Functions, by the
 * method of Lentz. The one special function that is needed here; a library for it would have
 * to be there for each platform that the tests are built for. */
double crn_incomplete_beta(double a, double b, double x);

/* How likely chance alone explains at least the share `explained` (0 to 1) of the variance,
 * with `between` degrees of freedom for what explains (1 for a line, groups - 1 for groups) and
 * `within` for the rest: Fisher's F-test. 1 where there is nothing to test. */
double crn_f_test(double explained, double between, double within);

/* `explained` without what chance is expected to explain: adjusted R squared (Wherry 1931) for a
 * line, epsilon squared (Kelley 1935) for groups, which are the same formula. At least 0. */
double crn_explained_adjusted(double explained, double between, double within);

#endif
