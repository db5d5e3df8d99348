/* SPDX-License-Identifier: MIT */
#include "explain/latency_parts.h"

#include <math.h>
#include <stdlib.h>

#include "base/cover.h"
#include "base/memory.h"
#include "base/search.h"
#include "explain/moments.h"

/* ---- waits of lanes ---- */

struct crn_lane_waits {
    const crn_spans *spans;
    crn_moments moments;
    uint64_t *before; /* by moment: ns of waits up to it, summed lane after lane */
    uint32_t *last;   /* by lane: its last moment + 1; if it has none, the previous lane's */
};

/* Sets `last`. Moments are grouped by lane, in the order of lanes. */
static void find_lanes(crn_lane_waits *waits)
{
    const crn_trace *trace = waits->spans->trace;
    for (uint32_t s = 0; s < trace->span_count; s++) {
        uint32_t *last = &waits->last[trace->spans[s].lane];
        *last = waits->moments.ends[s] + 1 > *last ? waits->moments.ends[s] + 1 : *last;
    }
    for (uint32_t l = 1; l < trace->lane_count; l++)
        waits->last[l] = waits->last[l] ? waits->last[l] : waits->last[l - 1];
}

crn_lane_waits *crn_lane_waits_make(const crn_spans *spans)
{
    crn_lane_waits *waits = crn_calloc(1, sizeof *waits);
    *waits = (crn_lane_waits){.spans = spans, .moments = crn_moments_make(spans)};
    waits->before = crn_calloc(waits->moments.count + (size_t)1, sizeof *waits->before);
    waits->last = crn_calloc(spans->trace->lane_count + (size_t)1, sizeof *waits->last);
    find_lanes(waits);
    for (uint32_t m = 1; m < waits->moments.count; m++) {
        const crn_moment *last = &waits->moments.moments[m - 1];
        bool waited = last->waits && !last[1].first;
        waits->before[m] = waits->before[m - 1] + (waited ? last[1].time - last->time : 0);
    }
    return waits;
}

void crn_lane_waits_free(crn_lane_waits *waits)
{
    crn_moments_free(&waits->moments);
    crn_free(waits->before);
    crn_free(waits->last);
    crn_free(waits);
}

/* Returns the ns of waits before `time` on the lane, plus those on all lanes before it. */
static uint64_t waited_until(const crn_lane_waits *waits, uint32_t lane, uint64_t time)
{
    const crn_moment *moments = waits->moments.moments;
    uint32_t first = lane ? waits->last[lane - 1] : 0, count = waits->last[lane] - first;
    uint32_t low = first + (uint32_t)CRN_UP_TO(moments + first, count, time, time);
    if (low == first)
        return waits->before[first];
    bool waiting = moments[low - 1].waits && low < waits->last[lane];
    return waits->before[low - 1] + (waiting ? time - moments[low - 1].time : 0);
}

/* ---- one latency ---- */

/* Returns when the token for the span was taken; 0 if not known. */
static uint64_t taken_at(const crn_trace *trace, uint32_t span)
{
    uint32_t low = CRN_BELOW(trace->handoffs, trace->handoff_count, span, span);
    return low < trace->handoff_count && trace->handoffs[low].span == span
               ? trace->handoffs[low].taken
               : 0;
}

/* Returns when a stage's span hands over to the next one. */
static uint64_t handed_over(const crn_trace *trace, uint32_t span, uint32_t next)
{
    const crn_span *its = &trace->spans[span], *other = &trace->spans[next];
    bool called = other->parent == span && !other->handed_off;
    uint64_t taken = other->parent == span && other->handed_off ? taken_at(trace, next) : 0;
    return called ? other->start : taken && taken < its->end ? taken : its->end;
}

crn_latency_share *crn_latency_divide(const crn_lane_waits *waits, const crn_latencies *latencies,
                                      const crn_latency_row *row, uint32_t *count)
{
    const crn_trace *trace = waits->spans->trace;
    crn_latency_stage *stages = crn_latency_stages(trace, latencies, row, count);
    crn_latency_share *shares = crn_calloc(*count, sizeof *shares);
    uint64_t start = trace->spans[row->from].start;
    for (uint32_t i = 0; i < *count; i++) {
        uint64_t end = start + stages[i].length, over = end;
        uint32_t lane = trace->spans[stages[i].span].lane;
        if (i + 1 < *count) {
            over = crn_within(handed_over(trace, stages[i].span, stages[i + 1].span), start, end);
            shares[i + 1].queue = end - over;
        }
        shares[i].span = stages[i].span;
        shares[i].wait = waited_until(waits, lane, over) - waited_until(waits, lane, start);
        shares[i].work = over - start - shares[i].wait;
        start = end;
    }
    crn_free(stages);
    return shares;
}

/* ---- all latencies ---- */

enum { KINDS = 3 };

/* Sums over results, for one kind of time and block. */
typedef struct sums {
    uint32_t count; /* number of results with the part */
    double all, slow, typical;
    double before;  /* sum over these results: latency minus the mean latency */
    double share;   /* sum over these results: deviation of the part times that of the latency */
    double squares; /* sum over these results: squared deviation of the part from its mean */
} sums;

typedef struct working {
    const crn_latencies *latencies;
    crn_lane_waits *waits;
    crn_explained explained;
    crn_explain *explain;
    size_t place_count;
    sums *sums;    /* by place: KINDS * block + kind */
    uint64_t *own; /* by place: ns of the current result; 0 between results */
    uint32_t *had; /* places of the current result */
    uint32_t had_count;
} working;

static void add_own(working *working, size_t place, uint64_t length)
{
    if (!working->own[place] && length)
        working->had[working->had_count++] = (uint32_t)place;
    working->own[place] += length;
}

static void divide(working *working, const crn_latency_row *row)
{
    uint32_t count;
    crn_latency_share *shares = crn_latency_divide(working->waits, working->latencies, row, &count);
    for (uint32_t i = 0; i < count; i++) {
        size_t place = (size_t)KINDS * crn_span_block(working->explained.spans, shares[i].span);
        add_own(working, place, shares[i].queue);
        add_own(working, place + 1, shares[i].work);
        add_own(working, place + 2, shares[i].wait);
    }
    crn_free(shares);
}

static void add_first(working *working, sums *sums, uint32_t span, double own, double deviation)
{
    sums->count++;
    sums->all += own;
    sums->before += deviation;
    sums->slow += crn_bits_has(working->explained.slow, span) ? own : 0;
    sums->typical += crn_bits_has(working->explained.typical, span) ? own : 0;
}

static void add_second(working *working, sums *sums, double own, double deviation)
{
    double off = own - sums->all / working->explained.count;
    sums->share += off * deviation;
    sums->squares += off * off;
}

/* Adds all results: first for the means, in the second pass for the deviations. */
static void pass(working *working, bool second)
{
    for (uint32_t r = 0; r < working->latencies->count; r++) {
        const crn_latency_row *row = &working->latencies->rows[r];
        if (!crn_bits_has(working->explained.list, row->to))
            continue;
        double deviation = crn_explain_deviation(working->explain, row->length);
        divide(working, row);
        for (uint32_t h = 0; h < working->had_count; h++) {
            uint32_t place = working->had[h];
            double own = (double)working->own[place];
            if (second)
                add_second(working, &working->sums[place], own, deviation);
            else
                add_first(working, &working->sums[place], row->to, own, deviation);
            working->own[place] = 0;
        }
        working->had_count = 0;
    }
}

static void make_part(working *working, uint32_t place)
{
    crn_explain *explain = working->explain;
    const sums *sums = &working->sums[place];
    double count = working->explained.count, mean = sums->all / count;
    /* Results without the part deviate by its mean; the deviations of all latencies add up to 0. */
    double share = sums->share + mean * sums->before;
    double squares = sums->squares + mean * mean * (count - sums->count);
    bool compared = explain->slow_count && explain->typical_count;
    double slow = compared ? sums->slow / explain->slow_count : NAN;
    double typical = compared ? sums->typical / explain->typical_count : NAN;
    explain->parts[explain->part_count++] =
        (crn_explain_part){.kind = (crn_explain_kind)(CRN_EXPLAIN_STAGE_QUEUE + place % KINDS),
                           .block = place / KINDS,
                           .share = explain->variance > 0 ? share / count / explain->variance : 0,
                           .mean = mean,
                           .deviation = sqrt(squares / count),
                           .slow = slow,
                           .typical = typical,
                           .extra = compared ? slow - typical : 0};
}

static void make_parts(working *working)
{
    uint32_t parts = 0;
    pass(working, false);
    pass(working, true);
    for (size_t p = 0; p < working->place_count; p++)
        parts += working->sums[p].count > 0;
    working->explain->parts = crn_calloc(parts + (size_t)1, sizeof *working->explain->parts);
    for (size_t p = 0; p < working->place_count; p++)
        if (working->sums[p].count)
            make_part(working, (uint32_t)p);
    crn_explain_sort_parts(working->explain);
}

/* Marks the results to explain. Returns their latencies by span. */
static uint64_t *choose(working *working, uint64_t limit)
{
    uint64_t *lengths =
        crn_calloc(working->explained.spans->trace->span_count + (size_t)1, sizeof *lengths);
    for (uint32_t r = 0; r < working->latencies->count; r++) {
        const crn_latency_row *row = &working->latencies->rows[r];
        if (row->length > limit) {
            working->explain->longer++;
            continue;
        }
        lengths[row->to] = row->length;
        crn_bits_set(working->explained.list, row->to);
        working->explained.count++;
    }
    working->explain->count = working->explained.count;
    working->explain->open = working->latencies->open;
    return lengths;
}

crn_explain *crn_explain_latency_make(const crn_spans *spans, const crn_latencies *latencies,
                                      uint64_t limit, uint64_t slow)
{
    uint32_t all = spans->trace->span_count;
    working working = {.latencies = latencies, .explain = crn_calloc(1, sizeof *working.explain)};
    working.explained =
        (crn_explained){spans, 0, crn_bits_new(all), crn_bits_new(all), crn_bits_new(all), NULL};
    uint64_t *lengths = choose(&working, limit);
    working.explained.lengths = lengths;
    crn_explain_lengths(working.explain, &working.explained, slow);
    if (working.explained.count) {
        working.waits = crn_lane_waits_make(spans);
        working.place_count = (size_t)KINDS * (spans->block_count ? spans->block_count : 1);
        working.sums = crn_calloc(working.place_count, sizeof *working.sums);
        working.own = crn_calloc(working.place_count, sizeof *working.own);
        working.had = crn_calloc(working.place_count, sizeof *working.had);
        make_parts(&working);
        crn_explain_factors(working.explain, &working.explained);
        crn_lane_waits_free(working.waits);
    }
    crn_free(working.sums);
    crn_free(working.own);
    crn_free(working.had);
    crn_free(working.explained.list);
    crn_free(working.explained.slow);
    crn_free(working.explained.typical);
    crn_free(lengths);
    return working.explain;
}
