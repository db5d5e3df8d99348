/* SPDX-License-Identifier: MIT
 *
 * replay.h - predicts what happens if a part of a program is faster: simulates the recorded DAG of
 * spans with some times scaled (discrete-event simulation). docs/WHATIF.md describes the model.
 *
 * A replay does not change once made: any number of scenarios can be run, also concurrently. The
 * same scenario always gives the same outcome. Nothing recurses; a run is linear in the number of
 * spans, except for sorting and heaps with an entry a lane. All times are ns.
 *
 * Memory besides the trace: some bits a span, and bytes for what happens between two events that
 * others can notice (a hand-off, a wait, the begin of a span whose latency is measured); work
 * between such events is summed by block.
 *
 * Related: causal profiling slows all other threads of a live program down instead (Curtsinger and
 * Berger 2015). Processor sharing by virtual time: Parekh and Gallager 1993.
 */
#ifndef CRN_REPLAY_REPLAY_H
#define CRN_REPLAY_REPLAY_H

#include "spans/spans.h"

/* ns. An awakened thread runs again within this time; a longer delay has another reason. */
#define CRN_REPLAY_WAKE_NS ((uint64_t)100000)

/* ---- facts that the capture's spans do not tell ------------------------------------- */

typedef enum crn_rest {
    CRN_REST_NONE = 0,
    CRN_REST_SLEEP = 1, /* self time keeps its length and takes no processor */
    CRN_REST_TIMER = 2, /* the same, but it ends at its recorded moment */
    CRN_REST_LOCK = 3,  /* spans of several lanes exclude each other; their self time is work */
    CRN_REST_WAIT = 4,  /* self time is the wait for a lock, whose span begins next */
    CRN_REST_ASYNC = 5, /* asynchronous spans: self time keeps its length and takes no processor */
    CRN_REST_CONDITION = 6, /* waits for a condition variable, and its signals: the same */
    CRN_REST_SEMAPHORE = 7  /* of a semaphore, likewise */
} crn_rest;

/* What a full queue does with a job. */
typedef enum crn_full {
    CRN_FULL_WAITS = 0, /* who hands it off waits */
    CRN_FULL_DROPS_OLDEST = 1,
    CRN_FULL_DROPS_NEWEST = 2
} crn_full;

typedef struct crn_replay_setup {
    uint32_t block_count;
    uint32_t *capacity;  /* by block: how many jobs that begin with a span of it the queue held
                            without them having begun, as recorded; 0: unlimited */
    uint8_t *full;       /* by block: crn_full of that queue; NULL: all wait */
    uint8_t *rest;       /* by block: crn_rest, or 0 */
    uint64_t *period;    /* by block: its spans end at multiples of this many ns; 0: no timer of a
                            known period. NULL: all 0 */
    unsigned cores;      /* number of processors during the recording; 0: not known */
    uint64_t ready;      /* ns in which threads were ready without a core, as far as recorded */
    bool fixed;          /* each lane runs the jobs that it ran in the recording */
    bool no_guesses;     /* infer no waits: only recorded ones count */
    const uint8_t *kept; /* by span: it may be scaled; NULL: all may */
    uint32_t latency_of; /* block whose latency is measured; 0: that of root spans */
    bool every;          /* outcomes have begin and end of every span */
} crn_replay_setup;

/* Reads the program's notes (docs/WHATIF.md). Free the arrays with crn_free. */
crn_replay_setup crn_replay_setup_read(const crn_profile *profile);
void crn_replay_setup_free(crn_replay_setup *setup);
/* Reads a period with its unit, like "16.667ms". Returns false if it is none, or not from 1 us to
 * 10^6 s. */
bool crn_replay_read_period(const char *text, uint64_t *period);

/* ---- a simulated program ----------------------------------------------------------- */

typedef struct crn_replay crn_replay;

/* Makes a replay. Never NULL. The trace must outlive it; the setup need not. */
crn_replay *crn_replay_make(const crn_trace *trace, const crn_replay_setup *setup);
void crn_replay_free(crn_replay *replay);

/* Returns, by span, 1 if it is below a path of consecutive ancestors that matches; the last span of
 * the path counts as below. Each path element has, by block (block_count of them), 1 if the block
 * matches. Free it with crn_free. */
uint8_t *crn_replay_below(const crn_trace *trace, uint32_t block_count, const uint8_t *const *path,
                          size_t length);

typedef struct crn_scenario {
    const double *factor;     /* by block: factor on the self time of its spans, at least 0;
                                 NULL: all 1 */
    unsigned cores;           /* 0: as recorded */
    const uint32_t *threads;  /* by block: number of lanes that take jobs of its kind, 0: as
                                 recorded; NULL: all as recorded */
    const uint32_t *capacity; /* by block: queue capacity; NULL: as recorded */
    bool length_only;         /* do not measure latencies */
} crn_scenario;

/* Latencies: exact, or for very many a histogram with a resolution of 1/2048. */
typedef struct crn_lengths {
    uint32_t count, room;
    uint64_t max;
    uint64_t *exact; /* NULL if there are bins */
    uint32_t *bins;
} crn_lengths;

void crn_lengths_add(crn_lengths *lengths, uint64_t length);
void crn_lengths_free(crn_lengths *lengths);

typedef struct crn_outcome {
    uint64_t length;     /* first begin to last end */
    uint64_t begin;      /* the first begin, since the capture began */
    uint64_t *begins;    /* by watched index, since the capture began; by span if the setup has
                            `every` */
    uint64_t *ends;      /* the same for ends */
    uint64_t loosened;   /* waits that would never have ended and were cut short */
    uint64_t late;       /* moments of timers that had passed, with no note that says what the
                            program does then */
    uint64_t dropped;    /* recorded jobs that a full queue dropped */
    uint64_t copies;     /* jobs that were dropped in the recording and ran */
    uint64_t droppable;  /* jobs that ran and could have been dropped */
    uint64_t *copy_ends; /* by such job: its end, 0: it was dropped; NULL if there are none */
    crn_lengths lengths; /* of the other measured spans */
} crn_outcome;

/* Runs a scenario. The arrays of an outcome of an earlier run are reused. Free it with
 * crn_outcome_free. */
void crn_replay_run(const crn_replay *replay, const crn_scenario *scenario, crn_outcome *outcome);
void crn_outcome_free(crn_outcome *outcome);

/* ---- trust in the replay ------------------------------------------------------------ */

typedef struct crn_replay_lane {
    uint32_t lane;
    uint64_t unexplained; /* ns idle although the job that it took next was ready */
    uint64_t outside;     /* ns in no span and not waiting for anything known */
    uint32_t before;      /* the span after the longest such idle time; CRN_SPAN_NONE: none */
    uint64_t longest;     /* ns of it */
} crn_replay_lane;

typedef struct crn_replay_pool {
    uint32_t lanes;     /* number of lanes that take its jobs */
    uint32_t jobs;      /* number of jobs that any of them may take */
    uint32_t kinds;     /* number of distinct blocks of these jobs */
    uint32_t first;     /* one of these blocks */
    bool by_kind;       /* some kinds are preferred; otherwise the oldest job is taken */
    uint32_t contested; /* how often a lane could choose between kinds */
    uint32_t *blocks;   /* the kinds, by priority if by_kind */
} crn_replay_pool;

/* Signs of something that the model does not contain. */
typedef enum crn_doubt_kind {
    CRN_DOUBT_STEADY,    /* the block's events are steady: a timer or equal work, which one cannot
                            be told */
    CRN_DOUBT_EXCLUSIVE, /* spans of several lanes never overlap: a lock */
    CRN_DOUBT_OVERLAPS,  /* the block is noted as a lock, but its spans overlap */
    CRN_DOUBT_DROPS,     /* some spans have no job, and only while `other` was busy: a queue that
                            drops */
    CRN_DOUBT_FOLLOWS,   /* the block's begins or ends closely follow ends of `other` on other
                            lanes: a wait */
    CRN_DOUBT_DROPPED,   /* the unscaled replay drops other numbers of jobs than the program did */
    CRN_DOUBT_ASYNC,     /* spans are asynchronous: what ends them is not recorded */
    CRN_DOUBT_CONDITION, /* waits for a condition variable, known only where a thread had to wait */
    CRN_DOUBT_BUSY       /* other programs, or threads without spans, had the cores */
} crn_doubt_kind;

typedef struct crn_doubt {
    crn_doubt_kind kind;
    uint32_t block, other;
    uint64_t period; /* ns */
} crn_doubt;

typedef struct crn_found_timer {
    uint32_t block;
    uint64_t period; /* ns */
} crn_found_timer;

typedef struct crn_replay_facts {
    unsigned cores;        /* number of processors; 0: not known */
    uint64_t recorded;     /* recorded length, first begin to last end */
    uint64_t replayed;     /* replayed length without scaling */
    uint64_t loosened;     /* waits that were cut short, without scaling */
    uint32_t jobs;         /* number of jobs */
    uint32_t movable;      /* number of jobs that any lane of a pool may take */
    uint32_t waits;        /* number of recorded wait and follow edges */
    uint32_t guessed;      /* number of spans with inferred waits */
    uint32_t contradicted; /* edges that the recorded times contradict */
    uint32_t undated;      /* jobs without a recorded hand-off time */
    uint64_t work;         /* self time of all spans without waits, on a processor of its own */
    uint64_t idle;         /* recorded self time off the processor */
    bool shared;           /* at times more lanes worked than there were processors */
    uint32_t beats;        /* events of detected timers */
    uint64_t late;         /* moments of timers that had passed, without scaling */
    uint32_t timer_count;
    crn_found_timer *timers; /* detected ones, an entry a lane */
    uint32_t doubt_count;
    crn_doubt *doubts;
    uint32_t lane_count;
    crn_replay_lane *lanes; /* lanes that have spans; in the order of the trace */
    uint32_t pool_count;
    crn_replay_pool *pools;
} crn_replay_facts;

const crn_replay_facts *crn_replay_facts_of(const crn_replay *replay);

/* Returns, by block, self time without waits of the spans that may be scaled: what a speed-up can
 * save. Free it with crn_free. */
uint64_t *crn_replay_work(const crn_replay *replay);

/* Relative error of the unscaled replay. The replay is trusted if that, and the unexplained share
 * of idle lanes, are at most CRN_REPLAY_TRUST, and there are no doubts. */
#define CRN_REPLAY_TRUST 0.03
double crn_replay_drift(const crn_replay *replay);
bool crn_replay_is_trusted(const crn_replay *replay);
/* Returns true if the outcome depends on what the program does when it misses a timer. */
bool crn_replay_is_late(const crn_replay *replay, const crn_outcome *outcome);
/* Returns true if jobs are dropped and so few run that the outcome depends on their choice. */
bool crn_replay_has_few(const crn_replay *replay, const crn_outcome *outcome);
/* Returns true if the lane's unexplained time exceeds that. */
bool crn_replay_is_odd(const crn_replay *replay, const crn_replay_lane *lane);

/* ---- figures of an outcome --------------------------------------------------------- */

/* Latency of a span: from its begin to the end of the span and of everything that it caused. */
typedef struct crn_latency {
    uint32_t count;
    uint64_t median, p90, p99, max; /* nearest rank */
    double throughput;              /* spans a second: count / length */
} crn_latency;

/* Returns the latencies of the spans that the setup names; with a NULL outcome, as recorded. Open
 * spans are left out. Quantiles of very many are accurate to 1/2048; the maximum is exact. */
crn_latency crn_replay_latency(const crn_replay *replay, const crn_outcome *outcome);

/* ---- ranking of optimisations -------------------------------------------------------- */

/* Columns: the block's self time reduced by 10, 50 and 100 %. */
enum { CRN_EFFECTS = 3 };
extern const double crn_effect_factors[CRN_EFFECTS];

typedef struct crn_effect {
    uint32_t block;
    uint64_t work;                /* self time that can be saved, ns */
    uint64_t length[CRN_EFFECTS]; /* predicted length for each column */
    bool late[CRN_EFFECTS];       /* crn_replay_is_late: not to be trusted */
} crn_effect;

typedef struct crn_effects {
    const crn_replay *replay;
    const crn_scenario *base; /* scenario to which the reductions are added */
    uint64_t length;          /* length of the base scenario; the caller sets it before sorting */
    uint32_t count, hidden;   /* number of rows; of further blocks with self time */
    crn_effect *rows;
} crn_effects;

/* Makes rows for the `most` blocks with the most self time. `base` must outlive the result. Free it
 * with crn_effects_free. */
crn_effects crn_effects_make(const crn_replay *replay, const crn_scenario *base, uint32_t most);
/* Fills one of count * CRN_EFFECTS cells. Different cells can be filled concurrently, each thread
 * with its own outcome. */
void crn_effects_fill(crn_effects *effects, uint32_t cell, crn_outcome *outcome);
/* Sorts the rows, largest gain first, when all cells are filled. */
void crn_effects_sort(crn_effects *effects);
void crn_effects_free(crn_effects *effects);

#endif
