/* SPDX-License-Identifier: MIT
 *
 * soak.h - everything at once; see soak.c.
 */
#ifndef TESTS_STRESS_SOAK_H
#define TESTS_STRESS_SOAK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <cairn/cairn.h>

#include "support/random.h"
#include "support/reference.h"

enum {
    SOAK_BLOCKS = 5,
    SOAK_PATH_LIMIT = 8,
    SOAK_STRANDS = 3, /* of a lane */
    SOAK_MARKS = 3,   /* strands of a lane */
    SOAK_THREADS_MOST = 64
};

typedef struct soak_options {
    uint64_t seed;
    unsigned seconds, threads, steps; /* marks of a strand */
    bool signals;
    bool forks, forks_alone; /* steps of each lane in a round */
    const char *path;
} soak_options;

/* Nanoseconds. */
typedef struct soak_time {
    uint64_t wall, cpu;
} soak_time;

/* Memory that the program shares with the reading process. */
typedef struct soak_page {
    _Atomic uint64_t ready, finished; /* written by the program */
    _Atomic uint64_t paused;          /* written by the program: rounds after which it paused */
    _Atomic uint64_t seen;            /* written by the reader: pauses it has checked */
    _Atomic uint64_t calls, ticks, user[REFERENCE_USER_METRICS]; /* at the pause */
    _Atomic uint64_t least_wall, most_wall, least_cpu, most_cpu; /* nanoseconds, at the pause */
    _Atomic uint64_t threads, hand_overs, forks, signals, lanes; /* for the log */
} soak_page;

/* A lane's sequence of events, decided by its seed. It is played twice: to Cairn, by the thread
 * that has the lane, and to the reference, while all threads pause. */
typedef struct soak_actor {
    random_source random;
    unsigned active; /* the current strand */
    uint64_t marks[SOAK_STRANDS][SOAK_MARKS];
    uint64_t calls, ticks, user[REFERENCE_USER_METRICS]; /* made while recording was on */
    uint64_t roots; /* of the calls, strands that were opened */
    uint64_t verbs; /* enters, replaces and leaves */
    uint64_t lanes;
    /* Cairn's objects; NULL if the events go to the reference. */
    cairn_profile *profile;
    const cairn_metric *metrics;
    cairn_lane *lane;
    cairn_strand *strands[SOAK_STRANDS];
    /* Clocks around the last taking of the lane, and bounds of all earlier times that it was taken
     * while recording was on. */
    soak_time taken_before, taken_after, least, most;
    bool taking; /* no event has used the lane since it was taken */
    /* The reference's objects. */
    reference_graph *graph;
    reference_strand references[SOAK_STRANDS];
} soak_actor;

void soak_actor_start(soak_actor *actor, bool recording);
void soak_actor_end(soak_actor *actor, bool recording);
void soak_actor_walk(soak_actor *actor, unsigned steps, bool recording);

/* A thread takes the lane, and hands it over. */
void soak_actor_take(soak_actor *actor);
void soak_actor_give(soak_actor *actor, bool recording);

uint64_t soak_now(void);

/* The profiled program. Returns its exit status. */
int soak_program(const soak_options *options, soak_page *page);

#endif
