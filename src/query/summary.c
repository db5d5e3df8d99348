/* SPDX-License-Identifier: MIT
 *
 * Summarises durations by block: one pass counts the spans, a second collects their durations by
 * block, and quantiles are selected without sorting.
 */
#include <string.h>

#include "base/memory.h"
#include "query/captures.h"

static void add_up(const crn_query_capture *capture, crn_summary_row *rows)
{
    const crn_span_store *store = capture->store;
    for (uint32_t p = 0; p < store->piece_count; p++) {
        const crn_span_piece *piece = &store->pieces[p];
        for (uint32_t i = 0; i < piece->count; i++) {
            const cairn_priv_span *span = &piece->spans[i];
            crn_summary_row *row = &rows[crn_captures_block(capture, span->block)];
            row->count++;
            row->open += span->end == 0;
            row->total += crn_store_duration(store, span);
        }
    }
}

/* Durations of ended spans, by block: block b's begin at times[first[b]]. */
typedef struct durations {
    uint64_t *times, *first;
} durations;

static durations gather(const crn_query_capture *capture, const crn_summary_row *rows)
{
    const crn_span_store *store = capture->store;
    uint32_t blocks = capture->profile->block_count;
    durations all = {.first = crn_calloc(blocks + (size_t)1, sizeof *all.first)};
    uint64_t *at = crn_calloc(blocks, sizeof *at);
    for (uint32_t b = 0; b < blocks; b++) {
        at[b] = all.first[b];
        all.first[b + 1] = all.first[b] + (rows[b].count - rows[b].open);
    }
    all.times = crn_store_array(all.first[blocks], sizeof *all.times);
    for (uint32_t p = 0; p < store->piece_count; p++) {
        const crn_span_piece *piece = &store->pieces[p];
        for (uint32_t i = 0; i < piece->count; i++) {
            const cairn_priv_span *span = &piece->spans[i];
            uint32_t block = crn_captures_block(capture, span->block);
            /* The file's owner may have changed the span since the first pass. */
            if (span->end && at[block] < all.first[block + 1])
                all.times[at[block]++] = crn_store_duration(store, span);
        }
    }
    crn_free(at);
    return all;
}

static void rank(crn_summary_row *row, const uint64_t *times, uint64_t count)
{
    static const double shares[] = {0.5, 0.9, 0.99};
    uint64_t ranks[3];
    if (!count)
        return;
    row->min = UINT64_MAX;
    for (uint64_t i = 0; i < count; i++) {
        row->min = times[i] < row->min ? times[i] : row->min;
        row->max = times[i] > row->max ? times[i] : row->max;
    }
    crn_store_ranks(times, count, shares, ranks, 3);
    row->median = ranks[0];
    row->p90 = ranks[1];
    row->p99 = ranks[2];
}

void crn_captures_summary(const crn_query_capture *asked)
{
    crn_query_capture *capture = (crn_query_capture *)asked; /* a cache: computed on first use */
    if (capture->summary)
        return;
    uint32_t blocks = capture->profile->block_count;
    crn_summary_row *rows = crn_calloc(blocks, sizeof *rows);
    add_up(capture, rows);
    durations all = gather(capture, rows);
    for (uint32_t b = 0; b < blocks; b++)
        rank(&rows[b], all.times + all.first[b], all.first[b + 1] - all.first[b]);
    crn_free(all.times);
    crn_free(all.first);
    capture->summary = rows;
}

/* Self times are apart because they need more than durations: which spans are inside others. */
void crn_captures_self_times(const crn_query_capture *asked)
{
    crn_query_capture *capture = (crn_query_capture *)asked; /* a cache: computed on first use */
    const crn_span_store *store = capture->store;
    if (capture->self_times)
        return;
    capture->self_times = true;
    crn_captures_summary(capture);
    crn_store_covered(capture->store);
    for (uint32_t p = 0; p < store->piece_count; p++) {
        const crn_span_piece *piece = &store->pieces[p];
        for (uint32_t i = 0; i < piece->count; i++) {
            const cairn_priv_span *span = &piece->spans[i];
            capture->summary[crn_captures_block(capture, span->block)].self +=
                crn_store_self(store, span, piece->first + i);
        }
    }
}
