/* SPDX-License-Identifier: MIT
 *
 * interval.h - how far a figure that was sampled may be off. docs/SAMPLING.md, "How sure is
 * a figure", says which formulas and why these.
 */
#ifndef CRN_PROFILE_INTERVAL_H
#define CRN_PROFILE_INTERVAL_H

typedef struct crn_interval {
    double low, high;
} crn_interval;

/* The normal deviate of a 95 % interval. */
#define CRN_INTERVAL_Z 1.959963984540054

/* The share of which `hits` of `samples` were seen, 0 to 1: Wilson's score interval (Journal
 * of the American Statistical Association 22, 1927). Neither need be whole: time is charged by
 * gaps of unequal length. Nothing is known of a share of no samples. */
crn_interval crn_interval_share(double hits, double samples);

/* The sum of draws that are worth `unit` each and come at random (Poisson), when it is seen as
 * `value`: all means from which that is no farther than the deviate (the score interval, as
 * Wilson's is of shares). */
crn_interval crn_interval_count(double value, double unit);

/* One share less another, each with its interval: Newcombe's hybrid score interval (Statistics
 * in Medicine 17, 1998, method 10). Shares that are known exactly have low = high. */
crn_interval crn_interval_difference(double share, crn_interval of_share, double other,
                                     crn_interval of_other);

/* The deviate beyond which all of `count` comparisons together alarm by chance in 5 % of runs
 * at most (Bonferroni). Of one it is CRN_INTERVAL_Z. */
double crn_interval_z_of(unsigned count);

#endif
