/* SPDX-License-Identifier: MIT
 *
 * Sums over all spans of a file. Each takes a pass over up to millions of spans, and the first
 * requests always need them. So a thread computes them while the page shows its first picture, in
 * the order in which requests will probably need them.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "spans/spans.h"
#include "view.h"

void crn_view_sums_add(crn_view_sums *sums, const crn_spans *spans, const crn_profile *profile)
{
    switch ((crn_view_sum)sums->done) {
    case CRN_SUM_TABLE:
        sums->table = crn_span_table_make(spans, NULL, CRN_SPANS_BY_TOTAL);
        for (uint32_t i = 0; i < sums->table.count; i++)
            sums->open += sums->table.rows[i].open;
        break;
    case CRN_SUM_SLOWEST:
        sums->slowest = crn_spans_slowest(spans, NULL, CRN_VIEW_LONGEST);
        break;
    case CRN_SUM_FIRST:
        sums->first = crn_iterations_block(spans);
        break;
    case CRN_SUM_MISSING:
        sums->missing = crn_missing_make(spans, NULL, CRN_VIEW_LONGEST);
        break;
    case CRN_SUM_TREE:
        sums->tree = crn_span_tree(spans, profile);
        break;
    case CRN_SUMS:
        break;
    }
}

void crn_view_sums_free(crn_view_sums *sums)
{
    if (!sums)
        return;
    for (uint32_t b = 0; b < sums->explained_count; b++)
        free(sums->explained[b]);
    crn_free(sums->explained);
    crn_span_table_free(&sums->table);
    crn_span_parts_free(&sums->slowest);
    crn_missing_free(&sums->missing);
    crn_profile_free(sums->tree);
    crn_free(sums);
}

const crn_view_sums *crn_view_sums_of(crn_view *view, crn_view_file *file, crn_view_sum sum)
{
    while (!file->sums || file->sums->done <= (unsigned)sum)
        pthread_cond_wait(&view->looked, &view->lock);
    return file->sums;
}
