/* SPDX-License-Identifier: MIT
 *
 * sweep.c - cost of each way of profiling for a program that does little but call, side by side.
 *
 * All ways take turns. A turn opens a profile, runs the program until all contexts exist, and then
 * for some tens of milliseconds. Its figure is the processor time of the program's own thread, a
 * call; the time of sampling threads is in a figure of its own. bench/sweep.py makes the table.
 *
 * usage: sweep [-r ROUNDS] WORKLOAD...
 */
#include <cairn/cairn.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"
#include "open.h"
#include "workloads.h"

enum { ROUNDS = 11, TURN_MS = 60, SLICES = 16 };

static uint64_t slice_calls[SLICES];

typedef struct way {
    const char *name;
    version kind;
    bool profiled; /* else the strand is NULL */
    bool disabled;
    cairn_wall wall;
    cairn_cpu cpu;
    uint64_t tick_period;
    uint32_t rate; /* samples a second */
} way;

#define OFF CAIRN_WALL_OFF
#define SAMPLED CAIRN_WALL_SAMPLED
#define EXACT CAIRN_WALL_EXACT
#define NO_CPU CAIRN_CPU_OFF
#define CPU CAIRN_CPU_SAMPLED

static const way ways[] = {
    {"plain", VERSION_PLAIN, false, false, OFF, NO_CPU, 1, 0},
    {"off", VERSION_CALLS, false, false, OFF, NO_CPU, 1, 0},
    {"stack-off", VERSION_STACK, false, false, OFF, NO_CPU, 1, 0},
    {"disabled", VERSION_CALLS, true, true, OFF, NO_CPU, 1, 0},
    {"stack-disabled", VERSION_STACK, true, true, OFF, NO_CPU, 1, 0},
    {"stack-0", VERSION_STACK, true, false, OFF, NO_CPU, 1, 0},
    {"stack-100", VERSION_STACK, true, false, SAMPLED, NO_CPU, 1, 100},
    {"stack-1000", VERSION_STACK, true, false, SAMPLED, NO_CPU, 1, 1000},
    {"stack-10000", VERSION_STACK, true, false, SAMPLED, NO_CPU, 1, 10000},
    {"marks-off", VERSION_MARKS, false, false, OFF, NO_CPU, 1, 0},
    {"marks-0", VERSION_MARKS, true, false, OFF, NO_CPU, 1, 0},
    {"marks-1000", VERSION_MARKS, true, false, SAMPLED, NO_CPU, 1, 1000},
    {"marks-ticks", VERSION_STACK_TICKS, true, false, OFF, NO_CPU, 1000, 0},
    {"counts-0", VERSION_CALLS, true, false, OFF, NO_CPU, 1, 0},
    {"counts-100", VERSION_CALLS, true, false, SAMPLED, NO_CPU, 1, 100},
    {"counts-1000", VERSION_CALLS, true, false, SAMPLED, NO_CPU, 1, 1000},
    {"counts-2000", VERSION_CALLS, true, false, SAMPLED, NO_CPU, 1, 2000},
    {"counts-5000", VERSION_CALLS, true, false, SAMPLED, NO_CPU, 1, 5000},
    {"counts-10000", VERSION_CALLS, true, false, SAMPLED, NO_CPU, 1, 10000},
    {"wakes-10000", VERSION_CALLS, true, false, OFF, NO_CPU, 1, 10000},
    {"cpu-1000", VERSION_CALLS, true, false, OFF, CPU, 1, 1000},
    {"both-1000", VERSION_CALLS, true, false, SAMPLED, CPU, 1, 1000},
    {"ticks", VERSION_TICKS, true, false, OFF, NO_CPU, 1, 0},
    {"ticks-sampled", VERSION_TICKS, true, false, OFF, NO_CPU, 1000, 0},
    {"exact", VERSION_CALLS, true, false, EXACT, NO_CPU, 1, 0},
};
enum { WAYS = sizeof(ways) / sizeof(*ways) };

static cairn_profile *open_profile(const way *w, const char *path)
{
    if (!w->profiled)
        return NULL;
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path = path;
    options.wall = w->wall;
    options.cpu = w->cpu;
    options.sample_period_ns = w->rate ? 1000000000 / w->rate : 0;
    options.sample_overhead = 0; /* sample at the requested rate, whatever it costs */
    options.tick_period = w->tick_period;
    options.disabled = w->disabled;
    cairn_profile *profile = bench_open(&options);
    bench_blocks(profile, WORKLOAD_BLOCKS, "block");
    cairn_lane *lane = cairn_lane_open(profile, "sweep");
    if (w->kind >= VERSION_STACK)
        workload_stack = cairn_stack_open(lane);
    else
        workload_strand = cairn_strand_open(lane);
    return profile;
}

/* A thread that wakes as often as a sampler and does nothing: the system's part of the cost. Runs
 * in the ways that sample nothing else at a rate. */
static void *wake(void *data)
{
    const atomic_uint *rate = data;
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    for (unsigned now; (now = *rate) > 0;)
        nanosleep(&(struct timespec){.tv_nsec = 1000000000 / now}, NULL);
    return NULL;
}

static bool only_wakes(const way *w)
{
    return w->rate > 0 && w->wall == OFF && w->cpu == NO_CPU;
}

/* Nanoseconds a call: of the program's thread in all; in the slice in the middle, which has the
 * cost of calls without that of samples; and of the process. */
typedef struct figures {
    double thread, slice, process;
} figures;

/* Moves later allocations within their page. Processors confuse a store with a load that is a
 * multiple of 4,096 bytes away, which can double the cost of a call; the shift keeps that from
 * always hitting the same way of profiling. Never freed. */
static void shift_memory(void)
{
    static uint32_t random = 1;
    random = random * 1664525u + 1013904223u;
    char *volatile shift = malloc(4096 + (random >> 20));
    (void)shift;
}

static figures time_turn(const way *w, const workload *program)
{
    static const char path[] = "sweep.cairn";
    shift_memory();
    cairn_profile *profile = open_profile(w, path);
    for (uint32_t i = 0; i < SLICES; i++)
        program->run(w->kind, i);
    uint64_t calls = 0;
    double end = measure_now() + TURN_MS * 1e6;
    double process = measure_processor(), thread = measure_thread();
    static measure_series slices;
    measure_clear(&slices);
    double now = thread;
    for (uint32_t i = 0; measure_now() < end; i++) {
        double before = now;
        program->run(w->kind, i % SLICES);
        calls += slice_calls[i % SLICES];
        now = measure_thread();
        measure_add(&slices, (now - before) / (double)slice_calls[i % SLICES]);
    }
    thread = now - thread;
    process = measure_processor() - process;
    cairn_profile_close(profile);
    workload_strand = NULL;
    workload_stack = NULL;
    if (profile)
        unlink(path);
    return (figures){thread / (double)calls, measure_quantile(&slices, 0.5),
                     process / (double)calls};
}

static figures take_turn(const way *w, const workload *program)
{
    if (!only_wakes(w))
        return time_turn(w, program);
    pthread_t thread;
    atomic_uint rate = w->rate;
    if (pthread_create(&thread, NULL, wake, &rate))
        abort();
    figures taken = time_turn(w, program);
    rate = 0;
    pthread_join(thread, NULL);
    return taken;
}

/* A line a turn, for bench/sweep.py: program, way, round, and the figures. */
static void measure(const workload *program, int rounds)
{
    for (uint32_t i = 0; i < SLICES; i++)
        slice_calls[i] = program->calls(i);
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < WAYS; i++) {
            figures taken = take_turn(&ways[i], program);
            printf("%s\t%s\t%d\t%.5f\t%.5f\t%.5f\n", program->name, ways[i].name, round,
                   taken.thread, taken.slice, taken.process);
        }
}

static const workload *find(const char *name)
{
    for (unsigned i = 0; i < workload_count; i++)
        if (strcmp(workloads[i].name, name) == 0)
            return &workloads[i];
    return NULL;
}

int main(int argc, char **argv)
{
    int rounds = ROUNDS, first = 1;
    if (argc > 2 && strcmp(argv[1], "-r") == 0) {
        rounds = atoi(argv[2]);
        first = 3;
    }
    for (int i = first; i < argc; i++) {
        if (rounds < 1 || !find(argv[i])) {
            fprintf(stderr, "usage: sweep [-r ROUNDS] WORKLOAD...\n");
            return 2;
        }
        measure(find(argv[i]), rounds);
    }
    return 0;
}
