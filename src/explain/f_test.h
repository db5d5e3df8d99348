/* SPDX-License-Identifier: MIT
 *
 * f_test.h - Fisher's F-test: do groups, or a line, explain more variance than chance does?
 */
#ifndef CRN_EXPLAIN_F_TEST_H
#define CRN_EXPLAIN_F_TEST_H

/* Returns the regularised incomplete beta function I_x(a, b) for a, b > 0 and x in 0..1: continued
 * fraction 8.17.22 of the NIST Digital Library of Mathematical Functions, evaluated by Lentz's
 * method. No other special function is needed, so no library is used. */
double crn_incomplete_beta(double a, double b, double x);

/* Returns the two-sided p value of Student's t with `freedom` degrees of freedom. */
double crn_t_test(double t, double freedom);
/* Returns the t whose two-sided p value is `p`. */
double crn_t_quantile(double freedom, double p);

/* Returns the probability (p value) that chance alone explains at least the share `explained` (0 to
 * 1) of the variance. Degrees of freedom: `between` of the model (1 for a line, groups - 1 for
 * groups), `within` of the rest. Returns 1 without degrees of freedom or an explained share. */
double crn_f_test(double explained, double between, double within);

/* Returns the explained share less the share expected by chance, at least 0: adjusted R squared
 * (Wherry 1931) for a line, epsilon squared (Kelley 1935) for groups, by the same formula. */
double crn_explained_adjusted(double explained, double between, double within);

#endif
