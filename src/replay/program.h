/* SPDX-License-Identifier: MIT
 *
 * program.h - what a recording is turned into before it is run again: for each lane a list of
 * operations, with those of jobs that any lane may run set off.
 */
#ifndef CRN_REPLAY_PROGRAM_H
#define CRN_REPLAY_PROGRAM_H

#include "replay/replay.h"

typedef enum crn_op_kind {
    CRN_OP_WORK,   /* amount: ns on a core of its own; who: span, whose own time it is */
    CRN_OP_DELAY,  /* amount: ns that pass, whoever runs */
    CRN_OP_UNTIL,  /* amount: moment before which nothing more happens */
    CRN_OP_BEGIN,  /* who: span */
    CRN_OP_END,    /* who: span */
    CRN_OP_GATE,   /* who: gate to wait at */
    CRN_OP_SIGNAL, /* who: gate that has one thing less to wait for */
    CRN_OP_TAKE,   /* who: job that is handed off; waits for room in its queue */
    CRN_OP_START,  /* who: job that leaves its queue, on the lane that it is bound to */
    CRN_OP_LOOP, /* take jobs of the lane's pool; amount: where to go on when there will be none */
    CRN_OP_RETURN, /* the job is done: back to the loop */
    CRN_OP_STOP
} crn_op_kind;

/* Of these there are several for each span: 12 bytes each. 36 years are CRN_OP_LONGEST. */
typedef struct __attribute__((packed, aligned(4))) crn_op {
    uint64_t amount : 60;
    uint64_t kind : 4;
    uint32_t who;
} crn_op;

#define CRN_OP_LONGEST (((uint64_t)1 << 60) - 1)

#define CRN_NONE ((uint32_t)UINT32_MAX)

typedef struct crn_job {
    uint32_t span;    /* its first */
    uint32_t lane;    /* that ran it */
    uint32_t members; /* spans that its adoption began */
    uint32_t kind;
    uint32_t first; /* operation */
    uint64_t taken; /* recorded: handed off, begun, ended */
    uint64_t start, end;
    uint64_t room_at; /* recorded: when there was room for it in its queue */
    bool movable;
    bool outer; /* other jobs began in it */
    bool dated; /* `taken` was recorded, and is not just a bound */
} crn_job;

/* A lane went on later than it might have. */
typedef struct crn_wake {
    uint64_t from, to;
    uint32_t lane, span; /* that came next */
} crn_wake;

/* What several things have to happen for: the first job_count of them open jobs. */
typedef struct crn_gate {
    uint32_t pending;
    uint64_t until; /* recorded: when the last of them happened */
} crn_gate;

/* What happens at a moment within a span, other than that spans begin and end. */
typedef enum crn_point_kind { CRN_POINT_SIGNAL, CRN_POINT_TAKE, CRN_POINT_WAIT } crn_point_kind;

typedef struct crn_point {
    uint64_t time;
    uint32_t lane, span;
    uint32_t target; /* gate or job */
    crn_point_kind kind;
} crn_point;

/* Jobs that begin with a span of the same block. */
typedef struct crn_kind {
    uint32_t block;
    uint32_t pool;     /* CRN_NONE: none of its jobs is movable */
    uint32_t jobs;     /* movable ones */
    uint32_t queue;    /* place among the pool's queues: its own, or the one that all share */
    uint32_t capacity; /* as recorded; 0: any */
} crn_kind;

typedef struct crn_lane_plan {
    uint32_t first;  /* operation */
    uint32_t loop;   /* operation, where it takes jobs */
    uint32_t pool;   /* CRN_NONE: takes no jobs that it is not bound to */
    uint64_t serves; /* bit by the pool's queues */
} crn_lane_plan;

enum { CRN_QUEUES = 64 };

/* The jobs of a kind are taken in the order in which they came. Of a pool's kinds each has a queue,
 * or where there are more than CRN_QUEUES they share one. */
typedef struct crn_pool_plan {
    crn_replay_pool facts;
    uint32_t *kinds; /* facts.kinds of them */
    uint32_t *lanes; /* facts.lanes of them, by number */
    uint32_t queue_count;
    uint32_t first_queue;      /* number of the first among those of all pools */
    uint32_t rank[CRN_QUEUES]; /* lower is taken first, where the pool takes by kind */
    uint32_t loop;             /* operation: the life of a lane that was not there */
} crn_pool_plan;

struct crn_replay {
    const crn_trace *trace;
    uint32_t block_count;
    uint8_t *rest;
    bool no_guesses, fixed;
    crn_replay_facts facts;

    uint32_t *order;      /* spans by lane and begin */
    uint32_t *lane_first; /* by lane and one more: place in order */

    uint32_t job_count, job_room;
    crn_job *jobs;
    uint32_t *job_of; /* by span: the job that it begins, else CRN_NONE */

    uint32_t gate_count, gate_room;
    crn_gate *gates;
    uint32_t *begin_gate; /* by span: what its begin waits at, else CRN_NONE */

    uint32_t point_count, point_room;
    crn_point *points;
    uint32_t *point_first; /* by lane and one more */

    uint32_t kind_count;
    crn_kind *kinds;
    uint32_t *kind_of; /* by block */

    uint32_t pool_count, queue_count;
    crn_pool_plan *pools;

    crn_lane_plan *lanes; /* by lane of the trace */

    uint32_t op_count, op_room;
    crn_op *ops;
    uint64_t *op_time; /* recorded begin of each; while it is made */
    uint32_t wake_count, wake_room;
    crn_wake *wakes;       /* that took long; while it is made */
    uint64_t origin, last; /* the first begin and the last end */

    float *working; /* by span: the part of its own time that is work; NULL: all */

    uint32_t *bottom_up; /* spans, those that were asked for before those that asked */
};

/* The block of a span; 0 for one that there is not. */
static inline uint32_t crn_replay_block(const crn_replay *replay, uint32_t span)
{
    uint32_t block = replay->trace->spans[span].block;
    return block < replay->block_count ? block : 0;
}

/* Grows an array that has `count` of `room`. */
void *crn_replay_grow(void *array, uint32_t count, uint32_t *room, size_t size);

/* ---- a lane's events in the order of time ------------------------------------------- */

typedef enum crn_event_kind { CRN_EVENT_BEGIN, CRN_EVENT_END, CRN_EVENT_POINT } crn_event_kind;

typedef struct crn_event {
    crn_event_kind kind;
    uint32_t which; /* span, or point */
    uint64_t time;
    uint32_t owner; /* innermost span that was open up to then, CRN_NONE if none was */
} crn_event;

/* Points must have been sorted, or not be there yet. */
typedef struct crn_walk {
    const crn_replay *replay;
    uint32_t next, last; /* places in order */
    uint32_t next_point, last_point;
    uint32_t *heap, heap_count;   /* open spans, the first to end on top */
    uint32_t *stack, stack_count; /* those that are open, as they began, and some that are not */
    uint8_t *state;               /* by span: 0 to come, 1 open, 2 over */
} crn_walk;

crn_walk crn_walk_new(const crn_replay *replay);
void crn_walk_lane(crn_walk *walk, uint32_t lane);
bool crn_walk_next(crn_walk *walk, crn_event *event);
void crn_walk_free(crn_walk *walk);

/* ---- the steps, in this order -------------------------------------------------------- */

void crn_plan_order(crn_replay *replay); /* order, lane_first, bottom_up */
void crn_plan_jobs(crn_replay *replay, const crn_replay_setup *setup); /* jobs, kinds */
void crn_plan_edges(crn_replay *replay);                               /* gates, points */
void crn_plan_pools(crn_replay *replay); /* which jobs are movable, and between what lanes */
void crn_plan_ranks(crn_replay *replay); /* in which order a pool takes them: a part of that */
void crn_plan_ops(crn_replay *replay);   /* operations */
void crn_plan_cores(crn_replay *replay); /* how long each would have worked without the others */
/* What of spans' own time took no processor. True if there is any: then the operations are to be
 * made anew, with it. */
bool crn_plan_working(crn_replay *replay);

#endif
