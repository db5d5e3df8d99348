/* SPDX-License-Identifier: MIT
 *
 * replay.h - what would happen if a part of a program were faster: the recorded DAG of spans run
 * again in a discrete-event simulation, with some times scaled. docs/WHATIF.md has the model.
 *
 * A replay is made once and never changes: any number of scenarios can be run with it, also at
 * the same time by several threads. The same scenario gives the same outcome. Nothing recurses;
 * what runs is linear in the number of spans, but for sorting and for heaps as large as there are
 * lanes. All times are nanoseconds.
 *
 * What is kept besides the trace is a few bits a span, and bytes for what is between two things
 * that others can notice (a hand-off, a wait, the begin of a span whose latency is asked for): what
 * happens between them is added up by block.
 *
 * (That a trace of what each part waits for suffices to predict, by simulating it: causal
 * profiling asks the same of a live program by slowing all others down, Curtsinger and Berger
 * 2015. Processor sharing by virtual time: Parekh and Gallager 1993.)
 */
#ifndef CRN_REPLAY_REPLAY_H
#define CRN_REPLAY_REPLAY_H

#include "spans/spans.h"

/* Threads that are waken run again within this time; what takes longer has another reason. */
#define CRN_REPLAY_WAKE_NS ((uint64_t)100000)

/* ---- what the capture's spans cannot say ------------------------------------------- */

typedef enum crn_rest {
    CRN_REST_NONE = 0,
    CRN_REST_SLEEP = 1, /* own time of its spans is as long as it is, and takes no processor */
    CRN_REST_TIMER = 2  /* likewise, but up to the moment at which it was over */
} crn_rest;

typedef struct crn_replay_setup {
    uint32_t block_count;
    uint32_t *capacity;  /* by block: how many jobs that begin with a span of it the queue held,
                            not begun; 0: any number. As it was recorded. */
    uint8_t *rest;       /* by block: crn_rest */
    unsigned cores;      /* that it was recorded on; 0: not known */
    bool fixed;          /* each lane runs the jobs that it ran */
    bool no_guesses;     /* nobody is taken to have waited who does not say so */
    const uint8_t *kept; /* by span: only those are ever scaled; NULL: all */
    uint32_t
        latency_of; /* the block whose spans' latency is asked for; 0: spans without a parent */
    bool every;     /* outcomes have all spans' begins and ends */
} crn_replay_setup;

/* What the program noted (docs/WHATIF.md); to be freed. */
crn_replay_setup crn_replay_setup_read(const crn_profile *profile);
void crn_replay_setup_free(crn_replay_setup *setup);

/* ---- a program that can be run again ----------------------------------------------- */

typedef struct crn_replay crn_replay;

/* Never NULL. The trace must outlive it; the setup need not. */
crn_replay *crn_replay_make(const crn_trace *trace, const crn_replay_setup *setup);
void crn_replay_free(crn_replay *replay);

/* By span, whether it is below a path on which these blocks follow one another at once; the last
 * of them counts as below. A path has by block, of block_count, whether it can stand there. To be
 * freed with crn_free. */
uint8_t *crn_replay_below(const crn_trace *trace, uint32_t block_count, const uint8_t *const *path,
                          size_t length);

typedef struct crn_scenario {
    const double *factor;     /* by block: what the own time of its spans is multiplied by, at
                                 least 0; NULL: 1 */
    unsigned cores;           /* 0: as recorded */
    const uint32_t *threads;  /* by block: how many lanes take jobs of its kind, 0 as recorded;
                                 NULL: as recorded */
    const uint32_t *capacity; /* by block; NULL: as recorded */
    bool length_only;         /* latencies are not asked for */
} crn_scenario;

/* Lengths of spans: as they are, or if there are many how many there are of about each, to one
 * part in 2048. */
typedef struct crn_lengths {
    uint32_t count, room;
    uint64_t max;
    uint64_t *exact; /* NULL when there are bins */
    uint32_t *bins;
} crn_lengths;

void crn_lengths_add(crn_lengths *lengths, uint64_t length);
void crn_lengths_free(crn_lengths *lengths);

typedef struct crn_outcome {
    uint64_t length;   /* from the first begin to the last end */
    uint64_t begin;    /* the first, since the capture began */
    uint64_t *begins;  /* since the capture began, of the spans that are watched; of all of them by
                          span, if the setup asked for that */
    uint64_t *ends;    /* likewise */
    uint64_t loosened; /* waits that would never have ended, and were cut short */
    crn_lengths lengths; /* of the other spans whose latency is asked for */
} crn_outcome;

/* Runs it. An outcome that is given with begins and ends of an earlier run uses these again; else
 * they are made. To be freed with crn_outcome_free. */
void crn_replay_run(const crn_replay *replay, const crn_scenario *scenario, crn_outcome *outcome);
void crn_outcome_free(crn_outcome *outcome);

/* ---- how far it can be trusted ----------------------------------------------------- */

typedef struct crn_replay_lane {
    uint32_t lane;
    uint64_t unexplained; /* it was idle although the job that it took next was ready */
    uint64_t outside;     /* in no span, and nothing was waited for */
    uint32_t before;      /* the span before which it was idle for longest; CRN_SPAN_NONE: never */
    uint64_t longest;     /* for so long */
} crn_replay_lane;

typedef struct crn_replay_pool {
    uint32_t lanes;     /* that take its jobs */
    uint32_t jobs;      /* that any of them may take */
    uint32_t kinds;     /* different blocks that those begin with */
    uint32_t first;     /* one of them: a block */
    bool by_kind;       /* some kinds are taken before others; else the oldest job is */
    uint32_t contested; /* how often a lane had the choice between kinds */
    uint32_t *blocks;   /* the kinds; those that are taken first come first, if by_kind */
} crn_replay_pool;

typedef struct crn_replay_facts {
    unsigned cores;        /* recorded on; 0: not known */
    uint64_t recorded;     /* from the first begin to the last end */
    uint64_t replayed;     /* the same, unscaled */
    uint64_t loosened;     /* unscaled */
    uint32_t jobs;         /* handed off */
    uint32_t movable;      /* of them those that any lane of a pool may take */
    uint32_t waits;        /* recorded: edges of waits, and of what follows */
    uint32_t guessed;      /* spans that are taken to have waited for what they handed off */
    uint32_t contradicted; /* edges that the recorded times rule out */
    uint32_t undated;      /* jobs of which it is not known when they were handed off */
    uint64_t work;         /* own time of all spans, without waits, on a core of its own */
    uint64_t idle;         /* own time that took no processor, as far as that was recorded */
    bool shared;           /* more lanes ran at times than there were cores */
    uint32_t lane_count;
    crn_replay_lane *lanes; /* that have spans; in the trace's order */
    uint32_t pool_count;
    crn_replay_pool *pools;
} crn_replay_facts;

const crn_replay_facts *crn_replay_facts_of(const crn_replay *replay);

/* Own time by block, without waits, of the spans that are scaled: what a speed-up can save. As long
 * as there are blocks; to be freed with crn_free. */
uint64_t *crn_replay_work(const crn_replay *replay);

/* The part by which the unscaled replay misses the recording; and whether all is well: what it
 * misses, and what idle lanes leave unexplained, is at most CRN_REPLAY_TRUST. */
#define CRN_REPLAY_TRUST 0.03
double crn_replay_drift(const crn_replay *replay);
bool crn_replay_is_trusted(const crn_replay *replay);
/* Whether what the lane leaves unexplained is more than that. */
bool crn_replay_is_odd(const crn_replay *replay, const crn_replay_lane *lane);

/* ---- figures of an outcome --------------------------------------------------------- */

/* Latency of a span: from its begin to its end, and to that of all that it asked for. */
typedef struct crn_latency {
    uint32_t count;
    uint64_t median, p90, p99, max; /* nearest rank */
    double throughput;              /* spans a second: count over the length */
} crn_latency;

/* Of the spans that the setup asked for. With outcome NULL as recorded. Spans that have not ended
 * are left out. Of very many the ranks are right to one part in 2048, the longest is exact. */
crn_latency crn_replay_latency(const crn_replay *replay, const crn_outcome *outcome);

/* ---- what should I optimise? ------------------------------------------------------- */

/* How much less time a block's own takes in each column: 10, 50 and 100 %. */
enum { CRN_EFFECTS = 3 };
extern const double crn_effect_factors[CRN_EFFECTS];

typedef struct crn_effect {
    uint32_t block;
    uint64_t work;                /* its own time that can be saved */
    uint64_t length[CRN_EFFECTS]; /* end to end, were it so much less */
} crn_effect;

typedef struct crn_effects {
    const crn_replay *replay;
    const crn_scenario *base; /* what they come on top of */
    uint64_t length;        /* end to end of that, to be set by the caller before they are sorted */
    uint32_t count, hidden; /* rows; further blocks that have own time */
    crn_effect *rows;
} crn_effects;

/* The `most` blocks with the most own time. The base must outlive it. To be freed with
 * crn_effects_free. */
crn_effects crn_effects_make(const crn_replay *replay, const crn_scenario *base, uint32_t most);
/* Fills in one of count * CRN_EFFECTS cells. Different ones may be filled in at the same time, with
 * an outcome for each thread. */
void crn_effects_fill(crn_effects *effects, uint32_t cell, crn_outcome *outcome);
/* When all are: the largest gain first. */
void crn_effects_sort(crn_effects *effects);
void crn_effects_free(crn_effects *effects);

#endif
