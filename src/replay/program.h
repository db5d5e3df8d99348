/* SPDX-License-Identifier: MIT
 *
 * program.h - what a recording is turned into before it is run again: for each lane a list of
 * operations, with those of jobs that any lane may run set off.
 */
#ifndef CRN_REPLAY_PROGRAM_H
#define CRN_REPLAY_PROGRAM_H

#include "replay/replay.h"

typedef enum crn_op_kind {
    CRN_OP_WORK,  /* number: class of its block (crn_work_class); amount: ns on a core of its own */
    CRN_OP_DELAY, /* number: ns that pass, whoever runs */
    CRN_OP_UNTIL, /* number: moment before which nothing more happens */
    CRN_OP_BEGIN, /* number: place among the spans that are watched */
    CRN_OP_END,   /* likewise */
    CRN_OP_OPEN,  /* number: where to remember when a span began whose length is wanted */
    CRN_OP_CLOSE, /* likewise: it ends */
    CRN_OP_TOUCH, /* of all spans the first could begin here, or the last end */
    CRN_OP_GATE,  /* number: gate to wait at */
    CRN_OP_SIGNAL, /* number: gate that has one thing less to wait for */
    CRN_OP_TAKE,   /* number: job that is handed off; waits for room in its queue */
    CRN_OP_START,  /* number: job that leaves its queue, on the lane that it is bound to */
    CRN_OP_LOOP, /* number: pool to take jobs of; amount: where to go on when there will be none */
    CRN_OP_RETURN, /* the job is done: back to the loop */
    CRN_OP_STOP
} crn_op_kind;

typedef struct crn_op {
    crn_op_kind kind;
    uint64_t number, amount;
} crn_op;

/* Operations as bytes, as there are so many of them: the kind and the number in one byte, if that
 * is small, and 7 bits in each further one. Pieces of work that follow one another with nothing
 * else between them are added up, by class: so most spans leave no operation of their own. */
typedef struct crn_code {
    uint8_t *bytes;
    uint64_t size, room;
} crn_code;

enum { CRN_CODE_SMALL = 15, CRN_CODE_LONGEST = 24 /* bytes of an operation */ };

static inline uint64_t crn_code_number(const uint8_t **at)
{
    uint64_t number = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = *(*at)++;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return number;
    }
}

/* Reads the operation that is at `at`, and goes on to the next. */
static inline crn_op crn_code_next(const uint8_t **at)
{
    uint8_t byte = *(*at)++;
    crn_op op = {.kind = (crn_op_kind)(byte & 15), .number = byte >> 4};
    if (op.number == CRN_CODE_SMALL)
        op.number += crn_code_number(at);
    if (op.kind == CRN_OP_WORK) {
        op.amount = crn_code_number(at);
    } else if (op.kind == CRN_OP_LOOP) {
        __builtin_memcpy(&op.amount, *at, sizeof op.amount);
        *at += sizeof op.amount;
    }
    return op;
}

#define CRN_NONE ((uint32_t)UINT32_MAX)

typedef struct crn_job {
    uint32_t span;    /* its first */
    uint32_t lane;    /* that ran it */
    uint32_t members; /* spans that its adoption began */
    uint32_t kind;
    uint64_t first; /* operation in its lane's code */
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

/* What a span's begin waits at; CRN_NONE: nothing yet. */
typedef struct crn_begin_gate {
    uint32_t span, gate;
} crn_begin_gate;

/* Jobs that begin with a span of the same block. */
typedef struct crn_kind {
    uint32_t block;
    uint32_t pool;     /* CRN_NONE: none of its jobs is movable */
    uint32_t jobs;     /* movable ones */
    uint32_t queue;    /* place among the pool's queues: its own, or the one that all share */
    uint32_t capacity; /* as recorded; 0: any */
} crn_kind;

typedef struct crn_lane_plan {
    crn_code code;
    uint64_t loop;   /* operation, where it takes jobs */
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
    crn_code code;             /* the life of a lane that was not there: a loop, and a stop */
} crn_pool_plan;

struct crn_replay {
    const crn_trace *trace;
    uint32_t block_count;
    uint8_t *rest;
    bool no_guesses, fixed;
    crn_replay_facts facts;

    uint32_t *order;      /* spans by lane and begin; NULL: as they are */
    uint32_t *lane_first; /* by lane and one more: place in order */

    uint32_t job_count, job_room;
    crn_job *jobs; /* by lane and begin; while it is made */

    uint32_t gate_count, gate_room;
    crn_gate *gates; /* while it is made */

    /* What runs need of them, as there can be one for each second span. */
    const uint8_t **job_code; /* by job: its first operation */
    uint32_t *job_kind;       /* by job: its kind, and CRN_JOB_MOVABLE where any lane may run it */
    uint32_t *pending;        /* by gate: how many things it waits for */

    uint32_t begin_gate_count;
    crn_begin_gate *begin_gates; /* by span; while it is made */

    uint32_t point_count, point_room;
    crn_point *points;     /* while it is made */
    uint32_t *point_first; /* by lane and one more; while it is made */

    uint32_t kind_count;
    crn_kind *kinds;
    uint32_t *kind_of; /* by block */

    uint32_t pool_count, queue_count;
    crn_pool_plan *pools;

    crn_lane_plan *lanes; /* by lane of the trace */

    const uint8_t *kept; /* by span, the setup's; while it is made */
    uint32_t class_count;
    uint64_t *work; /* by class, ns */

    uint32_t watched_block;
    bool every;
    uint32_t watched_count;
    uint64_t *watched;       /* a bit by span: where it begins and ends is an operation */
    uint32_t *watched_first; /* by 64 spans: how many are watched before them */
    uint32_t *above;         /* by place: that of the next one above, CRN_NONE: there is none */
    crn_latency recorded;

    uint32_t wake_count, wake_room;
    crn_wake *wakes;       /* that took long; while it is made */
    uint64_t origin, last; /* the first begin and the last end */

    float
        *working; /* by span: the part of its own time that is work; NULL: all; while it is made */
};

/* The block of a span; 0 for one that there is not. */
static inline uint32_t crn_replay_block(const crn_replay *replay, uint32_t span)
{
    uint32_t block = replay->trace->spans[span].block;
    return block < replay->block_count ? block : 0;
}

/* The class of work of a span: its block, and whether it is among those that are kept. */
static inline uint32_t crn_work_class(const crn_replay *replay, uint32_t span)
{
    return crn_replay_block(replay, span) * 2 + (!replay->kept || replay->kept[span]);
}

/* The span at a place in the order of lanes and begins. */
static inline uint32_t crn_replay_at(const crn_replay *replay, uint32_t place)
{
    return replay->order ? replay->order[place] : place;
}

/* Whether of two spans of a lane the left one comes first. */
static inline bool crn_replay_is_before(const crn_replay *replay, uint32_t left, uint32_t right)
{
    if (!replay->order)
        return left < right;
    const crn_span *spans = replay->trace->spans;
    return spans[left].start != spans[right].start ? spans[left].start < spans[right].start
                                                   : left < right;
}

#define CRN_JOB_MOVABLE ((uint32_t)1 << 31)

static inline bool crn_job_is_movable(const crn_replay *replay, uint32_t job)
{
    return replay->job_kind[job] & CRN_JOB_MOVABLE;
}

static inline uint32_t crn_job_kind_of(const crn_replay *replay, uint32_t job)
{
    return replay->job_kind[job] & ~CRN_JOB_MOVABLE;
}

static inline bool crn_is_watched(const crn_replay *replay, uint32_t span)
{
    return replay->watched[span / 64] >> span % 64 & 1;
}

/* The place of a span that is watched among those that are. */
static inline uint32_t crn_watched_place(const crn_replay *replay, uint32_t span)
{
    uint64_t before = replay->watched[span / 64] & (((uint64_t)1 << span % 64) - 1);
    return replay->watched_first[span / 64] + (uint32_t)__builtin_popcountll(before);
}

/* Whether its length is asked for. */
static inline bool crn_is_meant(const crn_replay *replay, uint32_t span)
{
    return replay->watched_block ? crn_replay_block(replay, span) == replay->watched_block
                                 : replay->trace->spans[span].parent == CRN_SPAN_NONE;
}

/* The job that a span begins, else CRN_NONE; what its begin waits at, else CRN_NONE. */
uint32_t crn_replay_find_job(const crn_replay *replay, uint32_t span);
static inline uint32_t crn_replay_job_of(const crn_replay *replay, uint32_t span)
{
    return replay->trace->spans[span].handed_off ? crn_replay_find_job(replay, span) : CRN_NONE;
}
crn_begin_gate *crn_replay_begin_gate(const crn_replay *replay, uint32_t span);

/* Grows an array that has `count` of `room`. */
void *crn_replay_grow(void *array, uint32_t count, uint32_t *room, size_t size);

/* ---- a lane's events in the order of time ------------------------------------------- */

typedef enum crn_event_kind { CRN_EVENT_BEGIN, CRN_EVENT_END, CRN_EVENT_POINT } crn_event_kind;

typedef struct crn_event {
    crn_event_kind kind;
    uint32_t which; /* span, or point */
    uint32_t slot;  /* of a span: a number that no other has that is open at the same time */
    uint32_t owner; /* innermost span that was open up to then, CRN_NONE if none was */
    uint64_t time;
} crn_event;

typedef struct crn_open {
    uint64_t end;
    uint32_t span, slot;
} crn_open;

/* Points must have been sorted, or not be there yet. */
typedef struct crn_walk {
    const crn_replay *replay;
    uint8_t *over;       /* a bit by span: it has ended; all walks may share one */
    uint32_t next, last; /* places in order */
    uint32_t next_point, last_point;
    /* Spans that are open: those that ended before all others when they began, of which the last
     * ends first; and the rest, of which the first to end is on top. */
    crn_open *nested, *heap;
    uint32_t nested_count, nested_room, heap_count, heap_room;
    uint32_t *stack; /* those that are open, as they began, and some that are not */
    uint32_t stack_count, stack_room;
    uint32_t *free; /* slots below slot_count */
    uint32_t free_count, free_room, slot_count;
} crn_walk;

/* The bits that walks need; to be freed with crn_free. */
uint8_t *crn_walk_bits(const crn_replay *replay);
/* A walk of that lane; `over` has the bits of its spans clear. */
crn_walk crn_walk_lane(const crn_replay *replay, uint32_t lane, uint8_t *over);
bool crn_walk_next(crn_walk *walk, crn_event *event);
/* How many spans are open. */
static inline uint32_t crn_walk_open(const crn_walk *walk)
{
    return walk->nested_count + walk->heap_count;
}
void crn_walk_free(crn_walk *walk);

/* ---- code ---------------------------------------------------------------------------- */

void crn_code_put(crn_code *code, crn_op_kind kind, uint64_t number, uint64_t amount);
void crn_code_trim(crn_code *code); /* there will be no more */
void crn_code_free(crn_code *code);

/* ---- a lane as operations, piece of work by piece of work ----------------------------- */

enum { CRN_WRITER_OPS = 12, CRN_WRITER_SUMS = 16 };

typedef struct crn_stretch {
    uint32_t owner;
    uint64_t from, amount; /* recorded: when it began; ns */
} crn_stretch;

typedef struct crn_writer {
    crn_replay *replay;
    crn_walk walk;
    crn_replay_lane *facts;
    uint32_t lane;
    bool dry; /* nothing is written, nor noted */
    bool stopped;
    uint64_t at;             /* recorded: what has been written of */
    bool begun;              /* something was */
    uint32_t job;            /* movable, that the walk is in; CRN_NONE */
    uint32_t to_begin, open; /* of it */
    bool has_loop;           /* the first job was there */
    bool looping;            /* behind a job, and nothing has followed yet */
    uint32_t deferred;       /* gate that is to be passed before `deferred_span` ends */
    uint32_t deferred_span;
    /* Of the event that was last looked at: its operations, and which of them is work. */
    unsigned op_count, work;
    struct crn_written {
        int kind; /* crn_op_kind, or what is only for the writer */
        uint32_t who;
        uint64_t amount;
    } ops[CRN_WRITER_OPS];
    /* Of the lane's code what is not there yet: work by class, or time that passes. */
    unsigned sum_count;
    uint32_t classes[CRN_WRITER_SUMS];
    uint64_t sums[CRN_WRITER_SUMS];
    uint64_t delay;
    uint64_t loop_at; /* where in its loop it says where to go on */
} crn_writer;

void crn_writer_begin(crn_writer *writer, crn_replay *replay, uint32_t lane, uint8_t *over,
                      bool dry);
/* Goes on to the next piece of work. False when the lane is at its end. */
bool crn_writer_next(crn_writer *writer, crn_stretch *stretch);
/* ... and says how much that is. To be called for each. */
void crn_writer_put(crn_writer *writer, uint64_t amount);
void crn_writer_end(crn_writer *writer);

/* ---- the steps, in this order -------------------------------------------------------- */

void crn_plan_order(crn_replay *replay);                               /* order, lane_first */
void crn_plan_jobs(crn_replay *replay, const crn_replay_setup *setup); /* jobs, kinds */
void crn_plan_edges(crn_replay *replay);                               /* gates, points */
void crn_plan_pools(crn_replay *replay);   /* which jobs are movable, and between what lanes */
void crn_plan_ranks(crn_replay *replay);   /* in which order a pool takes them: a part of that */
void crn_plan_watched(crn_replay *replay); /* where which spans begin and end is to be known */
void crn_plan_working(crn_replay *replay); /* what of spans' own time took no processor */
/* Operations, with how long each would have worked without the others, and who went on late. */
void crn_plan_code(crn_replay *replay);
void crn_plan_recorded(crn_replay *replay); /* latencies as they were */

/* Whether more lanes than there are processors ever worked. */
bool crn_replay_is_shared(crn_replay *replay);

#endif
