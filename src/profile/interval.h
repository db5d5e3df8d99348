/* SPDX-License-Identifier: MIT
 *
 * interval.h - confidence intervals of sampled figures. docs/SAMPLING.md, "Confidence intervals",
 * derives the formulas.
 */
#ifndef CRN_PROFILE_INTERVAL_H
#define CRN_PROFILE_INTERVAL_H

typedef struct crn_interval {
    double low, high;
} crn_interval;

/* Standard normal deviate of a 95 % interval. */
#define CRN_INTERVAL_Z 1.959963984540054

/* Returns Wilson's score interval (Journal of the American Statistical Association 22, 1927) of a
 * share, given `hits` of `samples`. They may be fractions, as gaps between samples differ in
 * length. Returns 0..1 without samples. */
crn_interval crn_interval_share(double hits, double samples);

/* Returns the score interval of a sum observed as `value`: a Poisson number of draws of `unit`
 * each. */
crn_interval crn_interval_count(double value, double unit);

/* Returns the interval of `share` minus `other`: Newcombe's hybrid score interval (Statistics in
 * Medicine 17, 1998, method 10). An exact share has low = high. */
crn_interval crn_interval_difference(double share, crn_interval of_share, double other,
                                     crn_interval of_other);

/* Returns the deviate with which `count` comparisons raise any false alarm in at most 5 % of runs
 * (Bonferroni); CRN_INTERVAL_Z for one comparison. */
double crn_interval_z_of(unsigned count);

#endif
