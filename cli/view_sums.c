/* SPDX-License-Identifier: MIT
 *
 * What is asked of all spans of a file. Each takes a walk over millions, and what is asked first is
 * the same each time: so it is worked out while the page shows its first picture.
 */
#include "analysis/span_tree.h"
#include "base/memory.h"
#include "view.h"

crn_view_sums *crn_view_sums_make(const crn_spans *spans, const crn_profile *profile)
{
    crn_view_sums *sums = crn_calloc(1, sizeof *sums);
    sums->table = crn_span_table_make(spans, NULL, CRN_SPANS_BY_TOTAL);
    for (uint32_t i = 0; i < sums->table.count; i++)
        sums->open += sums->table.rows[i].open;
    sums->slowest = crn_spans_slowest(spans, NULL, CRN_VIEW_LONGEST);
    sums->missing = crn_missing_make(spans, NULL, CRN_VIEW_LONGEST);
    sums->first = crn_iterations_block(spans);
    sums->tree = crn_span_tree(spans, profile);
    return sums;
}

void crn_view_sums_free(crn_view_sums *sums)
{
    if (!sums)
        return;
    crn_span_table_free(&sums->table);
    crn_span_parts_free(&sums->slowest);
    crn_missing_free(&sums->missing);
    crn_profile_free(sums->tree);
    crn_free(sums);
}

const crn_view_sums *crn_view_sums_of(crn_view *view, crn_view_file *file)
{
    while (!file->sums)
        pthread_cond_wait(&view->looked, &view->lock);
    return file->sums;
}
