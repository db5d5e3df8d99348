/* SPDX-License-Identifier: MIT
 *
 * soak.h - everything at once; see soak.c.
 */
#ifndef TESTS_STRESS_SOAK_H
#define TESTS_STRESS_SOAK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <cairn/span.h>

#include "support/difference.h"
#include "support/random.h"
#include "support/reference.h"

enum {
    SOAK_BLOCKS = 5,
    SOAK_PATH_LIMIT = 8,
    SOAK_STRANDS = 3, /* of a lane */
    SOAK_MARKS = 3,   /* strands of a lane */
    SOAK_THREADS_MOST = 64,
    SOAK_LANES_MOST = SOAK_THREADS_MOST + 4,
    SOAK_NUMBER_BITS = 40, /* of a span's number; above is that of its lane */
    SOAK_OPEN_MOST = 32,   /* open spans and adoptions of a strand */
    SOAK_HELD = 64,        /* allocations of a lane */
    SOAK_PASSED = 64,      /* allocations, and tokens, that lanes pass to each other */
    SOAK_CHARGED = 2,      /* user metrics that are charged at random; those of memory follow */
    SOAK_BYTES = SOAK_CHARGED,
    SOAK_OBJECTS
};

_Static_assert((int)SOAK_OBJECTS < (int)REFERENCE_USER_METRICS, "metrics of the reference");

/* Names of the metrics that the reference has. */
extern const char *const soak_metrics[REFERENCE_USER_METRICS];

/* Attribute of each span: the number of its parent, 0 if it has none that is recorded. */
#define SOAK_PARENT "parent"

typedef struct soak_options {
    uint64_t seed;
    unsigned seconds, threads, steps; /* steps of each lane in a round */
    bool signals;
    bool forks, forks_alone; /* by threads during a round; by the main thread after it */
    bool last_spans;         /* keep the last spans of each lane, not the first */
    const char *path;
} soak_options;

/* Nanoseconds. */
typedef struct soak_time {
    uint64_t wall, cpu;
} soak_time;

/* Figures of a lane's records, which add up. */
typedef struct soak_figures {
    uint64_t calls, ticks, user[REFERENCE_USER_METRICS]; /* made while recording was on */
    uint64_t roots;                      /* of the calls, strands that were opened */
    uint64_t spans, open_spans;          /* recorded; of these, open ones at the pause */
    uint64_t span_hash;                  /* sum of soak_span_hash over these spans */
    uint64_t spans_dropped;              /* spans that libcairn said not to have recorded */
    uint64_t handoffs;                   /* adoptions of a token of another lane */
    uint64_t freed_bytes, freed_objects; /* of the allocations that were counted */
    uint64_t lanes;
    soak_time least, most; /* bounds of the time of threads that had the lane */
} soak_figures;

/* Memory that the program shares with the reading process. */
typedef struct soak_page {
    _Atomic uint64_t ready, finished; /* written by the program */
    _Atomic uint64_t paused;          /* written by the program: rounds after which it paused */
    _Atomic uint64_t seen;            /* written by the reader: pauses it has checked */
    soak_figures figures;             /* at the pause */
    uint64_t most_live;               /* bytes that were live at any pause */
    _Atomic uint64_t threads, hand_overs, forks, signals; /* for the log */
} soak_page;

/* A hand-off that a lane has taken. */
typedef struct soak_token {
    cairn_handoff handoff;
    uint64_t span;    /* number of the span that took it, 0 if that is not recorded */
    uint32_t taker;   /* number of the lane that took it in this round; 0: see `context` */
    uint32_t number;  /* of the taker's tokens in this round */
    uint32_t context; /* the reference's, once it is known */
} soak_token;

/* An allocation. */
typedef struct soak_block {
    void *at; /* NULL: none */
    size_t size;
    bool counted;
} soak_block;

/* Tokens and blocks that lanes pass to each other. */
typedef struct soak_shared {
    pthread_mutex_t lock; /* protects the two below */
    soak_token tokens[SOAK_PASSED];
    soak_block blocks[SOAK_PASSED];
    cairn_key parent; /* the key of SOAK_PARENT */
    bool follows;     /* not before the first round: then threads begin to follow all at once */
    atomic_int wrong;
} soak_shared;

/* An adoption, for the reference: its token. */
typedef struct soak_adopted {
    uint32_t taker, number, context; /* as in soak_token */
    bool none;                       /* there was no token */
} soak_adopted;

/* Hand-offs of a round, as a lane's thread and its reference tell each other. */
typedef struct soak_journal {
    soak_adopted *adopted; /* by the thread */
    unsigned adopted_count, adopted_seen;
    uint32_t *taken; /* by the reference: contexts of the tokens */
    unsigned taken_count;
} soak_journal;

/* An open span or an adoption. */
typedef struct soak_open {
    uint64_t span; /* number of the span, 0 if it is not recorded; of an adoption: of the taker */
    size_t height; /* of the stack below it */
    bool adoption;
} soak_open;

/* A lane's sequence of events, decided by its seed. It is played twice: to Cairn, by the thread
 * that has the lane, and to the reference, while all threads pause. */
typedef struct soak_actor {
    random_source random;
    uint32_t number; /* from 1 */
    unsigned active; /* the current strand */
    uint64_t marks[SOAK_STRANDS][SOAK_MARKS];
    size_t depth[SOAK_STRANDS];
    soak_open open[SOAK_STRANDS][SOAK_OPEN_MOST];
    unsigned open_count[SOAK_STRANDS];
    uint64_t begun; /* spans */
    uint32_t taken; /* tokens in this round */
    soak_block blocks[SOAK_HELD];
    soak_figures did;
    uint64_t verbs; /* enters, replaces and leaves */
    soak_shared *shared;
    soak_journal *journals; /* of all lanes, by number */
    /* Cairn's objects; NULL if the events go to the reference. */
    cairn_profile *profile;
    const cairn_metric *metrics;
    cairn_lane *lane;
    cairn_strand *strands[SOAK_STRANDS];
    bool in_child; /* of fork: passes nothing to other lanes */
    /* Clocks around the last taking of the lane. */
    soak_time taken_before, taken_after;
    bool taking; /* no event has used the lane since it was taken */
    /* The reference's objects. */
    reference_graph *graph;
    reference_strand references[SOAK_STRANDS];
} soak_actor;

void soak_actor_start(soak_actor *actor, bool recording);
void soak_actor_end(soak_actor *actor, bool recording);
/* Returns the number of steps left: the reference stops at the adoption of a token that its taker's
 * reference has not taken yet. */
unsigned soak_actor_walk(soak_actor *actor, unsigned steps, bool recording);

/* A thread takes the lane, and hands it over. */
void soak_actor_take(soak_actor *actor);
void soak_actor_give(soak_actor *actor, bool recording);

uint64_t soak_now(void);

/* Events of the actor's current strand. */
void soak_enter(soak_actor *actor, uint32_t block, bool recording);
void soak_unwind(soak_actor *actor, size_t mark);

/* ---- soak_spans.c ---- */

static inline uint32_t soak_block_of(uint64_t span)
{
    return 1 + (uint32_t)(span % SOAK_BLOCKS);
}

/* Two sets of spans with the same sum of these are equal, but for a tiny chance. */
static inline uint64_t soak_span_hash(uint64_t span)
{
    return random_next(&(random_source){span});
}

void soak_span_begin(soak_actor *actor, bool recording);
/* Ends the innermost open span or adoption. */
void soak_span_end(soak_actor *actor);
/* Returns the height at which a leave would end the innermost open span or adoption; 0: there is
 * none. */
size_t soak_spans_height(const soak_actor *actor);
/* Forgets the current strand's spans and adoptions above `height`, which Cairn has ended. */
void soak_spans_unwound(soak_actor *actor, unsigned which, size_t height);
void soak_token_take(soak_actor *actor, uint32_t choice);
/* False: the reference does not know the token's context yet. */
bool soak_token_adopt(soak_actor *actor, uint32_t choice);
/* Between two rounds, when the references have walked: looks up the contexts of all tokens. */
void soak_tokens_settle(soak_shared *shared, soak_journal *journals, unsigned count);

/* ---- soak_allocations.c ---- */

/* Charges the thread's allocations to the strand; NULL: to none. */
void soak_follow(soak_actor *actor, cairn_strand *strand);
/* Allocates, resizes or frees one of the actor's allocations. */
void soak_allocate(soak_actor *actor, uint32_t choice, bool recording);
/* Passes an allocation on to any lane, and frees what had its place. */
void soak_pass_on(soak_actor *actor, uint32_t choice);
/* In a child of fork: Cairn does not count what the parent has allocated. */
void soak_allocations_forget(soak_actor *actor);
/* Frees all of the actor's allocations, and those that were passed on. Thread: the only one. */
void soak_allocations_end(soak_actor *actor);

/* ---- soak_trace.c ---- */

/* In the reading process: compares the capture's spans with the figures of a pause; with NULL, only
 * with themselves. `last`: only the last spans are kept. */
bool soak_trace_holds(const char *path, const soak_figures *figures, bool last, difference *found);

/* The profiled program. Returns its exit status. */
int soak_program(const soak_options *options, soak_page *page);

#endif
