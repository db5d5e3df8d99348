/* SPDX-License-Identifier: MIT
 *
 * Summarises durations by block: one pass adds them up and counts them in histograms, and a second
 * finds the quantiles where the histograms are not exact.
 */
#include <string.h>

#include "base/memory.h"
#include "query/captures.h"

enum { RANKS = 3 };
static const double shares[RANKS] = {0.5, 0.9, 0.99};

static void add_up(const crn_query_capture *capture, crn_summary_row *rows, crn_rank_search *ranks)
{
    const crn_span_store *store = capture->store;
    for (uint32_t p = 0; p < store->piece_count; p++) {
        const crn_span_piece *piece = &store->pieces[p];
        for (uint32_t i = 0; i < piece->count; i++) {
            const cairn_priv_span *span = &piece->spans[i];
            uint32_t block = crn_captures_block(capture, span->block);
            crn_summary_row *row = &rows[block];
            uint64_t duration = crn_store_duration(store, span);
            bool open = span->end == 0;
            row->count++;
            row->open += open;
            row->total += duration;
            if (open)
                continue;
            row->min = duration < row->min || !ranks[block].count ? duration : row->min;
            row->max = duration > row->max ? duration : row->max;
            crn_rank_count(&ranks[block], duration);
        }
    }
}

void crn_captures_summary(const crn_query_capture *asked)
{
    crn_query_capture *capture = (crn_query_capture *)asked; /* a cache: computed on first use */
    if (capture->summary)
        return;
    uint32_t blocks = capture->profile->block_count;
    capture->summary = crn_calloc(blocks, sizeof *capture->summary);
    capture->ranks = crn_calloc(blocks, sizeof *capture->ranks);
    add_up(capture, capture->summary, capture->ranks);
}

/* Passes the durations to the searches of ranks, and adds up self times, each if wanted. */
static void pass_again(crn_query_capture *capture, crn_rank_search *ranks, bool self)
{
    const crn_span_store *store = capture->store;
    for (uint32_t p = 0; p < store->piece_count; p++) {
        const crn_span_piece *piece = &store->pieces[p];
        for (uint32_t i = 0; i < piece->count; i++) {
            const cairn_priv_span *span = &piece->spans[i];
            uint32_t block = crn_captures_block(capture, span->block);
            uint64_t duration = crn_store_duration(store, span);
            if (ranks && span->end)
                crn_rank_take(&ranks[block], duration);
            if (self)
                capture->summary[block].self += crn_store_rest(store, duration, piece->first + i);
        }
    }
}

/* Ends the searches of ranks. */
static void end_ranks(crn_query_capture *capture)
{
    for (uint32_t b = 0; capture->ranks && b < capture->profile->block_count; b++) {
        crn_summary_row *row = &capture->summary[b];
        uint64_t found[RANKS];
        crn_rank_end(&capture->ranks[b], found, RANKS);
        row->median = found[0];
        row->p90 = found[1];
        row->p99 = found[2];
    }
    crn_free(capture->ranks);
    capture->ranks = NULL;
}

void crn_captures_summary_free(crn_query_capture *capture)
{
    end_ranks(capture);
    crn_free(capture->summary);
}

/* Completes the summary: the quantiles, unless they are known, and on request self times. One pass
 * over the spans computes both. */
static void complete(crn_query_capture *capture, bool self)
{
    crn_rank_search *ranks = capture->ranks;
    bool more = false;
    for (uint32_t b = 0; ranks && b < capture->profile->block_count; b++)
        more |= crn_rank_find(&ranks[b], shares, RANKS);
    if (more || self)
        pass_again(capture, more ? ranks : NULL, self);
    end_ranks(capture);
}

void crn_captures_quantiles(const crn_query_capture *asked)
{
    crn_captures_summary(asked);
    if (asked->ranks)
        complete((crn_query_capture *)asked, false);
}

/* Self times are apart because they need more than durations: which spans are inside others. */
void crn_captures_self_times(const crn_query_capture *asked)
{
    crn_query_capture *capture = (crn_query_capture *)asked; /* a cache: computed on first use */
    if (capture->self_times)
        return;
    capture->self_times = true;
    crn_captures_summary(capture);
    crn_store_covered(capture->store);
    complete(capture, true);
}
