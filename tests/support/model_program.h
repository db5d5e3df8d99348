/* SPDX-License-Identifier: MIT
 *
 * model_program.h - simulates a program of threads, bounded queues and waits, event by event.
 * Returns how long the program takes and the spans that it would record. A slow reference for
 * replays.
 *
 * main works, pushes an item, may wait for an item that it has pushed, and so on. Pools of workers
 * serve the stages: each job works, pushes its item to the next stage, and works again. Only work
 * takes time. Processors are shared evenly.
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
    bool latest_first;           /* otherwise a pool takes the oldest job */
    double factor[MODEL_BLOCKS]; /* factor on the work of a block */
    double *feed;                /* by item: main's work before it pushes the item */
    int *join;                   /* by item: the item that main then waits for, -1: none */
    double *before, *after;      /* by item and stage: work before and after the push */
} model_program;

typedef struct model_recording {
    crn_trace trace;
    uint32_t span_room;
    double length;
} model_recording;

model_program model_random(random_source *random);
/* One worker for each stage, unbounded queues, unlimited processors. */
model_program model_pipeline(int items, const uint64_t *takes, int stages);
void model_program_free(model_program *program);

/* Returns the length of the run; 0 if it deadlocks. Fills `recording` unless it is NULL. */
double model_run(const model_program *program, model_recording *recording);
void model_recording_free(model_recording *recording);

/* Returns the sum of all work. */
double model_work(const model_program *program);

#endif
