/* SPDX-License-Identifier: MIT
 *
 * interval.h - confidence intervals of sampled figures. docs/SAMPLING.md, "Confidence intervals",
 * gives the formulas and the reasons.
 */
#ifndef CRN_PROFILE_INTERVAL_H
#define CRN_PROFILE_INTERVAL_H

typedef struct crn_interval {
    double low, high;
} crn_interval;

/* Normal deviate of a 95 % interval. */
#define CRN_INTERVAL_Z 1.959963984540054

/* Returns Wilson's score interval of a share (Journal of the American Statistical Association 22,
 * 1927) of which `hits` of `samples` were seen. Neither must be an integer: time is charged in gaps
 * of unequal length. Without samples it is 0..1. */
crn_interval crn_interval_share(double hits, double samples);

/* Returns the score interval of a sum of random draws (Poisson) of `unit` each that was observed as
 * `value`. */
crn_interval crn_interval_count(double value, double unit);

/* Returns the interval of the difference of two shares: Newcombe's hybrid score interval
 * (Statistics in Medicine 17, 1998, method 10). Exact shares have low = high. */
crn_interval crn_interval_difference(double share, crn_interval of_share, double other,
                                     crn_interval of_other);

/* Returns the deviate at which `count` comparisons together raise a false alarm in at most 5 % of
 * runs (Bonferroni). For one it is CRN_INTERVAL_Z. */
double crn_interval_z_of(unsigned count);

#endif
