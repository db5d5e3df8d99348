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

/* What a replay took and what it recorded. Shared between parent and child. */
typedef struct outcome {
    double nothing;  /* ns, of the loop that calls empty functions */
    double loop;     /* ns, of the loop that records */
    double whole;    /* ns, with opening and closing */
    uint64_t contexts, calls, ticks;
    uint64_t digest; /* of every context's path, calls and ticks, whatever their order */
} outcome;

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
    measure_series times = {0};
    for (int i = 0; i < 3; i++) {
        double start = measure_now();
        replay_nothing(s, result);
        measure_add(&times, measure_now() - start);
    }
    result->nothing = measure_quantile(&times, 0.5);
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
    double begin = measure_now();
    tree_profile *profile = tree_open();
    profile->root->count--; /* the stream's first word starts its first strand */
    double start = measure_now();
    replay_baseline(s, profile);
    result->loop = measure_now() - start;
    result->whole = measure_now() - begin;
    tree_visit(profile, note_node, result);
    double closing = measure_now();
    tree_close(profile);
    result->whole += measure_now() - closing;
}

static void run_cairn(const stream *s, const char *path, outcome *result)
{
    time_nothing(s, result);
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path = path;
    cairn_profile *profile;
    double begin = measure_now();
    cairn_error error = cairn_profile_open(&profile, &options);
    if (error) {
        fprintf(stderr, "replay: %s\n", cairn_error_text(error));
        exit(1);
    }
    result->whole = measure_now() - begin;
    replay_add_blocks(profile, s);
    begin = measure_now();
    cairn_lane *lane = cairn_lane_open(profile, "replay");
    double start = measure_now();
    replay_cairn(s, 0, s->count, lane, NULL);
    result->loop = measure_now() - start;
    result->whole += measure_now() - begin;
    cairn_view *view;
    if (cairn_view_open(&view, profile) == CAIRN_OK) {
        cairn_view_contexts(view, note_cairn, result);
        cairn_view_close(view);
    }
    begin = measure_now();
    cairn_profile_close(profile);
    result->whole += measure_now() - begin;
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
        fprintf(stderr, "replay: Cairn and the baseline differ: contexts %lu, %lu; calls %lu, %lu; "
                        "ticks %lu, %lu\n",
                other->contexts, one->contexts, other->calls, one->calls, other->ticks, one->ticks);
        exit(1);
    }
    if (one->calls != s->calls || one->ticks != s->ticks) {
        fprintf(stderr, "replay: totals are not the stream's own\n");
        exit(1);
    }
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
    outcome *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;

    measure_series loop[KINDS] = {0}, whole[KINDS] = {0}, base = {0}, net[KINDS] = {0};
    outcome last = {0};
    for (int turn = 0; turn < repeats; turn++) {
        outcome baseline = run_child(&s, BASELINE, turn, path, shared);
        measure_add(&base, (baseline.loop - baseline.nothing) / 1e6);
        for (int kind = DISK; kind <= MEMORY; kind++) {
            outcome cairn = run_child(&s, kind, turn, path, shared);
            hold_equal(&s, &baseline, &cairn);
            measure_add(&net[kind], (cairn.loop - cairn.nothing) / 1e6);
            measure_add(&loop[kind],
                        (cairn.loop - cairn.nothing) / (baseline.loop - baseline.nothing));
            measure_add(&whole[kind],
                        (cairn.whole - cairn.nothing) / (baseline.whole - baseline.nothing));
        }
        last = baseline;
    }
    static const char *const names[KINDS] = {NULL, "disk", "memory"};
    for (int kind = DISK; kind <= MEMORY; kind++) {
        char name[64];
        snprintf(name, sizeof(name), "%s", names[kind]);
        measure_print(name, &loop[kind], "%.1f ms of the baseline's %.1f ms, net; %lu contexts",
                      measure_quantile(&net[kind], 0.5), measure_quantile(&base, 0.5),
                      last.contexts);
        snprintf(name, sizeof(name), "%s-whole", names[kind]);
        measure_print(name, &whole[kind], "with opening and closing the profile");
    }
    stream_free(&s);
    return 0;
}
