/* SPDX-License-Identifier: MIT
 *
 * replay.c - replays streams of events into Cairn and into two baselines.
 *
 * The baselines are the profile tree as fble's author proposed it (baseline/profile_tree.h) and a
 * plain tree (baseline/plain_tree.h). All are compiled with the same compiler and options, once
 * with inlined verbs and once with called ones. The time of a loop without verbs is subtracted
 * from each, so the rest is the verbs' own time, calls included.
 *
 * Each replay is a child process. It replays the stream twice: cold, when no context exists and no
 * memory was touched, and warm, into the same profile. Children take turns; times are processor
 * time. Each turn uses one of several layouts of the loops (replay_variant.h). A loop's time is
 * the least over the turns, so each is measured in its best layout; the ratio of each turn gives
 * the median and the spread.
 *
 * usage: replay NAME=STREAM... [-r ROUNDS]
 *   STREAM: a file, or random:BLOCKS,DEPTH,EVENTS, deep:..., wide:... (stream.h)
 */
#include <cairn/cairn.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "called.h"
#include "measure.h"
#include "replay_loop.h"
#include "stream.h"

#define NOTHING(name) __asm__ volatile("# " name : : "r"(value))

#define PADDING 0
#define VARIANT(name) name##_0
#include "replay_variant.h"
#define PADDING 21
#define VARIANT(name) name##_1
#include "replay_variant.h"
#define PADDING 43
#define VARIANT(name) name##_2
#include "replay_variant.h"

enum { VARIANTS = 3 };

typedef void replay(const stream *s, void *profile);

enum { PROPOSAL, PLAIN, MEMORY, DISK, KINDS };
enum { INLINED, CALLED, FORMS };
enum { COLD, WARM, PASSES };

static const char *const form_names[] = {"inlined", "called"};
static const char *const pass_names[] = {"cold", "warm"};

#define EACH(name)                                                                                 \
    {                                                                                              \
        name##_0, name##_1, name##_2                                                               \
    }
static replay *const empty_loops[VARIANTS] = EACH(empty);
static replay *const loops[KINDS][FORMS][VARIANTS] = {
    [PROPOSAL] = {EACH(proposal_inlined), EACH(proposal_called)},
    [PLAIN] = {EACH(plain_inlined), EACH(plain_called)},
    [MEMORY] = {EACH(cairn_inlined), EACH(cairn_called)},
    [DISK] = {EACH(cairn_inlined), EACH(cairn_called)}};

/* Results of a child process, in memory shared with it. */
typedef struct outcome {
    double empty, loop[PASSES]; /* nanoseconds of processor time */
    uint64_t contexts, calls, ticks;
    uint64_t digest; /* of the path, calls and ticks of each context, in any order */
} outcome;

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "replay: %s\n", what);
    exit(1);
}

/* ---- outcomes, compared by a digest ---- */

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

static void note_tree(void *data, const uint32_t *path, size_t length, const tree_node *node)
{
    note_context(data, path, length, node->count, node->time);
}

static void note_plain(void *data, const uint32_t *path, size_t length, const plain_node *node)
{
    note_context(data, path, length, node->count, node->time);
}

static bool note_cairn(void *data, const cairn_block *path, size_t length, const cairn_cost *cost)
{
    note_context(data, path, length, cost->calls, cost->ticks);
    return true;
}

/* ---- one child ---- */

static double time_loop(replay *loop, const stream *s, void *profile)
{
    double begin = measure_processor();
    loop(s, profile);
    return measure_processor() - begin;
}

static void time_passes(replay *loop, const stream *s, void *profile, outcome *result)
{
    for (int pass = COLD; pass < PASSES; pass++)
        result->loop[pass] = time_loop(loop, s, profile);
}

/* Shifts where malloc puts nodes among cache lines, differently each turn. */
static void shift_heap(int turn)
{
    void *shift = malloc(24 + (size_t)(turn % 4) * 16);
    MEASURE_OPAQUE(shift);
}

static void run_proposal(replay *loop, const stream *s, outcome *result)
{
    tree_profile *tree = tree_open();
    tree->root->count--; /* the stream's first word starts its first strand */
    time_passes(loop, s, tree, result);
    tree_visit(tree, note_tree, result);
}

static void run_plain(replay *loop, const stream *s, outcome *result)
{
    plain_profile *plain = plain_open();
    plain->root->count--;
    time_passes(loop, s, plain, result);
    plain_visit(plain, note_plain, result);
}

static void run_cairn(replay *loop, const stream *s, const char *path, outcome *result)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path = path;
    cairn_profile *profile;
    cairn_error error = cairn_profile_open(&profile, &options);
    if (error)
        die(cairn_error_text(error));
    replay_add_blocks(profile, s);
    time_passes(loop, s, cairn_lane_open(profile, "replay"), result);
    cairn_view *view;
    error = cairn_view_open(&view, profile);
    if (error)
        die(cairn_error_text(error));
    cairn_view_contexts(view, note_cairn, result);
    cairn_view_close(view);
    cairn_profile_close(profile);
}

static outcome run_child(const stream *s, int kind, int form, int turn, outcome *shared)
{
    static const char path[] = "replay.cairn";
    *shared = (outcome){0};
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int variant = turn % VARIANTS;
        replay *loop = loops[kind][form][variant];
        shift_heap(turn);
        shared->empty = time_loop(empty_loops[variant], s, NULL);
        if (kind == PROPOSAL)
            run_proposal(loop, s, shared);
        else if (kind == PLAIN)
            run_plain(loop, s, shared);
        else
            run_cairn(loop, s, kind == DISK ? path : NULL, shared);
        _exit(0);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        die("a child failed");
    unlink(path);
    return *shared;
}

static void hold_equal(const stream *s, const outcome *one, const outcome *other)
{
    if (one->contexts != other->contexts || one->calls != other->calls ||
        one->ticks != other->ticks || one->digest != other->digest) {
        fprintf(stderr, "replay: contexts %lu, %lu; calls %lu, %lu; ticks %lu, %lu\n",
                other->contexts, one->contexts, other->calls, one->calls, other->ticks, one->ticks);
        die("Cairn and a baseline differ");
    }
    if (one->calls != s->calls * PASSES || one->ticks != s->ticks * PASSES)
        die("totals are not those of the stream");
}

/* ---- all turns ---- */

typedef struct times {
    double empty; /* the least of all */
    measure_series loop[KINDS][FORMS][PASSES];
    uint64_t contexts;
} times;

static void run_turn(const stream *s, int turn, times *all, outcome *shared)
{
    outcome first = {0};
    for (int form = 0; form < FORMS; form++)
        for (int kind = 0; kind < KINDS; kind++) {
            outcome now = run_child(s, kind, form, turn, shared);
            if (!first.calls)
                first = now;
            hold_equal(s, &first, &now);
            if (now.empty < all->empty)
                all->empty = now.empty;
            for (int pass = 0; pass < PASSES; pass++)
                measure_add(&all->loop[kind][form][pass], now.loop[pass]);
        }
    all->contexts = first.contexts;
}

/* Nanoseconds for each enter or replace, with its leave and ticks. A result below 0.1 is
 * impossible: then the subtraction is wrong. */
static double net(const stream *s, const times *all, double loop)
{
    double each = (loop - all->empty) / (double)s->calls;
    if (each < 0.1)
        die("less than 0.1 ns a call remain: what is subtracted is not what the loop does besides");
    return each;
}

static void print_ratio(const char *name, const stream *s, const times *all, int form, int pass,
                        int kind, int base, const char *what)
{
    const measure_series *ours = &all->loop[kind][form][pass],
                         *theirs = &all->loop[base][form][pass];
    measure_series ratio = {0};
    for (size_t turn = 0; turn < ours->count; turn++)
        measure_add(&ratio, net(s, all, ours->values[turn]) / net(s, all, theirs->values[turn]));
    double least = net(s, all, measure_quantile(ours, 0)),
           base_least = net(s, all, measure_quantile(theirs, 0));
    char line[128];
    snprintf(line, sizeof(line), "%s/%s/%s/%s", name, form_names[form], pass_names[pass], what);
    printf("%s\t%.6f\t%.6f\t%.6f\t%.2f of %.2f ns, least of each; median of the turns %.3f\n", line,
           least / base_least, measure_quantile(&ratio, 0), measure_quantile(&ratio, 1), least,
           base_least, measure_quantile(&ratio, 0.5));
    free(ratio.values);
}

static void run_stream(const char *name, const char *source, int rounds, outcome *shared)
{
    stream s;
    stream_make(&s, source);
    times all = {.empty = 1e300};
    for (int turn = 0; turn < rounds; turn++)
        run_turn(&s, turn, &all, shared);
    for (int form = 0; form < FORMS; form++)
        for (int pass = 0; pass < PASSES; pass++) {
            print_ratio(name, &s, &all, form, pass, MEMORY, PLAIN, "plain");
            print_ratio(name, &s, &all, form, pass, DISK, MEMORY, "disk");
            print_ratio(name, &s, &all, form, pass, MEMORY, PROPOSAL, "proposal");
        }
    printf("%s/contexts\t%lu\t%lu\t%lu\t%lu calls; the empty loop %.2f ns a call\n", name,
           all.contexts, all.contexts, all.contexts, s.calls, all.empty / (double)s.calls);
    fflush(stdout);
    stream_free(&s);
}

int main(int argc, char **argv)
{
    int rounds = 11;
    for (int option; (option = getopt(argc, argv, "r:")) != -1;) {
        if (option != 'r')
            return 2;
        rounds = atoi(optarg);
    }
    if (optind == argc || rounds < 1) {
        fprintf(stderr, "usage: replay [-r ROUNDS] NAME=STREAM...\n");
        return 2;
    }
    outcome *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    for (int i = optind; i < argc; i++) {
        char *source = strchr(argv[i], '=');
        if (!source)
            die("each stream is given as NAME=STREAM");
        *source++ = 0;
        run_stream(argv[i], source, rounds, shared);
    }
    return 0;
}
