/* SPDX-License-Identifier: MIT */
#include "profile/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "profile/figures.h"

static int compare_rows(const void *left, const void *right)
{
    const crn_compare_row *a = left, *b = right;
    return CRN_ORDER(fabs(b->sure), fabs(a->sure))
               ?: CRN_ORDER(fabs(b->apart), fabs(a->apart))
               ?: CRN_ORDER(a->block, b->block);
}

static double share_of(uint64_t value, uint64_t total)
{
    return total ? (double)value / (double)total : 0;
}

static void judge(crn_compare_row *row, const crn_compare *compare)
{
    double shares[2];
    crn_interval intervals[2];
    for (int side = 0; side < 2; side++) {
        const crn_sampling *sampling = &compare->sampling[side];
        shares[side] = share_of(row->values[side], compare->totals[side]);
        intervals[side] =
            crn_sampling_share(sampling, row->values[side], (double)compare->totals[side]);
    }
    row->apart = shares[0] - shares[1];
    row->interval = crn_interval_difference(shares[0], intervals[0], shares[1], intervals[1]);
    row->sure = row->interval.low > 0    ? row->interval.low
                : row->interval.high < 0 ? row->interval.high
                                         : 0;
}

crn_compare crn_compare_make(const crn_profile *profile, const uint32_t metrics[2], bool inclusive,
                             const uint8_t *kept)
{
    crn_compare compare = {.rows = crn_calloc(profile->block_count, sizeof *compare.rows)};
    crn_block_cost costs[2];
    for (int side = 0; side < 2; side++) {
        compare.sampling[side] = crn_sampling_of(profile, metrics[side]);
        costs[side] = crn_block_cost_make(profile, metrics[side], kept);
        compare.totals[side] = costs[side].total;
    }
    for (uint32_t b = 0; b < profile->block_count; b++) {
        crn_compare_row row = {.block = b};
        for (int side = 0; side < 2; side++)
            row.values[side] = inclusive ? costs[side].inclusive[b] : costs[side].self[b];
        if ((!row.values[0] && !row.values[1]) || (inclusive && !b))
            continue; /* the root has all inclusive cost in each metric */
        judge(&row, &compare);
        compare.rows[compare.count++] = row;
    }
    qsort(compare.rows, compare.count, sizeof *compare.rows, compare_rows);
    crn_block_cost_free(&costs[0]);
    crn_block_cost_free(&costs[1]);
    return compare;
}

void crn_compare_free(crn_compare *compare)
{
    crn_free(compare->rows);
    *compare = (crn_compare){0};
}

bool crn_compare_has_waiting(const crn_profile *profile)
{
    return !crn_metric_empty(profile, CRN_METRIC_WALL) &&
           !crn_metric_empty(profile, CRN_METRIC_CPU);
}

uint32_t crn_compare_ready(const crn_profile *profile)
{
    for (uint32_t m = CRN_METRIC_FIXED; m < profile->metric_count; m++)
        if (strcmp(profile->metrics[m].name, CRN_READY) == 0 && !crn_metric_empty(profile, m))
            return m;
    return 0;
}
