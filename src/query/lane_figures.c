/* SPDX-License-Identifier: MIT
 *
 * Computes when each lane was active. One pass over the spans suffices, as each lane's spans are
 * mostly sorted by start.
 */
#include "base/cover.h"
#include "base/memory.h"
#include "query/captures.h"

static const crn_period always = {0, UINT64_MAX};

/* Sorts a lane's spans and computes its busy time; `piece` is the lane's first. */
static void cover_sorted(const crn_span_store *store, const crn_span_piece *piece,
                         crn_lane_row *row)
{
    uint32_t lane = piece->lane, count = store->lane_first[lane + 1] - store->lane_first[lane];
    uint64_t *starts = crn_store_array(count, sizeof *starts), upto = 0;
    uint64_t *ends = crn_store_array(count, sizeof *ends);
    uint32_t *order = crn_store_array(count, sizeof *order), at = 0;
    for (; piece < store->pieces + store->piece_count && piece->lane == lane; piece++)
        for (uint32_t i = 0; i < piece->count && at < count; i++, at++) {
            starts[at] = crn_store_start(store, &piece->spans[i]);
            ends[at] = crn_store_end(store, &piece->spans[i]);
            order[at] = at;
        }
    crn_store_sort(order, at, starts);
    row->busy = 0;
    for (uint32_t i = 0; i < at; i++)
        row->busy += crn_cover(always, (crn_period){starts[order[i]], ends[order[i]]}, &upto);
    crn_free(starts);
    crn_free(ends);
    crn_free(order);
}

/* Adds a piece's spans to the row. `*latest`: the latest begin of the row's spans so far. Returns
 * false if a span begins before that. */
static bool cover_piece(const crn_span_store *store, const crn_span_piece *piece, crn_lane_row *row,
                        uint64_t *latest, uint64_t *upto)
{
    bool ordered = true;
    for (uint32_t i = 0; i < piece->count; i++) {
        uint64_t start = crn_store_start(store, &piece->spans[i]);
        uint64_t end = crn_store_end(store, &piece->spans[i]);
        ordered &= start >= *latest;
        *latest = start > *latest ? start : *latest;
        row->first = start < row->first ? start : row->first;
        row->last = end > row->last ? end : row->last;
        row->busy += crn_cover(always, (crn_period){start, end}, upto);
    }
    return ordered;
}

void crn_captures_lanes(const crn_query_capture *asked)
{
    crn_query_capture *capture = (crn_query_capture *)asked; /* a cache: computed on first use */
    const crn_span_store *store = capture->store;
    if (capture->lanes)
        return;
    crn_lane_row *rows = crn_calloc(store->lane_count + (size_t)1, sizeof *rows);
    for (uint32_t p = 0; p < store->piece_count;) {
        const crn_span_piece *first = &store->pieces[p];
        crn_lane_row *row = &rows[first->lane];
        uint64_t latest = 0, upto = 0;
        bool ordered = true;
        row->first = UINT64_MAX;
        for (; p < store->piece_count && store->pieces[p].lane == first->lane; p++)
            ordered &= cover_piece(store, &store->pieces[p], row, &latest, &upto);
        if (!ordered)
            cover_sorted(store, first, row);
    }
    capture->lanes = rows;
}
