/* SPDX-License-Identifier: MIT
 *
 * Sums the parts of explained latencies by stage.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "explain.h"

static int compare_stages(const void *left, const void *right)
{
    const crn_explain_stage *a = left, *b = right;
    return CRN_ORDER(b->mean, a->mean) ?: CRN_ORDER(a->block, b->block);
}

static void add_part(crn_explain_stage *stage, const crn_explain_part *part)
{
    double *of = part->kind == CRN_EXPLAIN_STAGE_QUEUE  ? &stage->queue
                 : part->kind == CRN_EXPLAIN_STAGE_WORK ? &stage->work
                                                        : &stage->wait;
    stage->block = part->block;
    stage->mean += part->mean;
    stage->slow += part->slow;
    stage->typical += part->typical;
    *of += part->mean;
}

crn_explain_stage *crn_explain_stages(const crn_explain_report *report, uint32_t *count)
{
    const crn_explain *explain = report->explain;
    uint32_t blocks = report->source->profile->block_count;
    crn_explain_stage *stages = crn_calloc(blocks + (size_t)1, sizeof *stages);
    *count = 0;
    for (uint32_t p = 0; p < explain->part_count; p++)
        add_part(&stages[explain->parts[p].block], &explain->parts[p]);
    for (uint32_t b = 0; b < blocks; b++)
        if (stages[b].mean > 0)
            stages[(*count)++] = stages[b];
    qsort(stages, *count, sizeof *stages, compare_stages);
    return stages;
}
