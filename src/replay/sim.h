/* SPDX-License-Identifier: MIT
 *
 * sim.h - one run of a replay.
 */
#ifndef CRN_REPLAY_SIM_H
#define CRN_REPLAY_SIM_H

#include "replay/program.h"

typedef enum crn_lane_state {
    LANE_RUNNABLE,
    LANE_WORKS,  /* until the processor time of the heap */
    LANE_SLEEPS, /* until a moment */
    LANE_GATED,
    LANE_PUSHES, /* waits for room in a queue */
    LANE_IDLE,   /* waits for a job */
    LANE_DONE
} crn_lane_state;

typedef struct crn_sim_lane {
    const uint8_t *op;
    uint32_t pool;
    uint32_t job;            /* that waits for room */
    uint32_t next, previous; /* in the list that it waits in */
    uint32_t gate;
    crn_lane_state state;
    uint64_t serves;
    bool dismissed;  /* takes no jobs */
    uint64_t *begun; /* by slot: when spans began that are open */
    uint64_t slots;
} crn_sim_lane;

typedef struct crn_due {
    double due;
    uint32_t lane;
} crn_due;

typedef struct crn_heap {
    crn_due *entries;
    uint32_t count;
} crn_heap;

typedef struct crn_lane_list {
    uint32_t first, last; /* lanes; CRN_NONE */
} crn_lane_list;

typedef struct crn_job_queue {
    uint32_t base, head, tail; /* in sim.queued */
} crn_job_queue;

typedef struct crn_sim {
    const crn_replay *replay;
    const crn_scenario *scenario;
    crn_outcome *outcome;
    uint32_t lane_count;
    crn_sim_lane *lanes;
    double *factor;       /* by class of work */
    uint64_t first, last; /* moments at which spans began and ended */
    double now;           /* since the origin */
    double processor;     /* that each working lane has had */
    double cores;
    crn_heap working, sleeping;
    crn_lane_list runnable;
    uint32_t *pending; /* by gate */
    uint32_t *gated;   /* by gate: the lane that waits at it */
    crn_job_queue *queues;
    uint32_t *queued;  /* jobs */
    uint32_t *arrived; /* by job: so many had come before it */
    uint32_t arrivals;
    crn_lane_list *idle;    /* by pool */
    crn_lane_list *pushing; /* by kind */
    uint32_t *occupied;     /* by kind */
    uint32_t *capacity;     /* by kind */
    uint32_t *to_start;     /* by queue: jobs that have not begun */
    crn_lane_list gates;    /* lanes that wait at one */
    uint32_t next_forced;   /* jobs below are ready */
} crn_sim;

/* ---- what lanes wait in (sim_queues.c) ---- */

void crn_sim_heap_add(crn_heap *heap, double due, uint32_t lane);
uint32_t crn_sim_heap_take(crn_heap *heap);
void crn_sim_list_add(crn_sim *sim, crn_lane_list *list, uint32_t lane);
uint32_t crn_sim_list_take(crn_sim *sim, crn_lane_list *list);

/* The lane goes on. */
void crn_sim_wake(crn_sim *sim, uint32_t lane);
void crn_sim_wait_at_gate(crn_sim *sim, uint32_t number, uint32_t gate);
/* One thing less that the gate waits for. */
void crn_sim_signal(crn_sim *sim, uint32_t gate);

/* A job goes into its queue; one has left it: who waits for room hands off the next. */
void crn_sim_put(crn_sim *sim, uint32_t job);
void crn_sim_make_room(crn_sim *sim, uint32_t job);
/* The place of the queue that the lane takes its next job from, CRN_NONE if there is none. */
uint32_t crn_sim_choose(const crn_sim *sim, const crn_sim_lane *lane);
/* Whether jobs that the lane could take are still to come. */
bool crn_sim_has_hope(const crn_sim *sim, const crn_sim_lane *lane);
/* Nothing more will come into one of the pool's queues: who waited for nothing else goes on. */
void crn_sim_release_idle(crn_sim *sim, uint32_t pool);

/* ---- its life (sim_begin.c) ---- */

/* `sim` has its replay, scenario and outcome. */
void crn_sim_begin(crn_sim *sim);
void crn_sim_end(crn_sim *sim);

#endif
