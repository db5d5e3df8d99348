/* SPDX-License-Identifier: MIT */
#include "support/random_trace.h"
#include "support/random_profile.h"

#include <stdio.h>
#include <string.h>

#include <cairn/span.h>

#include "base/memory.h"
#include "capture/format.h"

/* Times are of processes started in 2020, on machines that have run for some hours. */
#define UNIX_BASE 1600000000000000000u
#define MONOTONIC_BASE 10000000000000u
enum { LENGTH = 100000, KEYS = 4, LANES_MAX = 4 };

/* ---- one process ---- */

static void make_span(random_source *random, crn_trace *trace, uint32_t s, uint32_t first,
                      uint64_t *now)
{
    crn_span *span = &trace->spans[s];
    *now += random_below(random, 3);
    bool open = random_chance(random, 1, 10);
    uint64_t took = random_chance(random, 1, 4) ? 0 : random_below(random, LENGTH / 20);
    *span = (crn_span){.start = *now,
                       .end = open ? LENGTH : *now + took,
                       .iteration = random_chance(random, 1, 3) ? CAIRN_ITERATION_NONE
                                                                : (int64_t)random_next(random),
                       .block = random_below(random, RANDOM_BLOCKS),
                       .parent = CRN_SPAN_NONE,
                       .lane = trace->lane_count - 1,
                       .open = open};
    if (s > first && random_chance(random, 3, 4))
        span->parent = first + random_below(random, s - first);
    else
        span->orphaned = random_chance(random, 1, 8);
    /* Handed off by a span of an earlier lane, or of the same. */
    if (s && random_chance(random, 1, 5)) {
        span->parent = random_below(random, s);
        span->handed_off = true;
        span->orphaned = false;
        trace->handoffs[trace->handoff_count++] =
            (crn_span_handoff){s, random_below(random, 3), random_below(random, LENGTH)};
    }
}

static void make_lane(random_source *random, crn_trace *trace, uint32_t count)
{
    char name[32] = "";
    uint64_t now = random_below(random, LENGTH / 4);
    uint32_t first = trace->span_count, lane = trace->lane_count++;
    if (lane)
        snprintf(name, sizeof name, "worker %u", lane);
    trace->lanes[lane] = crn_intern_text(trace->texts, name);
    trace->origins[lane] =
        crn_span_name_make(lane, random_chance(random, 1, 3) ? random_below(random, 1000) : 0);
    for (uint32_t s = first; s < first + count; s++) {
        trace->span_count++;
        make_span(random, trace, s, first, &now);
    }
}

static void make_attributes(random_source *random, crn_trace *trace)
{
    char text[CAIRN_TEXT_MAX + 1];
    for (uint32_t s = 0; s < trace->span_count; s++) {
        for (uint32_t i = random_below(random, 3); i; i--) {
            crn_attribute attribute = {.span = s,
                                       .kind = (uint16_t)(1 + random_below(random, 3)),
                                       .key = (uint16_t)random_below(random, KEYS)};
            uint32_t length = random_chance(random, 1, 4) ? 16 * random_below(random, 65)
                                                          : random_below(random, 40);
            memset(text, 'a' + (int)random_below(random, 26), length);
            text[length] = 0;
            if (attribute.kind == CRN_ATTRIBUTE_TEXT)
                attribute.value.text = crn_intern_text(trace->texts, text);
            else if (attribute.kind == CRN_ATTRIBUTE_NUMBER)
                attribute.value.number = (double)random_next(random) / 7;
            else
                attribute.value.integer = (int64_t)random_next(random);
            trace->attributes[trace->attribute_count++] = attribute;
        }
    }
}

static void make_figures(random_source *random, crn_trace *trace)
{
    if (random_chance(random, 1, 2)) {
        trace->cpu = crn_calloc(trace->span_count + (size_t)1, sizeof *trace->cpu);
        for (uint32_t s = 0; s < trace->span_count; s++)
            trace->cpu[s] = random_chance(random, 1, 4) ? UINT64_MAX : random_below(random, LENGTH);
    }
    for (uint32_t s = 0; s < trace->span_count; s++)
        if (trace->spans[s].parent == CRN_SPAN_NONE && random_chance(random, 1, 4))
            trace->weights[trace->weight_count++] =
                (crn_span_weight){s, 1 + random_below(random, 1000) / 3.0};
}

/* Makes histograms of some blocks, and of values of a key. */
static void make_histograms(random_source *random, crn_trace *trace)
{
    trace->histograms = crn_calloc(LANES_MAX + 1, sizeof *trace->histograms);
    for (uint32_t lane = 0; lane < trace->lane_count; lane++) {
        if (!random_chance(random, 1, 4))
            continue;
        crn_disk_histogram *disk = crn_calloc(1, sizeof *disk);
        *disk = (crn_disk_histogram){.state = 1,
                                     .kind = 1 + random_below(random, 5),
                                     .block = random_below(random, RANDOM_BLOCKS),
                                     .key = random_below(random, KEYS),
                                     .value = random_below(random, 9),
                                     .total = 1000,
                                     .text = "secret"};
        disk->buckets[random_below(random, CRN_HISTOGRAM_BUCKETS)] = 1 + random_below(random, 9);
        trace->histograms[trace->histogram_count++] =
            (crn_trace_histogram){lane, 1 + random_below(random, 9) / 10.0, disk};
    }
    trace->histograms_dropped = random_below(random, 3);
}

static void make_edges(random_source *random, crn_trace *trace)
{
    for (uint32_t s = 0; s + 2 < trace->span_count; s++) {
        if (!random_chance(random, 1, 6))
            continue;
        uint32_t to = random_below(random, trace->span_count - 1);
        trace->edges[trace->edge_count++] =
            (crn_span_edge){s, to < s ? to : to + 1,
                            random_chance(random, 1, 2) ? CRN_EDGE_WAITS : CRN_EDGE_FOLLOWS,
                            random_below(random, LENGTH)};
    }
}

/* Makes samples on some lanes, and threads that several lanes may share. */
static void make_samples(random_source *random, crn_trace *trace, uint32_t spans)
{
    crn_samples_making making;
    uint32_t paths[16] = {CRN_PATH_NONE};
    crn_samples_begin(&making, &trace->samples);
    for (size_t p = 1; p < sizeof paths / sizeof *paths; p++)
        paths[p] = crn_samples_path(&making, paths[random_below(random, (uint32_t)p)],
                                    random_below(random, RANDOM_BLOCKS));
    for (uint32_t lane = 0; lane < trace->lane_count; lane++) {
        uint64_t now = 0;
        trace->threads[lane] = random_below(random, LANES_MAX);
        for (uint32_t i = random_below(random, 5); i; i--) {
            now += 1 + random_below(random, LENGTH / 3);
            crn_samples_change(&making,
                               &(crn_thread_change){now, lane, random_below(random, LANES_MAX)});
        }
        now = 0;
        for (uint32_t i = random_below(random, spans / LANES_MAX + 1); i; i--) {
            now += 1 + random_below(random, LENGTH / 20);
            crn_samples_add(&making, &(crn_sample){.at = now,
                                                   .cpu = random_below(random, 5000),
                                                   .lane = lane,
                                                   .path = paths[random_below(random, 16)]});
        }
    }
    crn_samples_end(&making);
}

crn_profile *random_trace_profile(void)
{
    static const profile_source source = {"", 0};
    random_source random = {1};
    return random_profile(&random, RANDOM_BLOCKS, 200, &source);
}

crn_trace *random_trace(random_source *random, uint32_t spans)
{
    crn_trace *trace = crn_calloc(1, sizeof *trace);
    trace->texts = crn_interning_new();
    trace->spans = crn_calloc(spans + 1, sizeof *trace->spans);
    trace->handoffs = crn_calloc(spans + 1, sizeof *trace->handoffs);
    trace->edges = crn_calloc(spans + 1, sizeof *trace->edges);
    trace->attributes = crn_calloc(2 * spans + 1, sizeof *trace->attributes);
    trace->remotes = crn_calloc(spans + 1, sizeof *trace->remotes);
    trace->weights = crn_calloc(spans + 1, sizeof *trace->weights);
    trace->lanes = crn_calloc(LANES_MAX, sizeof *trace->lanes);
    trace->origins = crn_calloc(LANES_MAX, sizeof *trace->origins);
    trace->threads = crn_calloc(LANES_MAX, sizeof *trace->threads);
    trace->keys = crn_calloc(KEYS, sizeof *trace->keys);
    trace->key_count = KEYS;
    for (uint32_t k = 0; k < KEYS; k++) {
        char name[16];
        snprintf(name, sizeof name, "key %u", (unsigned)random_below(random, 1000) * KEYS + k);
        trace->keys[k] = crn_intern_text(trace->texts, name);
    }
    uint32_t lanes = 1 + random_below(random, LANES_MAX);
    for (uint32_t lane = 0; lane < lanes; lane++)
        make_lane(random, trace, random_below(random, spans / LANES_MAX + 1));
    make_attributes(random, trace);
    make_edges(random, trace);
    make_figures(random, trace);
    make_histograms(random, trace);
    make_samples(random, trace, spans);
    trace->dropped = random_below(random, 3);
    trace->limited = random_below(random, 3);
    trace->late = random_below(random, 3);
    trace->recycled = random_below(random, 3);
    trace->skipped = random_below(random, 3);
    trace->trees_skipped = random_below(random, 3);
    trace->details_dropped = random_below(random, 3);
    trace->dangling = random_below(random, 3);
    trace->length = LENGTH;
    trace->process_count = 1;
    trace->processes = crn_calloc(1, sizeof *trace->processes);
    trace->processes[0] =
        (crn_trace_process){.name = crn_intern_text(trace->texts, "program"),
                            .number = random_below(random, 1000) + 1,
                            .unix_ns = UNIX_BASE,
                            .monotonic_ns = MONOTONIC_BASE,
                            .boot = {1, 1},
                            .length = LENGTH,
                            .trace_id = {random_next(random), random_next(random)},
                            .span_key = random_next(random),
                            .dangling = trace->dangling};
    return trace;
}

/* ---- several processes ---- */

static uint64_t id_of(const crn_trace *trace, uint32_t span)
{
    uint32_t lane = trace->spans[span].lane, first = span;
    while (first && trace->spans[first - 1].lane == lane)
        first--;
    uint64_t place = crn_span_name_place(trace->origins[lane]) + (span - first);
    return crn_span_name_make(lane, place) ^ trace->processes[0].span_key;
}

/* Lets some spans be requested by a span of another process that had begun before. */
static void ask(random_source *random, random_world *world, uint32_t process)
{
    crn_trace *trace = world->traces[process];
    for (uint32_t s = 0; s < trace->span_count; s++) {
        uint32_t other = random_below(random, world->count);
        const crn_trace *from = world->traces[other];
        if (other == process || !from->span_count || !random_chance(random, 1, 8))
            continue;
        uint32_t parent = random_below(random, from->span_count);
        uint64_t id = id_of(from, parent);
        if (random_chance(random, 1, 10))
            id = random_next(random); /* a missing span */
        else if (world->began[other] + from->spans[parent].start >=
                 world->began[process] + trace->spans[s].start)
            continue;
        trace->remotes[trace->remote_count++] = (crn_span_remote){
            .span = s,
            .flags = 1,
            .trace_id = {from->processes[0].trace_id[0], from->processes[0].trace_id[1]},
            .parent = id};
    }
}

random_world random_world_make(random_source *random, uint32_t processes, uint32_t spans,
                               uint64_t skew)
{
    random_world world = {.count = processes};
    uint64_t wrong[RANDOM_MACHINES], up[RANDOM_MACHINES];
    for (int m = 0; m < RANDOM_MACHINES; m++) {
        wrong[m] = skew ? random_next(random) % skew : 0;
        up[m] = MONOTONIC_BASE + random_next(random) % MONOTONIC_BASE;
    }
    for (uint32_t p = 0; p < processes; p++) {
        crn_trace *trace = world.traces[p] = random_trace(random, spans);
        int m = world.machine[p] = (int)random_below(random, RANDOM_MACHINES);
        world.began[p] = random_below(random, LENGTH);
        trace->processes[0].boot[0] = 77;
        trace->processes[0].boot[1] = (uint64_t)m;
        trace->processes[0].unix_ns = UNIX_BASE + world.began[p] + wrong[m];
        trace->processes[0].monotonic_ns = up[m] + world.began[p];
    }
    for (uint32_t p = 0; p < processes; p++)
        ask(random, &world, p);
    return world;
}

void random_world_free(random_world *world)
{
    for (uint32_t p = 0; p < world->count; p++)
        crn_trace_free(world->traces[p]);
}

/* ---- comparison ---- */

#define differ(...) (difference_set(__VA_ARGS__), false)

#define SAME(of, what)                                                                             \
    if (!((left->what) == (right->what)))                                                          \
    return differ(found, "%s %zu: %s differs, %llu and %llu", of, (size_t)i, #what,                \
                  (unsigned long long)(left->what), (unsigned long long)(right->what))

static bool spans_are_equal(const crn_span *left, const crn_span *right, size_t i,
                            difference *found)
{
    SAME("span", start);
    SAME("span", end);
    SAME("span", iteration);
    SAME("span", block);
    SAME("span", parent);
    SAME("span", lane);
    SAME("span", open);
    SAME("span", handed_off);
    SAME("span", orphaned);
    return true;
}

static bool processes_are_equal(const crn_trace_process *left, const crn_trace_process *right,
                                size_t i, difference *found)
{
    SAME("process", number);
    SAME("process", first_lane);
    SAME("process", unix_ns);
    SAME("process", monotonic_ns);
    SAME("process", boot[0]);
    SAME("process", boot[1]);
    SAME("process", start);
    SAME("process", clock_shift);
    SAME("process", trace_id[0]);
    SAME("process", trace_id[1]);
    SAME("process", span_key);
    SAME("process", length);
    SAME("process", dangling);
    return strcmp(left->name, right->name) == 0 ||
           differ(found, "process %zu: its name differs", i);
}

static bool attributes_are_equal(const crn_trace *one, const crn_trace *other, size_t i,
                                 difference *found)
{
    const crn_attribute *left = &one->attributes[i], *right = &other->attributes[i];
    SAME("attribute", span);
    SAME("attribute", kind);
    if (strcmp(one->keys[left->key], other->keys[right->key]) != 0)
        return differ(found, "attribute %zu: its key differs", i);
    if (left->kind == CRN_ATTRIBUTE_TEXT)
        return strcmp(left->value.text, right->value.text) == 0 ||
               differ(found, "attribute %zu: its text differs", i);
    SAME("attribute", value.integer); /* compares the bits of a number, too */
    return true;
}

static bool histograms_are_equal(const crn_trace *one, const crn_trace *other, size_t i,
                                 difference *found)
{
    const crn_trace_histogram *left = &one->histograms[i], *right = &other->histograms[i];
    SAME("histogram", lane);
    SAME("histogram", unit);
    SAME("histogram", disk->kind);
    if (left->disk->kind != CRN_HISTOGRAM_BLOCK &&
        strcmp(one->keys[left->disk->key], other->keys[right->disk->key]) != 0)
        return differ(found, "histogram %zu: its key differs", i);
    crn_disk_histogram same = *right->disk;
    same.key = left->disk->key;
    return memcmp(left->disk, &same, sizeof same) == 0 ||
           differ(found, "histogram %zu: its figures differ", i);
}

static bool relations_are_equal(const crn_trace *one, const crn_trace *other, difference *found)
{
    for (size_t i = 0; i < one->edge_count; i++) {
        const crn_span_edge *left = &one->edges[i], *right = &other->edges[i];
        SAME("edge", from);
        SAME("edge", to);
        SAME("edge", kind);
        SAME("edge", at);
    }
    for (size_t i = 0; i < one->handoff_count; i++) {
        const crn_span_handoff *left = &one->handoffs[i], *right = &other->handoffs[i];
        SAME("hand-off", span);
        SAME("hand-off", adoption);
        SAME("hand-off", taken);
    }
    for (size_t i = 0; i < one->remote_count; i++) {
        const crn_span_remote *left = &one->remotes[i], *right = &other->remotes[i];
        SAME("remote", span);
        SAME("remote", flags);
        SAME("remote", resolved);
        SAME("remote", trace_id[0]);
        SAME("remote", trace_id[1]);
        SAME("remote", parent);
    }
    return true;
}

bool traces_are_equal(const crn_trace *left, const crn_trace *right, difference *found)
{
    size_t i = 0;
    SAME("trace", span_count);
    SAME("trace", attribute_count);
    SAME("trace", edge_count);
    SAME("trace", handoff_count);
    SAME("trace", remote_count);
    SAME("trace", lane_count);
    SAME("trace", process_count);
    SAME("trace", dropped);
    SAME("trace", details_dropped);
    SAME("trace", limited);
    SAME("trace", late);
    SAME("trace", recycled);
    SAME("trace", skipped);
    SAME("trace", trees_skipped);
    SAME("trace", weight_count);
    SAME("trace", histograms_dropped);
    SAME("trace", histogram_count);
    for (i = 0; i < left->histogram_count; i++)
        if (!histograms_are_equal(left, right, i, found))
            return false;
    for (i = 0; i < left->weight_count; i++) {
        SAME("weight", weights[i].span);
        SAME("weight", weights[i].weight);
    }
    for (i = 0; i < left->span_count; i++)
        if ((left->cpu ? left->cpu[i] : UINT64_MAX) != (right->cpu ? right->cpu[i] : UINT64_MAX))
            return differ(found, "span %zu: its processor time differs", i);
    SAME("trace", samples.count);
    for (i = 0; i < left->samples.count; i++) {
        SAME("sample", samples.list[i].at);
        SAME("sample", samples.list[i].cpu);
        SAME("sample", samples.list[i].lane);
    }
    SAME("trace", samples.change_count);
    for (i = 0; i < left->samples.change_count; i++) {
        SAME("change of threads", samples.changes[i].at);
        SAME("change of threads", samples.changes[i].lane);
        SAME("change of threads", samples.changes[i].thread);
    }
    SAME("trace", dangling);
    SAME("trace", length);
    for (i = 0; i < left->lane_count; i++) {
        SAME("lane", origins[i]);
        SAME("lane", threads[i]);
        if (strcmp(left->lanes[i], right->lanes[i]) != 0)
            return differ(found, "lane %zu: its name differs", i);
    }
    for (i = 0; i < left->process_count; i++)
        if (!processes_are_equal(&left->processes[i], &right->processes[i], i, found))
            return false;
    for (i = 0; i < left->span_count; i++)
        if (!spans_are_equal(&left->spans[i], &right->spans[i], i, found))
            return false;
    for (i = 0; i < left->attribute_count; i++)
        if (!attributes_are_equal(left, right, i, found))
            return false;
    return relations_are_equal(left, right, found);
}
