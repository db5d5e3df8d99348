/* SPDX-License-Identifier: MIT
 *
 * replay.c - a recorded stream of events, replayed into Cairn and into the baseline.
 *
 * Each replay is a child process that starts from nothing: no context exists, no memory has
 * been touched. The same loop calling empty functions is timed in the same child just before
 * and subtracted. Children take turns: baseline, Cairn with its capture on disk, Cairn
 * without a file. A ratio is that of two neighbours.
 *
 * usage: replay STREAM [REPEATS [DIRECTORY]]
 */
#include <cairn/cairn.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "baseline/nothing.h"
#include "baseline/profile_tree.h"
#include "measure.h"
#include "replay_loop.h"
#include "stream.h"

/* Nanoseconds of processor and of the clock on the wall. */
typedef struct span {
    double processor, elapsed;
} span;

/* What a replay took and what it recorded. Shared between parent and child. */
typedef struct outcome {
    span nothing; /* the loop that calls empty functions */
    span loop;    /* the loop that records */
    span whole;   /* with opening and closing */
    uint64_t contexts, calls, ticks;
    uint64_t digest; /* of every context's path, calls and ticks, whatever their order */
} outcome;

static span now(void)
{
    return (span){measure_processor(), measure_now()};
}

static void add_since(span *sum, span start)
{
    span end = now();
    sum->processor += end.processor - start.processor;
    sum->elapsed += end.elapsed - start.elapsed;
}

static void replay_nothing(const stream *s, void *profile)
{
    REPLAY(s, 0, s->count, nothing_enter(profile, value), nothing_replace(profile, value),
           nothing_leave(profile), nothing_tick(profile, value), nothing_leave(profile))
}

static void replay_baseline(const stream *s, tree_profile *profile)
{
    REPLAY(s, 0, s->count, tree_enter(profile, value), tree_replace(profile, value),
           tree_leave(profile), tree_tick(profile, value), tree_restart(profile))
}

/* ---- what was recorded ---- */

static void note_context(outcome *result, const uint32_t *path, size_t length, uint64_t calls,
                         uint64_t ticks)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ path[i]) * 0x100000001b3u;
    hash = (hash ^ calls) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ ticks ^ hash >> 29) * 0xbf58476d1ce4e5b9u;
    result->digest += hash ^ hash >> 32;
    result->contexts++;
    result->calls += calls;
    result->ticks += ticks;
}

static void note_node(void *data, const uint32_t *path, size_t length, const tree_node *node)
{
    note_context(data, path, length, node->count, node->time);
}

static bool note_cairn(void *data, const cairn_block *path, size_t length, const cairn_cost *cost)
{
    note_context(data, path, length, cost->calls, cost->ticks);
    return true;
}

/* ---- one replay ---- */

static void time_nothing(const stream *s, outcome *result)
{
    measure_series processor = {0}, elapsed = {0};
    for (int i = 0; i < 3; i++) {
        span took = {0}, start = now();
        replay_nothing(s, result);
        add_since(&took, start);
        measure_add(&processor, took.processor);
        measure_add(&elapsed, took.elapsed);
    }
    result->nothing = (span){measure_quantile(&processor, 0.5), measure_quantile(&elapsed, 0.5)};
}

/* Where malloc puts nodes among cache lines is luck: each turn has other luck. */
static void shift_heap(int turn)
{
    void *shift = malloc(24 + (size_t)(turn % 4) * 16);
    MEASURE_OPAQUE(shift);
}

static void run_baseline(const stream *s, int turn, outcome *result)
{
    shift_heap(turn);
    time_nothing(s, result);
    span begin = now();
    tree_profile *profile = tree_open();
    profile->root->count--; /* the stream's first word starts its first strand */
    span start = now();
    replay_baseline(s, profile);
    add_since(&result->loop, start);
    add_since(&result->whole, begin);
    tree_visit(profile, note_node, result);
    begin = now();
    tree_close(profile);
    add_since(&result->whole, begin);
}

static void run_cairn(const stream *s, const char *path, outcome *result)
{
    time_nothing(s, result);
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path = path;
    cairn_profile *profile;
    span begin = now();
    cairn_error error = cairn_profile_open(&profile, &options);
    if (error) {
        fprintf(stderr, "replay: %s\n", cairn_error_text(error));
        exit(1);
    }
    add_since(&result->whole, begin);
    replay_add_blocks(profile, s);
    begin = now();
    cairn_lane *lane = cairn_lane_open(profile, "replay");
    span start = now();
    replay_cairn(s, 0, s->count, lane, NULL);
    add_since(&result->loop, start);
    add_since(&result->whole, begin);
    cairn_view *view;
    if (cairn_view_open(&view, profile) == CAIRN_OK) {
        cairn_view_contexts(view, note_cairn, result);
        cairn_view_close(view);
    }
    begin = now();
    cairn_profile_close(profile);
    add_since(&result->whole, begin);
}

enum { BASELINE, DISK, MEMORY, KINDS };

static outcome run_child(const stream *s, int kind, int turn, const char *path, outcome *shared)
{
    *shared = (outcome){0};
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (kind == BASELINE)
            run_baseline(s, turn, shared);
        else
            run_cairn(s, kind == DISK ? path : NULL, shared);
        _exit(0);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "replay: a child failed\n");
        exit(1);
    }
    if (kind == DISK)
        unlink(path);
    return *shared;
}

static void hold_equal(const stream *s, const outcome *one, const outcome *other)
{
    if (one->contexts != other->contexts || one->calls != other->calls ||
        one->ticks != other->ticks || one->digest != other->digest) {
        fprintf(stderr,
                "replay: Cairn and the baseline differ: contexts %lu, %lu; calls %lu, %lu; "
                "ticks %lu, %lu\n",
                other->contexts, one->contexts, other->calls, one->calls, other->ticks, one->ticks);
        exit(1);
    }
    if (one->calls != s->calls || one->ticks != s->ticks) {
        fprintf(stderr, "replay: totals are not the stream's own\n");
        exit(1);
    }
}

static span less(span all, span part)
{
    return (span){all.processor - part.processor, all.elapsed - part.elapsed};
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 4) {
        fprintf(stderr, "usage: replay STREAM [REPEATS [DIRECTORY]]\n");
        return 2;
    }
    stream s;
    stream_read(&s, argv[1]);
    int repeats = argc > 2 ? atoi(argv[2]) : 9;
    char path[4096];
    snprintf(path, sizeof(path), "%s/replay-%d.cairn", argc > 3 ? argv[3] : ".", (int)getpid());
    outcome *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;

    measure_series loop[KINDS] = {0}, whole[KINDS] = {0}, elapsed[KINDS] = {0}, net[KINDS] = {0};
    uint64_t contexts = 0;
    for (int turn = 0; turn < repeats; turn++) {
        outcome baseline = run_child(&s, BASELINE, turn, path, shared);
        span base = less(baseline.loop, baseline.nothing);
        measure_add(&net[BASELINE], base.processor / 1e6);
        for (int kind = DISK; kind <= MEMORY; kind++) {
            outcome cairn = run_child(&s, kind, turn, path, shared);
            hold_equal(&s, &baseline, &cairn);
            span ours = less(cairn.loop, cairn.nothing);
            measure_add(&net[kind], ours.processor / 1e6);
            measure_add(&loop[kind], ours.processor / base.processor);
            measure_add(&elapsed[kind], ours.elapsed / base.elapsed);
            measure_add(&whole[kind], less(cairn.whole, cairn.nothing).processor /
                                          less(baseline.whole, baseline.nothing).processor);
        }
        contexts = baseline.contexts;
    }
    static const char *const names[KINDS] = {[DISK] = "disk", [MEMORY] = "memory"};
    for (int kind = DISK; kind <= MEMORY; kind++) {
        char name[64];
        snprintf(name, sizeof(name), "%s-whole", names[kind]);
        measure_print(names[kind], &loop[kind],
                      "%.1f ms of the baseline's %.1f ms, net; %lu contexts; by elapsed time %.3f",
                      measure_quantile(&net[kind], 0.5), measure_quantile(&net[BASELINE], 0.5),
                      contexts, measure_quantile(&elapsed[kind], 0.5));
        measure_print(name, &whole[kind], "of the above, by processor time");
    }
    stream_free(&s);
    return 0;
}
