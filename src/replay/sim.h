/* SPDX-License-Identifier: MIT
 *
 * sim.h - the state of one simulation run.
 */
#ifndef CRN_REPLAY_SIM_H
#define CRN_REPLAY_SIM_H

#include "replay/program.h"

typedef enum crn_lane_state {
    LANE_RUNNABLE,
    LANE_WORKS,  /* until a virtual processor time; in sim.working */
    LANE_SLEEPS, /* until a moment; in sim.sleeping */
    LANE_GATED,
    LANE_LOCKED, /* waits for a lock */
    LANE_PUSHES, /* waits for space in a queue */
    LANE_IDLE,   /* waits for a job */
    LANE_DONE
} crn_lane_state;

typedef struct crn_sim_lane {
    const uint8_t *op;
    uint32_t pool;
    uint32_t job;            /* job to hand off once there is space */
    uint32_t next, previous; /* links of the list in which it waits */
    uint32_t gate;           /* the gate at which it waits, if LANE_GATED */
    crn_lane_state state;
    uint64_t serves; /* bitmap of the pool's queues that it takes from */
    bool dismissed;  /* takes no more jobs */
    uint32_t copy;   /* the copy that it runs; 0: no copy */
    uint64_t *begun; /* by slot (program.h): begin of the open span */
    uint64_t slots;  /* capacity of `begun` */
} crn_sim_lane;

typedef struct crn_heap_entry {
    double time;
    uint32_t lane;
} crn_heap_entry;

typedef struct crn_heap {
    crn_heap_entry *entries;
    uint32_t count;
} crn_heap;

typedef struct crn_lane_list {
    uint32_t first, last; /* lanes; CRN_NONE if empty */
} crn_lane_list;

typedef struct crn_sim_lock {
    bool held;
    crn_lane_list waiting;
} crn_sim_lock;

typedef struct crn_job_queue {
    uint32_t base, head, tail; /* base: index into sim.queued; head, tail: from base */
} crn_job_queue;

typedef struct crn_sim {
    const crn_replay *replay;
    const crn_scenario *scenario;
    crn_outcome *outcome;
    uint32_t lane_count;
    crn_sim_lane *lanes;
    double *factor;       /* by class of work */
    uint64_t first, last; /* first begin and last end of spans */
    double now;           /* ns since the origin */
    double processor;     /* virtual processor time (simulate.c) */
    double cores;
    crn_heap working, sleeping;
    crn_lane_list runnable;
    uint32_t *pending; /* by gate: number of signals that it still needs */
    uint32_t *gated;   /* by gate: the lane that waits at it */
    crn_job_queue *queues;
    uint32_t *queued;  /* queues, with room for all jobs */
    uint32_t *arrived; /* by job: number of jobs that arrived before it */
    uint32_t arrivals;
    crn_lane_list *idle;    /* by pool: lanes that wait for a job */
    crn_lane_list *pushing; /* by kind: lanes that wait for space in its queue */
    uint32_t *occupied;     /* by kind: number of jobs that were handed off and have not begun */
    uint32_t *capacity;     /* by kind; 0: unlimited */
    uint32_t *to_start;     /* by queue: number of jobs that have not begun and may still */
    crn_sim_lock *locks;    /* by block */
    double *beats;          /* by timer: its last multiple or moment; 0: not fired */
    crn_lane_list gates;    /* lanes that wait at gates */
    uint32_t next_forced;   /* next job for break_deadlock to check */
} crn_sim;

/* ---- waiting lanes and queues (sim_queues.c) ---- */

/* A lane is taken from a heap or list that is not empty: from a heap the lane with the least time,
 * from a list the first. */
void crn_sim_heap_add(crn_heap *heap, double time, uint32_t lane);
uint32_t crn_sim_heap_take(crn_heap *heap);
void crn_sim_list_add(crn_sim *sim, crn_lane_list *list, uint32_t lane);
uint32_t crn_sim_list_take(crn_sim *sim, crn_lane_list *list);

/* Makes a lane runnable. */
void crn_sim_wake(crn_sim *sim, uint32_t lane);
void crn_sim_wait_at_gate(crn_sim *sim, uint32_t number, uint32_t gate);
/* Signals a gate. Its last signal opens it. */
void crn_sim_signal(crn_sim *sim, uint32_t gate);

/* Hands a job off: it enters its queue, and its gate is signalled. */
void crn_sim_put(crn_sim *sim, uint32_t job);
/* Removes the oldest job from the queue of a kind that waits there. */
void crn_sim_drop(crn_sim *sim, uint32_t kind);
/* Records that a job was dropped and will never run. */
void crn_sim_lose(crn_sim *sim, uint32_t job);
/* Records that a job left its queue, and lets a lane that waits for space hand off its job. */
void crn_sim_make_room(crn_sim *sim, uint32_t job);
/* Returns the index of the queue from which the lane takes its next job, CRN_NONE if all are
 * empty. */
uint32_t crn_sim_choose(const crn_sim *sim, const crn_sim_lane *lane);
/* Returns true if jobs that the lane may take can still arrive. */
bool crn_sim_may_get_job(const crn_sim *sim, const crn_sim_lane *lane);
/* Wakes idle lanes for which no more jobs can arrive. */
void crn_sim_release_idle(crn_sim *sim, uint32_t pool);

/* ---- begin and end (sim_begin.c) ---- */

/* The caller sets replay, scenario and outcome of `sim`. */
void crn_sim_begin(crn_sim *sim);
void crn_sim_end(crn_sim *sim);

#endif
