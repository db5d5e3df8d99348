/* SPDX-License-Identifier: MIT
 *
 * runtime.h - what the parts of the runtime share.
 *
 * A lane is written by its owner alone. Another thread that wants something of it (the
 * sampler, cairn_profile_disable) stores what it wants and then sets the stack limits of
 * the strand that runs, so that the owner's next event comes through the slow path.
 * Lanes and strands are never freed before the profile is: storing into one that has been
 * closed meanwhile is harmless.
 */
#ifndef CRN_RUNTIME_RUNTIME_H
#define CRN_RUNTIME_RUNTIME_H

#include <pthread.h>

#include <cairn/cairn.h>

#include "capture/writer.h"
#include "graph/graph.h"
#include "plat/clock.h"

typedef enum crn_mode {
    CRN_MODE_OFF = 0,   /* stacks are kept, nothing is counted */
    CRN_MODE_COUNT = 1, /* the fast path does it */
    CRN_MODE_EXACT = 2  /* the clock is read at every event */
} crn_mode;

typedef struct crn_sampler {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool running, stop;
} crn_sampler;

struct cairn_profile {
    crn_capture capture;
    crn_section strings, blocks, metrics, notes; /* under lock */
    pthread_mutex_t lock;
    uint32_t block_count, lane_count; /* under lock */
    uint32_t metric_count;            /* changes under lock; atomic */
    cairn_lane *lanes;                /* newest first; only ever grows */
    bool tsc;
    crn_mode mode;         /* atomic */
    crn_mode mode_on;      /* what enabling brings back */
    uint64_t turned;       /* how often it was switched on or off; atomic */
    uint64_t turned_at[2]; /* clock: last turn to off, to on */
    cairn_error stopped;   /* atomic */
    double clock_per_ns;
    cairn_wall wall;
    uint64_t wall_period_ns, tick_period, seed;
    uint32_t path_limit, context_budget;
    crn_sampler sampler;
    cairn_profile *next; /* of all profiles of the process, for fork */
};

struct cairn_lane {
    crn_graph graph; /* first: its first member is what the hot path sees */
    cairn_profile *profile;
    crn_section links, records;
    crn_section *columns[CAIRN_METRIC_MAX];
    crn_disk_lane *disk;   /* at the base of links */
    cairn_strand *running; /* atomic: the sampler reads it */
    cairn_strand *strands; /* open ones, a list */
    cairn_strand *spare;   /* closed ones */
    uint64_t due;          /* clock of a sample that is to be taken, 0 if none; atomic */
    uint64_t turned;       /* profile's, when it was last looked at */
    bool open;
    uint32_t number;
    uint64_t random;        /* state of the tick sampler's generator */
    uint64_t tick_point;    /* where in its interval the next sample of ticks is */
    uint64_t tick_interval; /* index of that interval */
    uint32_t tick_waiting;  /* record that the last sample hit, 0 if none */
    cairn_lane *next;       /* of the profile */
};

struct cairn_strand {
    cairn_priv_strand hot; /* first */
    uint32_t *stack;       /* stack[0] is not used: leave must fall short of it */
    uint32_t *end;
    size_t lost; /* frames that there was no memory for, on top of the stack */
    cairn_strand *next, *previous;
    bool open;
};

static inline cairn_lane *crn_lane_of(const cairn_strand *strand)
{
    return (cairn_lane *)strand->hot.lane;
}

static inline uint32_t crn_strand_record(const cairn_strand *strand)
{
    return (uint32_t)(strand->hot.current / CRN_RECORD_UNITS);
}

static inline crn_mode crn_profile_mode(const cairn_profile *profile)
{
    return __atomic_load_n(&profile->mode, __ATOMIC_ACQUIRE);
}

/* Remembers why recording is not whole; the first reason holds. */
void crn_profile_stop(cairn_profile *profile, cairn_error error);

/* Stores the clock's calibration. One caller at a time. */
void crn_profile_moment(cairn_profile *profile);

/* The string's offset in the capture, 0 for "" or when there is no room. Under lock. */
uint32_t crn_profile_string(cairn_profile *profile, const char *text);

/* Adds a lane that is not open yet; frees one. Under the profile's lock. */
cairn_lane *crn_lane_new(cairn_profile *profile);
void crn_lane_free(cairn_lane *lane);

/* Adds to a column of a lane, making it if need be. */
void crn_lane_charge(cairn_lane *lane, uint32_t record, cairn_metric metric, uint64_t amount);

/* What happened since the last slow event: a turn on or off, a sample that is due, exact
 * time. Charges the context that runs. */
void crn_lane_settle(cairn_lane *lane);

/* Charges the wall time since the last sample to what runs. */
void crn_lane_charge_rest(cairn_lane *lane);

/* Begins the intervals that ticks are sampled in, once for all that use a lane one after the
 * other: short lives would else be mostly intervals that are cut short. Charges what is left
 * of the last one, at the very end. */
void crn_ticks_begin(cairn_lane *lane);
uint64_t crn_ticks_mode(const cairn_profile *profile);
void crn_ticks_finish(cairn_lane *lane);

/* Sets the stack limits: tight, so that the next event is slow, or as the stack is. */
void crn_strand_arm(cairn_strand *strand);
void crn_strand_rest(cairn_strand *strand);
bool crn_strand_grow(cairn_strand *strand);

/* The thread that says when samples are due. */
cairn_error crn_sampler_start(cairn_profile *profile);
void crn_sampler_stop(cairn_profile *profile);

/* Nanoseconds that a call and its return cost the program; 0 if there is no memory to try. */
double crn_cost_of_call(cairn_profile *profile);

/* Keeps profiles out of the children of a fork. */
void crn_fork_add(cairn_profile *profile);
void crn_fork_remove(cairn_profile *profile);

#endif
