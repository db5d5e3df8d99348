/* SPDX-License-Identifier: MIT
 *
 * calls.c - cost of a call under Cairn, in units of two `rdtsc`, the least that any profiler with
 * two time stamps a call can cost.
 *
 * Two rdtsc, the plain program and the instrumented program take turns of a millisecond. The
 * figure of a turn is (instrumented - plain) / calls / two rdtsc, in processor time, that of
 * Cairn's sampling thread included. A turn in which another process got the processor is repeated,
 * up to a few times, because its caches were cold. The result is the median over batches of the
 * median over turns.
 *
 * usage: calls MODE [WORKLOAD]...
 */
#include <cairn/cairn.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseline/nothing.h"
#include "measure.h"
#include "open.h"
#include "workloads.h"

enum { BATCHES = 9, TURNS = 25, TRIES = 8, STAMPS = 20000, DISABLED_CALLS = 100000 };

static double time_of(const workload *w, version kind, uint32_t turn)
{
    double start = measure_processor();
    w->run(kind, turn);
    return measure_processor() - start;
}

/* ---- opening the profile ---- */

typedef struct mode {
    const char *name;
    version kind;
    bool profiled; /* else the strand is NULL */
    bool disabled;
    cairn_wall wall;
} mode;

static const mode modes[] = {
    {"null", VERSION_TICKS, false, false, CAIRN_WALL_OFF},
    {"disabled", VERSION_TICKS, true, true, CAIRN_WALL_OFF},
    {"counts", VERSION_CALLS, true, false, CAIRN_WALL_OFF},
    {"ticks", VERSION_TICKS, true, false, CAIRN_WALL_OFF},
    {"sampled", VERSION_CALLS, true, false, CAIRN_WALL_SAMPLED},
    {"exact", VERSION_CALLS, true, false, CAIRN_WALL_EXACT},
};

static cairn_profile *open_profile(const mode *m, const char *path)
{
    if (!m->profiled)
        return NULL;
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path = path;
    options.wall = m->wall;
    options.disabled = m->disabled;
    cairn_profile *profile = bench_open(&options);
    bench_blocks(profile, WORKLOAD_BLOCKS, "block");
    workload_strand = cairn_strand_open(cairn_lane_open(profile, "calls"));
    return profile;
}

static bool count_context(void *data, const cairn_block *sequence, size_t length,
                          const cairn_cost *cost)
{
    (void)sequence;
    (void)length;
    (void)cost;
    ++*(uint64_t *)data;
    return true;
}

static uint64_t contexts_of(cairn_profile *profile)
{
    uint64_t contexts = 0;
    cairn_view *view;
    if (profile && cairn_view_open(&view, profile) == CAIRN_OK) {
        cairn_view_contexts(view, count_context, &contexts);
        cairn_view_close(view);
    }
    return contexts;
}

/* ---- a row of the table ---- */

typedef struct turn_figures {
    double stamps, without, with; /* ns */
} turn_figures;

static turn_figures take_turn(const mode *m, const workload *w, uint32_t turn)
{
    turn_figures figures = {0};
    double calls = (double)w->calls(turn);
    for (int i = 0; i < TRIES; i++) {
        long interruptions = measure_interruptions();
        figures.stamps = measure_two_stamps(measure_processor, STAMPS);
        figures.without = time_of(w, VERSION_PLAIN, turn) / calls;
        figures.with = time_of(w, m->kind, turn) / calls;
        if (measure_interruptions() == interruptions)
            break;
    }
    return figures;
}

static void measure_workload(const mode *m, const workload *w)
{
    char path[64];
    snprintf(path, sizeof(path), "calls-%s-%s.cairn", m->name, w->name);
    cairn_profile *profile = open_profile(m, path);
    measure_series ratios = {0}, plain = {0}, net = {0}, batch = {0};
    for (uint32_t turn = 0; turn < TURNS; turn++)
        w->run(m->kind, turn);
    for (int i = 0; i < BATCHES; i++) {
        measure_clear(&batch);
        for (uint32_t turn = 0; turn < TURNS; turn++) {
            turn_figures figures = take_turn(m, w, turn);
            measure_add(&batch, (figures.with - figures.without) / figures.stamps);
            measure_add(&plain, figures.without);
            measure_add(&net, figures.with - figures.without);
        }
        measure_add(&ratios, measure_quantile(&batch, 0.5));
    }
    char name[64];
    snprintf(name, sizeof(name), "%s/%s", m->name, w->name);
    measure_print(name, &ratios, "%.2f ns a call more than %.2f; %lu contexts",
                  measure_quantile(&net, 0.5), measure_quantile(&plain, 0.5), contexts_of(profile));
    cairn_profile_close(profile);
    workload_strand = NULL;
    remove(path);
}

/* ---- a NULL strand against an empty call ----
 *
 * Each round of the loops does what is measured eight times: a processor can do it once in the time
 * that the loop's own counter takes. */

#define EIGHT_TIMES(code) code code code code code code code code

static double time_loop(void)
{
    double start = measure_processor();
    for (int i = 0; i < DISABLED_CALLS; i += 8) {
        EIGHT_TIMES(__asm__ volatile("");)
    }
    return measure_processor() - start;
}

static double time_empty_calls(void)
{
    double start = measure_processor();
    for (int i = 0; i < DISABLED_CALLS; i += 8) {
        EIGHT_TIMES(nothing();)
    }
    return measure_processor() - start;
}

/* The strand is read anew each time, as a program would read it. */
static inline void null_pair(void)
{
    cairn_enter(*(cairn_strand *volatile *)&workload_strand, 1);
    __asm__ volatile("");
    cairn_leave(*(cairn_strand *volatile *)&workload_strand);
}

static double time_null_strand(void)
{
    double start = measure_processor();
    for (int i = 0; i < DISABLED_CALLS; i += 8) {
        EIGHT_TIMES(null_pair();)
    }
    return measure_processor() - start;
}

static void measure_null(void)
{
    measure_series ratios = {0}, batch = {0}, call = {0}, pair = {0};
    for (int i = 0; i < BATCHES; i++) {
        measure_clear(&batch);
        for (int turn = 0; turn < TURNS; turn++) {
            double loop = time_loop();
            double calls = time_empty_calls() - loop;
            double pairs = time_null_strand() - loop;
            measure_add(&batch, pairs / calls);
            measure_add(&call, calls / DISABLED_CALLS);
            measure_add(&pair, pairs / DISABLED_CALLS);
        }
        measure_add(&ratios, measure_quantile(&batch, 0.5));
    }
    measure_print("null/pair", &ratios, "%.2f ns; the call %.2f ns, loop subtracted from both",
                  measure_quantile(&pair, 0.5), measure_quantile(&call, 0.5));
}

static bool wanted(int argc, char **argv, const char *name)
{
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return argc == 2;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "pair") == 0) {
        measure_null();
        return 0;
    }
    for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(*modes); i++) {
        if (strcmp(argv[1], modes[i].name) != 0)
            continue;
        for (unsigned j = 0; j < workload_count; j++)
            if (wanted(argc, argv, workloads[j].name))
                measure_workload(&modes[i], &workloads[j]);
        return 0;
    }
    fprintf(stderr, "usage: calls pair | null|disabled|counts|ticks|sampled|exact [WORKLOAD]...\n");
    return 2;
}
