/* SPDX-License-Identifier: MIT
 *
 * fuzz_capture.c - the reader of captures, given any bytes (libFuzzer). A profile that it loads
 * must be consistent; an error must have a message. The same holds for spans, and for figures made
 * of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "explain/explain.h"
#include "profile/profile.h"
#include "replay/replay.h"
#include "spans/spans.h"
#include "support/soundness.h"
#include "support/span_readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The reader takes a path; this one leads to a file in memory. */
static const char *as_file(const uint8_t *data, size_t size)
{
    static int file = -1;
    static char path[64];
    if (file < 0) {
        file = memfd_create("capture", MFD_CLOEXEC);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    }
    if (file < 0 || ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != (ssize_t)size)
        abort();
    return path;
}

static void refused(const crn_error *error)
{
    if (error->code == 0 || !error->message[0] || strchr(error->message, '\n'))
        abort();
}

/* In any file spans end after they begin, and parents form no cycle. */
static void check_trace(const crn_trace *trace)
{
    for (uint32_t s = 0; s < trace->span_count; s++) {
        const crn_span *span = &trace->spans[s];
        uint32_t at = span->parent, steps = 0;
        if (span->end < span->start || span->end > trace->length ||
            span->lane >= trace->lane_count || (at != CRN_SPAN_NONE && at >= trace->span_count))
            abort();
        for (; at != CRN_SPAN_NONE; at = trace->spans[at].parent)
            if (++steps > trace->span_count)
                abort();
    }
    for (uint32_t i = 0; i < trace->weight_count; i++)
        if (trace->weights[i].span >= trace->span_count || !(trace->weights[i].weight >= 1))
            abort();
    for (uint32_t i = 0; i < trace->attribute_count; i++)
        if (trace->attributes[i].span >= trace->span_count ||
            trace->attributes[i].key >= trace->key_count)
            abort();
    for (uint32_t i = 0; i < trace->edge_count; i++)
        if (trace->edges[i].from >= trace->span_count || trace->edges[i].to >= trace->span_count)
            abort();
}

static void check_figures(const crn_trace *trace)
{
    crn_spans *spans = crn_spans_make(trace, 3);
    crn_span_table table = crn_span_table_make(spans, NULL, CRN_SPANS_BY_SELF);
    crn_span_parts slowest = crn_spans_slowest(spans, NULL, 4);
    crn_missing missing = crn_missing_make(spans, NULL, 4);
    uint64_t count = 0;
    for (uint32_t i = 0; i < table.count; i++)
        count += table.rows[i].count;
    for (uint32_t s = 0; s < trace->span_count; s++)
        if (crn_span_self(spans, s) > crn_span_duration(spans, s))
            abort();
    if (count != trace->span_count || (slowest.count == 0) != (trace->span_count == 0))
        abort();
    crn_missing_free(&missing);
    crn_span_parts_free(&slowest);
    crn_span_table_free(&table);
    crn_spans_free(spans);
}

/* Parts add up to the whole, and a path has no gap. */
static void check_causes(const crn_trace *trace)
{
    crn_spans *spans = crn_spans_make(trace, 3);
    uint64_t *chosen = crn_bits_new(trace->span_count);
    for (uint32_t s = 0; s < trace->span_count; s++)
        if (crn_span_block(spans, s) == 1)
            crn_bits_set(chosen, s);
    crn_explain *explain = crn_explain_make(spans, chosen, UINT64_MAX, 0);
    double share = 0;
    for (uint32_t p = 0; p < explain->part_count; p++)
        share += explain->parts[p].share;
    bool exact = explain->deviation > 1e-6 * (double)explain->max; /* within the precision of
                                                                      doubles */
    if (exact && !(share > 0.999999 && share < 1.000001))
        abort();
    crn_critical *critical = crn_critical_make(spans, CRN_SPAN_NONE);
    uint64_t time = critical->idle;
    for (uint32_t r = 0; r < critical->row_count; r++)
        time += critical->rows[r].time;
    if (time != critical->end - critical->start)
        abort();
    for (int by = 0; by <= CRN_GROUP_BY_ATTRIBUTE; by++) {
        crn_span_groups groups =
            crn_span_groups_make(spans, NULL, (crn_group_by)by,
                                 trace->key_count ? trace->keys[0] : "", 4, CRN_SPANS_BY_TOTAL);
        crn_span_groups_free(&groups);
    }
    crn_critical_free(critical);
    crn_explain_free(explain);
    crn_free(chosen);
    crn_spans_free(spans);
}

/* A replay ends, gives the same result twice, and no span ends before it begins. */
static void check_replay(const crn_trace *trace)
{
    static uint32_t capacity[3] = {0, 1, 2}, threads[3] = {0, 0, 3};
    static uint8_t rest[3] = {CRN_REST_NONE, CRN_REST_NONE, CRN_REST_TIMER};
    static const double factor[3] = {1, 0.5, 2};
    crn_replay_setup setup = {
        .block_count = 3, .capacity = capacity, .rest = rest, .cores = 2, .every = true};
    crn_replay *replay = crn_replay_make(trace, &setup);
    crn_scenario scenario = {.factor = factor, .cores = 1, .threads = threads};
    crn_outcome outcome = {.begins = NULL}, again = {.begins = NULL};
    crn_replay_run(replay, &scenario, &outcome);
    crn_replay_run(replay, &scenario, &again);
    for (uint32_t s = 0; s < trace->span_count; s++)
        if (outcome.begins[s] > outcome.ends[s] || outcome.ends[s] != again.ends[s])
            abort();
    crn_replay_latency(replay, &outcome);
    crn_outcome_free(&outcome);
    crn_outcome_free(&again);
    crn_replay_free(replay);
}

/* Buckets are in order, and quantiles lie between the shortest and the longest. */
static void check_spread(const crn_spreads *spreads, const crn_spread *spread)
{
    uint64_t count = 0;
    if (spread->kind != CRN_HISTOGRAM_BLOCK && spread->key >= spreads->key_count)
        abort();
    for (uint32_t b = 0; b < spread->bar_count; b++) {
        bool many = count + spread->bars[b].count < count;
        count = many ? UINT64_MAX : count + spread->bars[b].count;
        if (b && spread->bars[b - 1].low > spread->bars[b].low)
            abort();
    }
    uint64_t median = crn_spread_at(spread, 0.5), p99 = crn_spread_at(spread, 0.99);
    if (spread->self > spread->total || spread->cpu_count > spread->count)
        abort();
    if (count != spread->count || median < spread->min || p99 > spread->max || median > p99)
        abort();
}

static void load_spreads(const char *path)
{
    crn_error error = {0};
    crn_spreads *spreads = crn_spreads_load(path, &error);
    if (!spreads) {
        refused(&error);
        return;
    }
    for (uint32_t s = 0; s < spreads->count; s++)
        check_spread(spreads, &spreads->all[s]);
    crn_spreads_free(spreads);
}

static void load_lanes(const char *path)
{
    crn_error error = {0};
    crn_lanes lanes;
    if (!crn_lanes_load(&lanes, path, &error)) {
        refused(&error);
        return;
    }
    for (uint32_t l = 0; l < lanes.count; l++)
        if (!memchr(lanes.lanes[l].name, 0, sizeof lanes.lanes[l].name) ||
            (l && lanes.lanes[l - 1].number >= lanes.lanes[l].number))
            abort();
    crn_lanes_free(&lanes);
}

/* The store, which reads in place, agrees. */
static void check_store(const crn_trace *trace, const char *path)
{
    crn_error error = {0};
    difference found = {"it is not opened"};
    crn_span_store *store = crn_store_open(path, &error);
    if (!store || !store_is_trace(store, trace, &found)) {
        fprintf(stderr, "%s\n", found.text);
        abort();
    }
    crn_store_close(store);
}

static void load_trace(const char *path)
{
    crn_error error = {0};
    crn_trace *trace = crn_trace_load(path, &error);
    if (!trace) {
        refused(&error);
        return;
    }
    check_trace(trace);
    check_store(trace, path);
    check_figures(trace);
    check_causes(trace);
    check_replay(trace);
    crn_trace_free(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    crn_error error = {0};
    difference found;
    const char *path = as_file(data, size);
    load_trace(path);
    load_spreads(path);
    load_lanes(path);
    crn_profile *profile = crn_profile_load(path, &error);
    if (!profile) {
        refused(&error);
        return 0;
    }
    if (!profile_is_sound(profile, &found)) {
        fprintf(stderr, "%s\n", found.text);
        abort();
    }
    crn_profile_free(profile);
    return 0;
}
