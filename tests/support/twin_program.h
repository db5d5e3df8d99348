/* SPDX-License-Identifier: MIT
 *
 * twin_program.h - a program of threads, bounded queues and waits that exists only as numbers: run
 * event by event, slowly and obviously, it says how long it takes and what spans it would record.
 *
 * main does some work, pushes an item, may wait for one that it has pushed, and so on. Stages are
 * served by pools of workers: each job works, pushes its item to the next stage, works some more.
 * Nothing takes time but work. Processors are shared evenly.
 */
#ifndef TESTS_SUPPORT_TWIN_PROGRAM_H
#define TESTS_SUPPORT_TWIN_PROGRAM_H

#include "spans/spans.h"
#include "support/random.h"

enum { TWIN_MAIN = 1, TWIN_PUSH, TWIN_JOIN, TWIN_FIRST_STAGE, TWIN_STAGES = 3, TWIN_BLOCKS = 8 };
enum { TWIN_WORKERS = 4 };

typedef struct twin_program {
    int items, stages, pools, cores;
    uint32_t jobs; /* items * stages */
    int pool_of[TWIN_STAGES], workers[TWIN_STAGES], capacity[TWIN_STAGES];
    bool latest_first;          /* else a pool takes the job that came first */
    double factor[TWIN_BLOCKS]; /* of all work */
    double *feed;               /* by item: main's work before it pushes that */
    int *join;                  /* by item: what main waits for then, -1: nothing */
    double *before, *after;     /* by item and stage: work before and after the push */
} twin_program;

typedef struct twin_recording {
    crn_trace trace;
    uint32_t span_room;
    double length;
} twin_recording;

twin_program twin_random(random_source *random);
/* One worker a stage, any number of items in each queue, as many processors as wanted. */
twin_program twin_pipeline(int items, const uint64_t *takes, int stages);
void twin_program_free(twin_program *program);

/* How long it takes from begin to end; 0 if it locks up. With a recording it writes that down. */
double twin_run(const twin_program *program, twin_recording *recording);
void twin_recording_free(twin_recording *recording);

/* All work that there is in it. */
double twin_work(const twin_program *program);

#endif
