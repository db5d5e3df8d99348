/* SPDX-License-Identifier: MIT
 *
 * model_program.h - a program of threads, bounded queues and waits that exists only as numbers: run
 * event by event, slowly and obviously, it says how long it takes and what spans it would record.
 *
 * main does some work, pushes an item, may wait for one that it has pushed, and so on. Stages are
 * served by pools of workers: each job works, pushes its item to the next stage, works some more.
 * Nothing takes time but work. Processors are shared evenly.
 */
#ifndef TESTS_SUPPORT_MODEL_PROGRAM_H
#define TESTS_SUPPORT_MODEL_PROGRAM_H

#include "spans/spans.h"
#include "support/random.h"

enum {
    MODEL_MAIN = 1,
    MODEL_PUSH,
    MODEL_JOIN,
    MODEL_FIRST_STAGE,
    MODEL_STAGES = 3,
    MODEL_BLOCKS = 8
};
enum { MODEL_WORKERS = 4 };

typedef struct model_program {
    int items, stages, pools, cores;
    uint32_t jobs; /* items * stages */
    int pool_of[MODEL_STAGES], workers[MODEL_STAGES], capacity[MODEL_STAGES];
    bool latest_first;           /* else a pool takes the job that came first */
    double factor[MODEL_BLOCKS]; /* of all work */
    double *feed;                /* by item: main's work before it pushes that */
    int *join;                   /* by item: what main waits for then, -1: nothing */
    double *before, *after;      /* by item and stage: work before and after the push */
} model_program;

typedef struct model_recording {
    crn_trace trace;
    uint32_t span_room;
    double length;
} model_recording;

model_program model_random(random_source *random);
/* One worker a stage, any number of items in each queue, as many processors as wanted. */
model_program model_pipeline(int items, const uint64_t *takes, int stages);
void model_program_free(model_program *program);

/* How long it takes from begin to end; 0 if it locks up. With a recording it writes that down. */
double model_run(const model_program *program, model_recording *recording);
void model_recording_free(model_recording *recording);

/* All work that there is in it. */
double model_work(const model_program *program);

#endif
