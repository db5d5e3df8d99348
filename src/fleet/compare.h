/* SPDX-License-Identifier: MIT
 *
 * compare.h - finds differences between two groups of runs that are larger than the noise.
 *
 * Times of a run are divided by its slowness first, so that a slow machine is no regression. The
 * slowness is the median, over unchanged functions, of a function's time in the run divided by its
 * mean over all runs (Anders and Huber 2010, median of ratios). Each function then gets Welch's
 * t-test. Holm's method adjusts the p values, so that with probability 95 % no function is blamed
 * by chance.
 */
#ifndef CRN_FLEET_COMPARE_H
#define CRN_FLEET_COMPARE_H

#include "fleet/database.h"
#include "fleet/filter.h"

/* Statistics of one function, or of whole runs. */
typedef struct crn_fleet_change {
    uint32_t column;      /* column of the function; UINT32_MAX for whole runs */
    double before, after; /* means */
    double low, high;     /* 95 % interval of the relative change, after / before - 1 */
    double p;             /* adjusted for the number of functions */
} crn_fleet_change;

typedef struct crn_fleet_compare {
    crn_fleet_change whole;
    size_t count;
    crn_fleet_change *changes; /* smallest p first, then the largest difference */
} crn_fleet_compare;

/* Costs. A row is a run, first all of the first group; a column is a function. */
typedef struct crn_fleet_costs {
    size_t runs[2], columns;
    double *values; /* by row, then column */
} crn_fleet_costs;

/* Compares two groups of at least two runs each. If `divide`, as for times, divides each run's
 * costs by its slowness. Tests functions with at least the part `least` (such as 0.001) of the
 * cost. Free the result with crn_fleet_compare_free. */
crn_fleet_compare crn_fleet_compare_make(const crn_fleet_costs *costs, bool divide, double least);
void crn_fleet_compare_free(crn_fleet_compare *compare);

/* The costs of two groups of runs in a database, and the functions' names. */
typedef struct crn_fleet_groups {
    crn_fleet_costs costs;
    char **names, **files; /* by column */
    uint32_t *lines;
} crn_fleet_groups;

/* Fetches self costs in `metric`. Free `groups` with crn_fleet_groups_free, also after an error. */
bool crn_fleet_groups_fetch(crn_fleet_groups *groups, crn_database *database,
                            const crn_fleet_filter filters[2], const char *metric,
                            crn_error *error);
void crn_fleet_groups_free(crn_fleet_groups *groups);

#endif
