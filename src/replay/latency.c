/* SPDX-License-Identifier: MIT
 *
 * Latency: from a span's begin to the end of everything that it caused. Stores latencies exactly up
 * to a limit, counts more in bins.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "replay/program.h"

/* ---- lengths ---- */

enum {
    EXACTLY = 1 << 17, /* number of latencies stored exactly */
    FINE_BITS = 10,    /* 1 << FINE_BITS bins in each power of two */
    BINS = (65 - FINE_BITS) << FINE_BITS
};

static uint32_t bin_of(uint64_t length)
{
    if (length < (2 << FINE_BITS))
        return (uint32_t)length;
    unsigned shift = 63 - (unsigned)__builtin_clzll(length) - FINE_BITS;
    return (shift << FINE_BITS) + (uint32_t)(length >> shift);
}

/* Returns the middle of a bin, in ns. */
static uint64_t length_of(uint32_t bin)
{
    if (bin < (2 << FINE_BITS))
        return bin;
    unsigned shift = (bin >> FINE_BITS) - 1;
    uint64_t low = ((uint64_t)bin - ((uint64_t)shift << FINE_BITS)) << shift;
    return low + ((uint64_t)1 << (shift - 1));
}

static void use_bins(crn_lengths *lengths)
{
    lengths->bins = crn_calloc(BINS, sizeof *lengths->bins);
    for (uint32_t i = 0; i < lengths->count; i++)
        lengths->bins[bin_of(lengths->exact[i])]++;
    crn_free(lengths->exact);
    lengths->exact = NULL;
}

void crn_lengths_add(crn_lengths *lengths, uint64_t length)
{
    if (!lengths->bins && lengths->count == EXACTLY)
        use_bins(lengths);
    if (lengths->bins) {
        lengths->bins[bin_of(length)]++;
    } else {
        CRN_GROW(lengths->exact, lengths->count, lengths->room);
        lengths->exact[lengths->count] = length;
    }
    lengths->count++;
    lengths->max = lengths->max < length ? length : lengths->max;
}

void crn_lengths_free(crn_lengths *lengths)
{
    crn_free(lengths->exact);
    crn_free(lengths->bins);
    *lengths = (crn_lengths){0};
}

static uint64_t at_rank(const crn_lengths *lengths, unsigned percent)
{
    uint64_t rank = ((uint64_t)lengths->count * percent + 99) / 100, passed = 0;
    if (!lengths->bins)
        return lengths->exact[rank ? rank - 1 : 0];
    for (uint32_t bin = 0; bin < BINS; bin++) {
        passed += lengths->bins[bin];
        if (passed >= rank && passed)
            return length_of(bin) < lengths->max ? length_of(bin) : lengths->max;
    }
    return lengths->max;
}

static crn_latency latency_of(const crn_lengths *lengths, uint64_t whole)
{
    crn_latency latency = {.count = lengths->count, .max = lengths->max};
    if (!lengths->count)
        return latency;
    if (lengths->exact)
        qsort(lengths->exact, lengths->count, sizeof *lengths->exact, crn_order_uint64);
    latency.median = at_rank(lengths, 50);
    latency.p90 = at_rank(lengths, 90);
    latency.p99 = at_rank(lengths, 99);
    if (whole)
        latency.throughput = latency.count * 1e9 / (double)whole;
    return latency;
}

/* ---- spans that outlast their parents ---- */

/* Raises each span's end to the latest end of its descendants, from the innermost outwards. Parents
 * form no cycles (crn_trace). */
static void raise_ends(const crn_replay *replay, uint64_t *ends)
{
    uint32_t count = replay->watched_count;
    uint32_t *left = crn_calloc(count + (size_t)1, sizeof *left);
    for (uint32_t i = 0; i < count; i++)
        if (replay->above[i] != CRN_NONE)
            left[replay->above[i]]++;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t at = i; left[at] == 0; at = replay->above[at]) {
            left[at] = UINT32_MAX; /* done */
            uint32_t above = replay->above[at];
            if (above == CRN_NONE)
                break;
            ends[above] = ends[above] < ends[at] ? ends[at] : ends[above];
            left[above]--;
        }
    }
    crn_free(left);
}

static bool counts(const crn_replay *replay, uint32_t span)
{
    return crn_is_meant(replay, span) && !replay->trace->spans[span].open;
}

enum { DROPPED = 1, RAN = 2 };

/* Sets a bit of a watched span and of its watched ancestors. */
static void set_above(const crn_replay *replay, uint8_t *bits, uint32_t place, uint8_t bit)
{
    for (uint32_t at = place; at != CRN_NONE && !(bits[at] & bit); at = replay->above[at])
        bits[at] |= bit;
}

/* Returns, by watched index, RAN and DROPPED, if jobs below the span ran or were dropped by a full
 * queue. Raises the ends of spans that handed off copies to the ends of these. */
static uint8_t *find_dropped(const crn_replay *replay, const uint64_t *begins, uint64_t *ends,
                             const uint64_t *copy_ends)
{
    uint8_t *bits = crn_calloc(replay->watched_count + (size_t)1, 1);
    for (uint32_t s = 0, place = 0; s < replay->trace->span_count; s++) {
        if (!crn_is_watched(replay, s))
            continue;
        bool never = begins[place] == ends[place] && begins[place] == replay->origin;
        if (never || replay->trace->spans[s].handed_off)
            set_above(replay, bits, place, never ? DROPPED : RAN);
        place++;
    }
    for (uint32_t i = 0; i < replay->copy_count; i++) {
        uint32_t parent = crn_watched_place(replay, replay->copies[i].parent);
        bool ran = copy_ends && copy_ends[i];
        if (ran && ends[parent] < copy_ends[i])
            ends[parent] = copy_ends[i];
        set_above(replay, bits, parent, ran ? RAN : DROPPED);
    }
    return bits;
}

/* Adds the latencies of watched spans. Times are by watched index. */
static void add_watched(const crn_replay *replay, const uint64_t *begins, const uint64_t *ends,
                        const uint64_t *copy_ends, crn_lengths *lengths)
{
    uint64_t *done = crn_calloc(replay->watched_count + (size_t)1, sizeof *done);
    for (uint32_t i = 0; i < replay->watched_count; i++)
        done[i] = ends[i];
    uint8_t *dropped = replay->drops ? find_dropped(replay, begins, done, copy_ends) : NULL;
    raise_ends(replay, done);
    for (uint32_t s = 0, place = 0; s < replay->trace->span_count; s++) {
        if (!replay->watched[s / 64]) {
            s |= 63; /* skips 64 unwatched spans */
            continue;
        }
        if (!crn_is_watched(replay, s))
            continue;
        if (counts(replay, s) && !(dropped && dropped[place] == DROPPED))
            crn_lengths_add(lengths, done[place] - begins[place]);
        place++;
    }
    crn_free(done);
    crn_free(dropped);
}

/* ---- latencies ---- */

void crn_plan_recorded(crn_replay *replay)
{
    const crn_trace *trace = replay->trace;
    crn_lengths lengths = {0};
    uint64_t *begins = crn_calloc(replay->watched_count + (size_t)1, sizeof *begins);
    uint64_t *ends = crn_calloc(replay->watched_count + (size_t)1, sizeof *ends);
    for (uint32_t s = 0, place = 0; s < trace->span_count; s++) {
        const crn_span *span = &trace->spans[s];
        if (crn_is_watched(replay, s)) {
            begins[place] = span->start;
            ends[place++] = span->end;
        } else if (counts(replay, s)) {
            crn_lengths_add(&lengths, span->end - span->start);
        }
    }
    add_watched(replay, begins, ends, NULL, &lengths);
    replay->recorded = latency_of(&lengths, replay->facts.recorded);
    crn_lengths_free(&lengths);
    crn_free(begins);
    crn_free(ends);
}

crn_latency crn_replay_latency(const crn_replay *replay, const crn_outcome *outcome)
{
    if (!outcome)
        return replay->recorded;
    crn_lengths lengths = {0};
    for (uint32_t i = 0; outcome->lengths.exact && i < outcome->lengths.count; i++)
        crn_lengths_add(&lengths, outcome->lengths.exact[i]);
    if (outcome->lengths.bins) {
        use_bins(&lengths);
        for (uint32_t bin = 0; bin < BINS; bin++)
            lengths.bins[bin] = outcome->lengths.bins[bin];
        lengths.count = outcome->lengths.count;
        lengths.max = outcome->lengths.max;
    }
    add_watched(replay, outcome->begins, outcome->ends, outcome->copy_ends, &lengths);
    crn_latency latency = latency_of(&lengths, outcome->length);
    crn_lengths_free(&lengths);
    return latency;
}
