/* SPDX-License-Identifier: MIT
 *
 * program.h - the form in which a recording is simulated: a list of operations for each lane, and
 * separate lists for jobs that any lane of a pool may run.
 */
#ifndef CRN_REPLAY_PROGRAM_H
#define CRN_REPLAY_PROGRAM_H

#include "replay/replay.h"

typedef enum crn_op_kind {
    CRN_OP_WORK,  /* number: class of work (crn_work_class); amount: ns on a processor of its own */
    CRN_OP_DELAY, /* number: ns that pass whatever the lanes do */
    CRN_OP_UNTIL, /* number: earliest moment to continue, ns since the origin */
    CRN_OP_BEGIN, /* a watched span begins; number: its index */
    CRN_OP_END,   /* a watched span ends; number: its index */
    CRN_OP_OPEN,  /* a measured span begins; number: slot for its begin */
    CRN_OP_CLOSE, /* a measured span ends; number: its slot */
    CRN_OP_TOUCH, /* another span begins or ends: for the run's first begin and last end */
    CRN_OP_GATE,  /* wait at a gate; number: the gate */
    CRN_OP_SIGNAL, /* signals a gate; number: the gate */
    CRN_OP_TAKE,   /* hand off a job; number: the job or copy; a full queue waits or drops a job */
    CRN_OP_START,  /* a job bound to this lane leaves its queue; number: the job */
    CRN_OP_LOOP,   /* take jobs; number: the pool; amount: where to continue after the last job */
    CRN_OP_RETURN, /* the job is done: return to the loop */
    CRN_OP_STOP,   /* the lane's end */
    CRN_OP_MORE    /* number: CRN_MORES * argument + crn_more */
} crn_op_kind;

typedef enum crn_more {
    CRN_MORE_NEXT,  /* continue at the next multiple of a timer's period; argument: the timer */
    CRN_MORE_LOCK,  /* take a lock, or wait for it; argument: its block */
    CRN_MORE_UNLOCK /* argument: its block */
} crn_more;

enum { CRN_MORES = 4 };

typedef struct crn_op {
    crn_op_kind kind;
    uint64_t number, amount;
} crn_op;

/* Operations as bytes, because there are many. The first byte has the kind in its low 4 bits, and
 * the number if it is below CRN_CODE_SMALL; the rest of a larger number, and then the amount,
 * follow with 7 bits a byte. The amount of CRN_OP_LOOP has 8 bytes, as it is known only later.
 * Consecutive work is summed by class, so most spans need no operation of their own. */
typedef struct crn_code {
    uint8_t *bytes;
    uint64_t size, room;
} crn_code;

enum { CRN_CODE_SMALL = 15, CRN_CODE_LONGEST = 24 /* longest encoded operation, bytes */ };

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

/* Decodes the operation at `*at` and advances `*at`. */
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
    uint32_t span;    /* its first span */
    uint32_t lane;    /* lane that ran it */
    uint32_t members; /* number of spans that began directly under its adoption */
    uint32_t kind;
    uint64_t first; /* offset of its first operation in the lane's code */
    uint64_t taken; /* recorded time of the hand-off */
    uint64_t start, end;
    uint64_t room_at; /* recorded time from which its queue had space for it; 0: always */
    bool movable;     /* any lane of its pool may run it */
    bool outer;       /* other jobs began within it */
    bool dated; /* `taken` was recorded; otherwise it is the begin of the span that handed off */
} crn_job;

/* Stands for a job that a full queue dropped in the recording: runs the operations of another job.
 * Where a job is meant, copy i has the number job_count + i. */
typedef struct crn_copy {
    uint32_t job;    /* the job whose operations it has */
    uint32_t parent; /* span that handed it off */
    uint64_t taken;  /* estimated time of the hand-off */
} crn_copy;

/* A timer of a lane, noted or detected. When it fires, spans of the block begin, or end if
 * `at_end`. */
typedef struct crn_timer {
    uint32_t lane, block;
    bool at_end, noted;
    bool relative;        /* it fires a period after it last fired: a limited rate */
    double period, phase; /* ns; phase: a moment, since the origin, at which it fires */
    double longest; /* longest recorded wait, if the true period may be a fraction of `period`; 0:
                       `period` is certain */
} crn_timer;

/* A span in which its lane has a lock. */
typedef struct crn_hold {
    uint32_t span;
    uint64_t until; /* recorded end of the span that had the lock before; 0: the first */
} crn_hold;

/* A lane that continued later than it could have. */
typedef struct crn_wake {
    uint64_t from, to;
    uint32_t lane, span; /* span: with which it continued */
} crn_wake;

/* A gate opens at the last of its signals. Gate j below job_count is that of job j. */
typedef struct crn_gate {
    uint32_t pending; /* number of its signals */
    uint64_t until;   /* recorded time of the last signal */
} crn_gate;

/* An event in a span, other than a begin or an end. */
typedef enum crn_point_kind { CRN_POINT_SIGNAL, CRN_POINT_TAKE, CRN_POINT_WAIT } crn_point_kind;

typedef struct crn_point {
    uint64_t time;
    uint32_t lane, span;
    uint32_t target; /* gate; of TAKE: job or copy */
    crn_point_kind kind;
} crn_point;

/* The gate at which a span's begin waits; CRN_NONE: not made yet. */
typedef struct crn_begin_gate {
    uint32_t span, gate;
} crn_begin_gate;

/* Jobs whose first spans are of the same block. */
typedef struct crn_kind {
    uint32_t block;
    uint32_t pool;     /* CRN_NONE: its jobs cannot move between lanes */
    uint32_t jobs;     /* number of movable jobs */
    uint32_t queue;    /* index of its queue among the pool's, which other kinds may share */
    uint32_t capacity; /* as recorded; 0: unlimited */
    crn_full full;
    bool affects; /* its jobs hand off, wait, or are awaited */
} crn_kind;

typedef struct crn_lane_plan {
    crn_code code;
    uint64_t loop;   /* offset of its loop operation */
    uint32_t pool;   /* CRN_NONE: takes only jobs that are bound to it */
    uint64_t serves; /* bitmap of the pool's queues that it takes from */
} crn_lane_plan;

enum { CRN_QUEUES = 64 };

/* A pool. Each kind has its own queue, first in, first out; more than CRN_QUEUES kinds all share
 * one. */
typedef struct crn_pool_plan {
    crn_replay_pool facts;
    uint32_t *kinds; /* facts.kinds entries */
    uint32_t *lanes; /* facts.lanes entries: lane numbers */
    uint32_t queue_count;
    uint32_t first_queue;      /* index of its first queue among those of all pools */
    uint32_t rank[CRN_QUEUES]; /* priority, lower first, if the pool prefers kinds */
    crn_code code;             /* program of an added lane: the loop, then stop */
} crn_pool_plan;

struct crn_replay {
    const crn_trace *trace;
    uint32_t block_count;
    uint8_t *rest;          /* by block: crn_rest */
    const uint64_t *period; /* by block, from the setup; only during construction */
    bool no_guesses, fixed;
    crn_replay_facts facts;

    uint32_t *order;      /* spans sorted by lane and begin; NULL: already in that order */
    uint32_t *lane_first; /* by lane: index into order; one entry more than lanes */

    uint32_t job_count, job_room;
    crn_job *jobs; /* sorted by lane and begin; only during construction */

    bool drops; /* some queue drops jobs when it is full */
    uint32_t copy_count, copy_room;
    crn_copy *copies;

    uint32_t gate_count, gate_room;
    crn_gate *gates; /* only during construction */

    /* Jobs and gates as runs need them, compact because every second span can have one. */
    const uint8_t **job_code; /* by job or copy: its first operation */
    uint32_t *job_kind; /* by job or copy: its kind, plus CRN_JOB_MOVABLE if any lane of the pool
                           may run it */
    uint32_t *pending;  /* by gate: number of its signals */

    uint32_t begin_gate_count;
    crn_begin_gate *begin_gates; /* sorted by span; only during construction */

    uint32_t point_count, point_room;
    crn_point *points;     /* only during construction */
    uint32_t *point_first; /* by lane, one entry more; only during construction */

    uint32_t kind_count;
    crn_kind *kinds;
    uint32_t *kind_of; /* by block: its kind */

    uint32_t pool_count, queue_count;
    crn_pool_plan *pools;

    crn_lane_plan *lanes; /* by lane of the trace */

    const uint8_t *kept; /* by span, from the setup; only during construction */
    uint32_t class_count;
    uint64_t *work; /* by class of work, ns */

    uint32_t watched_block; /* block whose spans' latency is measured; 0: that of root spans */
    bool every;             /* all spans are watched */
    uint32_t watched_count;
    uint64_t *watched;       /* bitmap by span: begin and end are operations */
    uint32_t *watched_first; /* by 64 spans: number of watched spans before them */
    uint32_t *above;      /* by watched index: that of the nearest watched ancestor, or CRN_NONE */
    crn_latency recorded; /* latencies in the recording */
    uint32_t timer_count, timer_room;
    crn_timer *timers; /* sorted by lane, block, and begin before end */
    uint32_t hold_count;
    crn_hold *holds;                 /* sorted by span; only during construction */
    uint32_t doubt_room, found_room; /* capacities of facts.doubts and facts.timers */

    uint32_t wake_count, wake_room;
    crn_wake *wakes;       /* slow wake-ups; only during construction */
    uint64_t origin, last; /* first begin and last end */
    crn_trace *own;        /* `trace` if crn_replay_leave_out made it; else NULL */

    float *working; /* by span: share of self time that is work; NULL: 1 for all; only during
                       construction */
};

/* Returns the block of a span; 0 if it is out of range. */
static inline uint32_t crn_replay_block(const crn_replay *replay, uint32_t span)
{
    uint32_t block = replay->trace->spans[span].block;
    return block < replay->block_count ? block : 0;
}

/* Returns the class of work of a span: its block, and whether the span may be scaled. */
static inline uint32_t crn_work_class(const crn_replay *replay, uint32_t span)
{
    return crn_replay_block(replay, span) * 2 + (!replay->kept || replay->kept[span]);
}

/* Returns a part of `trace` without the waits that its jobs also describe (left_out.c); NULL if
 * `trace` has no such waits. Sets `*origins`: by span of the part, its number in `trace`. Replaces
 * setup->kept, if not NULL, by that of the part. Free both with crn_free. */
crn_trace *crn_replay_leave_out(const crn_trace *trace, crn_replay_setup *setup,
                                uint32_t **origins);

/* Returns the span at an index of the order by lane and begin. */
static inline uint32_t crn_replay_at(const crn_replay *replay, uint32_t place)
{
    return replay->order ? replay->order[place] : place;
}

/* Returns true if `left` precedes `right`, two spans of a lane. */
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

/* Returns the index of a watched span. */
static inline uint32_t crn_watched_place(const crn_replay *replay, uint32_t span)
{
    uint64_t before = replay->watched[span / 64] & (((uint64_t)1 << span % 64) - 1);
    return replay->watched_first[span / 64] + (uint32_t)__builtin_popcountll(before);
}

/* Returns true if the span's latency is measured. */
static inline bool crn_is_meant(const crn_replay *replay, uint32_t span)
{
    crn_rest rest = (crn_rest)replay->rest[crn_replay_block(replay, span)];
    return replay->watched_block
               ? crn_replay_block(replay, span) == replay->watched_block
               : replay->trace->spans[span].parent == CRN_SPAN_NONE && rest != CRN_REST_WAIT &&
                     rest != CRN_REST_CONDITION && rest != CRN_REST_SEMAPHORE;
}

/* Both return the job whose first span is `span`; CRN_NONE if it begins no job. The second first
 * tests whether the span was handed off, and most are not. */
uint32_t crn_replay_find_job(const crn_replay *replay, uint32_t span);
static inline uint32_t crn_replay_job_of(const crn_replay *replay, uint32_t span)
{
    return replay->trace->spans[span].handed_off ? crn_replay_find_job(replay, span) : CRN_NONE;
}
/* Returns the gate at which the span's begin waits; NULL for no gate. */
crn_begin_gate *crn_replay_begin_gate(const crn_replay *replay, uint32_t span);

/* ---- walk over a lane's events in the order of time ----------------------------------- */

typedef enum crn_event_kind { CRN_EVENT_BEGIN, CRN_EVENT_END, CRN_EVENT_POINT } crn_event_kind;

typedef struct crn_event {
    crn_event_kind kind;
    uint32_t which; /* index of the span or point */
    uint32_t slot;  /* of a span: a number that no other open span has */
    uint32_t owner; /* innermost open span before the event; CRN_NONE: no open span */
    uint64_t time;
} crn_event;

typedef struct crn_open {
    uint64_t end;
    uint32_t span, slot;
} crn_open;

/* A walk over a lane's events. The replay's points must be sorted; if they are not made yet, the
 * walk has none. */
typedef struct crn_walk {
    const crn_replay *replay;
    uint8_t *over;       /* bitmap by span: it has ended; walks can share it */
    uint32_t next, last; /* indices into order */
    uint32_t next_point, last_point;
    /* Open spans: `nested` is a stack of spans that each end before the spans below it; the rest
     * are in `heap`, earliest end on top. */
    crn_open *nested, *heap;
    uint32_t nested_count, nested_room, heap_count, heap_room;
    uint32_t *stack; /* open spans in the order of begin, and some ended ones */
    uint32_t stack_count, stack_room;
    uint32_t *free; /* free slots below slot_count */
    uint32_t free_count, free_room, slot_count;
} crn_walk;

/* Allocates the bitmap for walks. Free it with crn_free. */
uint8_t *crn_walk_bits(const crn_replay *replay);
/* Starts a walk over a lane; the bits of its spans in `over` must be clear. */
crn_walk crn_walk_lane(const crn_replay *replay, uint32_t lane, uint8_t *over);
/* Advances to the next event. Returns false at the end of the lane. */
bool crn_walk_next(crn_walk *walk, crn_event *event);
/* Returns the number of open spans. */
static inline uint32_t crn_walk_open(const crn_walk *walk)
{
    return walk->nested_count + walk->heap_count;
}
void crn_walk_free(crn_walk *walk);

/* ---- encoding ------------------------------------------------------------------------- */

void crn_code_put(crn_code *code, crn_op_kind kind, uint64_t number, uint64_t amount);
void crn_code_trim(crn_code *code); /* releases unused capacity */
void crn_code_free(crn_code *code);

/* ---- conversion of a lane, one piece of work at a time -------------------------------- */

enum { CRN_WRITER_OPS = 12, CRN_WRITER_SUMS = 16 };

typedef struct crn_piece {
    uint32_t owner;        /* the span whose work it is */
    uint64_t from, amount; /* from: recorded begin; amount: ns */
} crn_piece;

typedef struct crn_writer {
    crn_replay *replay;
    crn_walk walk;
    crn_replay_lane *facts;
    uint32_t lane;
    bool dry; /* compute without writing anything */
    bool stopped;
    uint64_t at;             /* recorded time that operations account for so far */
    bool begun;              /* an operation has been written */
    uint32_t job;            /* movable job around the event; CRN_NONE: no job */
    uint32_t to_begin, open; /* numbers of the job's spans: to begin; open */
    bool has_loop;           /* the loop operation has been written */
    bool waited;             /* the last event was the end of a wait for a lock */
    bool looping;            /* after a job, before another event */
    uint32_t deferred;       /* gate to pass before `deferred_span` ends */
    uint32_t deferred_span;
    /* Operations of the current event; `work` is the index of the work among them, or
     * CRN_WRITER_OPS. */
    unsigned op_count, work;
    struct crn_written {
        int kind;     /* crn_op_kind, or a pseudo-operation of the writer */
        uint32_t who; /* of work: the span; else the operation's number */
        uint64_t amount;
    } ops[CRN_WRITER_OPS];
    /* Not yet written: work by class, or delay. */
    unsigned sum_count;
    uint32_t classes[CRN_WRITER_SUMS];
    uint64_t sums[CRN_WRITER_SUMS];
    uint64_t delay;
    uint64_t loop_at; /* position of the loop operation's `amount` */
} crn_writer;

void crn_writer_begin(crn_writer *writer, crn_replay *replay, uint32_t lane, uint8_t *over,
                      bool dry);
/* Advances to the next piece of work. Returns false at the end of the lane. */
bool crn_writer_next(crn_writer *writer, crn_piece *piece);
/* Writes the piece of work with its amount in ns. Call it once for each piece. */
void crn_writer_put(crn_writer *writer, uint64_t amount);
void crn_writer_end(crn_writer *writer);

/* ---- construction, in this order ------------------------------------------------------ */

void crn_plan_order(crn_replay *replay);                               /* sets order, lane_first */
void crn_plan_jobs(crn_replay *replay, const crn_replay_setup *setup); /* sets jobs, kinds */
void crn_plan_copies(crn_replay *replay);                              /* finds dropped jobs */
void crn_plan_edges(crn_replay *replay);                               /* sets gates, points */
void crn_plan_pools(crn_replay *replay);    /* finds movable jobs and the lanes of each pool */
void crn_plan_ranks(crn_replay *replay);    /* finds the priorities of pools; part of
                                               crn_plan_pools */
void crn_plan_dropping(crn_replay *replay); /* counts copies as jobs of their kinds; adds a doubt
                                               about kinds for which that would be wrong */
void crn_plan_locks(crn_replay *replay);    /* finds spans with a noted lock */
void crn_plan_timers(crn_replay *replay);   /* finds timers */
void crn_plan_doubts(crn_replay *replay);   /* finds signs of unknown waits */
void crn_plan_watched(crn_replay *replay);  /* finds spans whose begin and end runs report */
void crn_plan_working(crn_replay *replay);  /* finds self time that was off the processor */
/* writes the operations and their work, finds slow wake-ups */
void crn_plan_code(crn_replay *replay);
/* Adds a doubt if threads were ready for long, although lanes with spans did not share cores.
 * `ready`: ns, of all threads. */
void crn_plan_busy(crn_replay *replay, uint64_t ready);
void crn_plan_recorded(crn_replay *replay); /* computes the recorded latencies */

/* Returns the hold of a span; NULL for a span without a lock. */
const crn_hold *crn_replay_hold(const crn_replay *replay, uint32_t span);
/* Returns the index of the lane's timer at which spans of the block begin (`at_end`: end); CRN_NONE
 * if the lane has no such timer. */
uint32_t crn_replay_timer(const crn_replay *replay, uint32_t lane, uint32_t block, bool at_end);
/* Adds a doubt if the unscaled outcome drops more or fewer jobs than the program did. */
void crn_replay_check_drops(crn_replay *replay, const crn_outcome *outcome);
/* Adds a doubt to the facts, unless they have one of the same kind about the block. */
void crn_replay_doubt(crn_replay *replay, crn_doubt_kind kind, uint32_t block, uint32_t other,
                      double period);
/* Adds a detected timer to the facts. `period`: ns. */
void crn_replay_note_timer(crn_replay *replay, uint32_t block, double period);

/* Returns true if more lanes than processors ever worked at the same time. */
bool crn_replay_is_shared(crn_replay *replay);

#endif
