/* SPDX-License-Identifier: MIT
 *
 * compare.h - what differs between two groups of runs, beyond the noise between runs.
 *
 * Time: each run is divided by its machine's speed first, the median of the ratios of its functions
 * to their means, so that a slow machine is not a regression (Anders and Huber 2010, median of
 * ratios), of those functions that did not change. Then Welch's t-test for each function; p values
 * are adjusted by Holm's method, so that with probability 95 % no function is blamed by chance.
 */
#ifndef CRN_FLEET_COMPARE_H
#define CRN_FLEET_COMPARE_H

#include "fleet/database.h"
#include "fleet/filter.h"

/* Statistics of one function, or of whole runs. */
typedef struct crn_fleet_change {
    uint32_t column;      /* of the figures; of whole runs UINT32_MAX */
    double before, after; /* means */
    double low, high;     /* 95 % interval of the relative change, after / before - 1 */
    double p;             /* adjusted for the number of functions */
} crn_fleet_change;

typedef struct crn_fleet_compare {
    crn_fleet_change whole;
    size_t count;
    crn_fleet_change *changes; /* smallest p first, then the largest difference */
} crn_fleet_compare;

/* Costs: rows are runs, first all before, then all after; columns are functions. */
typedef struct crn_fleet_costs {
    size_t runs[2], columns;
    double *values; /* by row, then column */
} crn_fleet_costs;

/* Compares; needs two runs on each side. If `divide`, as for times, each run's costs are first
 * divided by the speed of its machine. Functions below `least` of the whole (0.001) are not tested.
 * Free it with crn_fleet_compare_free. */
crn_fleet_compare crn_fleet_compare_make(const crn_fleet_costs *costs, bool divide, double least);
void crn_fleet_compare_free(crn_fleet_compare *compare);

/* The costs of two groups of runs in a database, and the functions' names. */
typedef struct crn_fleet_groups {
    crn_fleet_costs costs;
    char **names, **files; /* by column */
    uint32_t *lines;
} crn_fleet_groups;

/* Fetches self costs in `metric`. Free it with crn_fleet_groups_free, also after an error. */
bool crn_fleet_groups_fetch(crn_fleet_groups *groups, crn_database *database,
                            const crn_fleet_filter filters[2], const char *metric,
                            crn_error *error);
void crn_fleet_groups_free(crn_fleet_groups *groups);

#endif
