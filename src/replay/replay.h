/* SPDX-License-Identifier: MIT
 *
 * replay.h - predicts what happens if a part of a program is faster: simulates the recorded DAG of
 * spans with some times scaled (discrete-event simulation). docs/WHATIF.md describes the model.
 *
 * A replay does not change once made: any number of scenarios can be run, also concurrently. The
 * same scenario always gives the same outcome. Nothing recurses; a run is linear in the number of
 * spans, except for sorting and heaps with one entry for each lane. All times are ns.
 *
 * Memory besides the trace: some bits a span, and some bytes for each event that others can notice
 * (a hand-off, a wait, the begin of a span whose latency is measured). Work between two such events
 * is summed by block.
 *
 * Related: causal profiling, which slows down all other threads of a live program (Curtsinger and
 * Berger 2015). Processor sharing by virtual time: Parekh and Gallager 1993.
 */
#ifndef CRN_REPLAY_REPLAY_H
#define CRN_REPLAY_REPLAY_H

#include "spans/spans.h"

/* A thread continues at most this many ns after the event for which it waited; a longer delay has
 * another cause. */
#define CRN_REPLAY_WAKE_NS ((uint64_t)100000)

/* ---- facts that the capture's spans do not tell ------------------------------------- */

/* Kinds of self time of a block's spans, from the program's notes. NONE: work. */
typedef enum crn_rest {
    CRN_REST_NONE = 0,
    CRN_REST_SLEEP = 1,     /* self time keeps its length and takes no processor */
    CRN_REST_TIMER = 2,     /* as SLEEP, but ends at its recorded moment; with a period (setup), at
                               the next multiple */
    CRN_REST_LOCK = 3,      /* spans of several lanes exclude each other; their self time is work */
    CRN_REST_WAIT = 4,      /* self time is the wait for a lock, whose span begins next */
    CRN_REST_ASYNC = 5,     /* asynchronous spans: as SLEEP */
    CRN_REST_CONDITION = 6, /* waits for a condition variable, and its signals: as SLEEP */
    CRN_REST_SEMAPHORE = 7  /* waits for a semaphore, and its posts: as SLEEP */
} crn_rest;

/* The behaviour of a full queue when a job arrives. */
typedef enum crn_full {
    CRN_FULL_WAITS = 0, /* the lane that hands it off waits */
    CRN_FULL_DROPS_OLDEST = 1,
    CRN_FULL_DROPS_NEWEST = 2
} crn_full;

typedef struct crn_replay_setup {
    uint32_t block_count;
    uint32_t *capacity;  /* by block: recorded capacity of the queue of jobs that begin with its
                            spans; 0: unlimited. NULL: all unlimited */
    uint8_t *full;       /* by block: crn_full of the queue; NULL: CRN_FULL_WAITS for all */
    uint8_t *rest;       /* by block: crn_rest; NULL: CRN_REST_NONE for all */
    uint64_t *period;    /* by block: its spans end at multiples of this period, ns; 0: no known
                            period. NULL: all 0 */
    unsigned cores;      /* number of processors during the recording; 0: not known */
    uint64_t ready;      /* ns of ready time of all threads, as far as recorded */
    bool fixed;          /* each lane runs the jobs that it ran in the recording */
    bool no_guesses;     /* infer no waits; use the recorded waits */
    const uint8_t *kept; /* by span: 1 if it may be scaled; NULL: all */
    uint32_t latency_of; /* block whose spans' latency is measured; 0: that of root spans */
    bool every;          /* outcomes have begin and end of every span */
} crn_replay_setup;

/* Reads a setup from the program's notes (docs/WHATIF.md). Free it with crn_replay_setup_free. */
crn_replay_setup crn_replay_setup_read(const crn_profile *profile);
void crn_replay_setup_free(crn_replay_setup *setup);
/* Reads a period with its unit, like "16.667ms", and sets `*period` in ns. Returns false if `text`
 * is no period from 1 us to 10^6 s. */
bool crn_replay_read_period(const char *text, uint64_t *period);

/* ---- a simulated program ----------------------------------------------------------- */

typedef struct crn_replay crn_replay;

/* Makes a replay. Never NULL. The trace must outlive it; the setup need not. */
crn_replay *crn_replay_make(const crn_trace *trace, const crn_replay_setup *setup);
void crn_replay_free(crn_replay *replay);

/* Returns, by span, 1 if the span or an ancestor ends a sequence of parents and children that
 * matches `path`. Each of the path's `length` elements has, by block (block_count of them), 1 if
 * the block matches. Free the result with crn_free. */
uint8_t *crn_replay_below(const crn_trace *trace, uint32_t block_count, const uint8_t *const *path,
                          size_t length);

typedef struct crn_scenario {
    const double *factor;     /* by block: factor on the self time of its spans, at least 0;
                                 NULL: all 1 */
    unsigned cores;           /* 0: as recorded */
    const uint32_t *threads;  /* by block: number of lanes that take jobs of its kind, 0: as
                                 recorded; NULL: all as recorded */
    const uint32_t *capacity; /* by block: queue capacity; 0: unlimited. NULL: as recorded */
    bool length_only;         /* do not measure latencies */
} crn_scenario;

/* Latencies: up to 131,072 exactly; more as a histogram, accurate to 1/2048. */
typedef struct crn_lengths {
    uint32_t count, room;
    uint64_t max;
    uint64_t *exact; /* NULL if there are bins */
    uint32_t *bins;  /* the histogram (latency.c); NULL if there are exact latencies */
} crn_lengths;

void crn_lengths_add(crn_lengths *lengths, uint64_t length);
void crn_lengths_free(crn_lengths *lengths);

typedef struct crn_outcome {
    uint64_t length;   /* ns from the first begin to the last end */
    uint64_t begin;    /* first begin, ns since the capture began */
    uint64_t *begins;  /* of watched spans (watched.c), by watched index: ns since the capture
                          began. By span if the setup has `every` */
    uint64_t *ends;    /* ends, by the same index */
    uint64_t loosened; /* waits that would not have ended and were cut short */
    uint64_t late;     /* missed moments of timers, where no note says what the program does then */
    uint64_t dropped;  /* recorded jobs that a full queue dropped */
    uint64_t copies;   /* jobs that were dropped in the recording and now ran */
    uint64_t droppable;  /* jobs that ran from queues that can drop jobs */
    uint64_t *copy_ends; /* by job dropped in the recording: its end, 0: dropped again; NULL without
                            such jobs */
    crn_lengths lengths; /* of measured spans that are not watched */
} crn_outcome;

/* Runs a scenario. `outcome` is zeroed or of an earlier run, whose arrays are reused. Free it with
 * crn_outcome_free. */
void crn_replay_run(const crn_replay *replay, const crn_scenario *scenario, crn_outcome *outcome);
void crn_outcome_free(crn_outcome *outcome);

/* ---- trust in the replay ------------------------------------------------------------ */

typedef struct crn_replay_lane {
    uint32_t lane;
    uint64_t unexplained; /* ns idle although it could continue and a core was free */
    uint64_t outside;     /* ns outside of spans and of known waits */
    uint32_t before;      /* span after the longest unexplained time; CRN_SPAN_NONE: no such time */
    uint64_t longest;     /* ns of that time */
} crn_replay_lane;

typedef struct crn_replay_pool {
    uint32_t lanes;     /* number of lanes that take its jobs */
    uint32_t jobs;      /* number of jobs that any of its lanes may take */
    uint32_t kinds;     /* number of blocks with which its jobs begin */
    uint32_t first;     /* blocks[0] */
    bool by_kind;       /* some kinds are preferred; otherwise the oldest job is taken */
    uint32_t contested; /* how often a lane could choose between kinds */
    uint32_t *blocks;   /* the kinds, by priority if by_kind */
} crn_replay_pool;

/* Signs of something that the model lacks. */
typedef enum crn_doubt_kind {
    CRN_DOUBT_STEADY,    /* the block's events are steady: a timer, or work of equal length */
    CRN_DOUBT_EXCLUSIVE, /* spans of several lanes never overlap: perhaps a lock */
    CRN_DOUBT_OVERLAPS,  /* the block is noted as a lock, but its spans overlap */
    CRN_DOUBT_DROPS,     /* some spans handed off no job, nearly always while `other` ran: perhaps a
                            queue that drops */
    CRN_DOUBT_FOLLOWS,   /* the block's begins or ends closely follow ends of `other` on other
                            lanes: a wait */
    CRN_DOUBT_DROPPED, /* the unscaled replay drops more or fewer jobs than the program did; `block`
                          is that of the jobs */
    CRN_DOUBT_AFFECTS, /* jobs of the block are dropped, but affect others or are of no pool */
    CRN_DOUBT_ASYNC,   /* spans are asynchronous: what ends them is not recorded */
    CRN_DOUBT_CONDITION, /* waits for a condition variable, recorded only if a thread had to wait */
    CRN_DOUBT_BUSY       /* other programs, or threads without spans, had the cores */
} crn_doubt_kind;

typedef struct crn_doubt {
    crn_doubt_kind kind;
    uint32_t block, other;
    uint64_t period; /* ns; of BUSY: the ready time; 0 of all but STEADY and BUSY */
} crn_doubt;

typedef struct crn_found_timer {
    uint32_t block;
    uint64_t period; /* ns */
} crn_found_timer;

typedef struct crn_replay_facts {
    unsigned cores;        /* number of processors; 0: not known */
    uint64_t recorded;     /* recorded length, first begin to last end */
    uint64_t replayed;     /* replayed length without scaling */
    uint64_t loosened;     /* waits cut short in the unscaled replay */
    uint32_t jobs;         /* number of jobs */
    uint32_t movable;      /* number of jobs that any lane of a pool may take */
    uint32_t waits;        /* number of recorded wait and follow edges */
    uint32_t guessed;      /* number of spans with inferred waits */
    uint32_t contradicted; /* edges that the recorded times contradict */
    uint32_t undated;      /* jobs without a recorded hand-off time */
    uint64_t work;  /* self time of all spans without waits, if each lane had its own processor */
    uint64_t idle;  /* recorded self time off the processor */
    bool shared;    /* at times more lanes worked than there were processors */
    uint32_t beats; /* events of detected timers */
    uint64_t late;  /* missed moments of timers in the unscaled replay */
    uint32_t timer_count;
    crn_found_timer *timers; /* detected timers of all lanes */
    uint32_t doubt_count;
    crn_doubt *doubts;
    uint32_t lane_count;
    crn_replay_lane *lanes; /* by lane of the trace */
    uint32_t pool_count;
    crn_replay_pool *pools;
} crn_replay_facts;

const crn_replay_facts *crn_replay_facts_of(const crn_replay *replay);

/* Returns, by block, the ns that a speed-up can save: self time without waits of the spans that may
 * be scaled. Free it with crn_free. */
uint64_t *crn_replay_work(const crn_replay *replay);

/* The drift is the unscaled replay's relative error. A replay is trusted if its drift and each
 * lane's unexplained share are at most this, without doubts, lost spans or loosened waits. */
#define CRN_REPLAY_TRUST 0.03
double crn_replay_drift(const crn_replay *replay);
bool crn_replay_is_trusted(const crn_replay *replay);
/* Returns true if the outcome depends on what the program does when it misses a timer. */
bool crn_replay_is_late(const crn_replay *replay, const crn_outcome *outcome);
/* Returns true if jobs are dropped and so few run that the result depends on which ones run. */
bool crn_replay_has_few(const crn_replay *replay, const crn_outcome *outcome);
/* Returns true if a lane's unexplained share exceeds CRN_REPLAY_TRUST. */
bool crn_replay_is_odd(const crn_replay *replay, const crn_replay_lane *lane);

/* ---- figures of an outcome --------------------------------------------------------- */

/* Latency of a span: from its begin to the end of the span and of everything that it caused. */
typedef struct crn_latency {
    uint32_t count;
    uint64_t median, p90, p99, max; /* nearest rank */
    double throughput;              /* spans a second: count / length */
} crn_latency;

/* Returns the latencies of the measured spans in an outcome, or in the recording if `outcome` is
 * NULL. Leaves out open spans. Quantiles beyond 131,072 spans are accurate to 1/2048. */
crn_latency crn_replay_latency(const crn_replay *replay, const crn_outcome *outcome);

/* ---- ranking of optimisations -------------------------------------------------------- */

/* Columns: the block's self time reduced by 10, 50 and 100 %. */
enum { CRN_EFFECTS = 3 };
extern const double crn_effect_factors[CRN_EFFECTS];

typedef struct crn_effect {
    uint32_t block;
    uint64_t work;                /* self time that can be saved, ns */
    uint64_t length[CRN_EFFECTS]; /* predicted length for each column */
    bool late[CRN_EFFECTS];       /* crn_replay_is_late or crn_replay_has_few */
} crn_effect;

typedef struct crn_effects {
    const crn_replay *replay;
    const crn_scenario *base; /* scenario to which the reductions are added */
    uint64_t length;          /* length of the base scenario; the caller sets it before sorting */
    uint32_t count, hidden;   /* number of rows; number of other blocks with self time */
    crn_effect *rows;
} crn_effects;

/* Makes rows for the `most` blocks with the most self time. `base` must outlive the result. Free it
 * with crn_effects_free. */
crn_effects crn_effects_make(const crn_replay *replay, const crn_scenario *base, uint32_t most);
/* Fills cell row * CRN_EFFECTS + column. Different cells can be filled concurrently, each thread
 * with its own outcome. */
void crn_effects_fill(crn_effects *effects, uint32_t cell, crn_outcome *outcome);
/* Sorts the rows, largest gain first. All cells must be filled. */
void crn_effects_sort(crn_effects *effects);
void crn_effects_free(crn_effects *effects);

#endif
