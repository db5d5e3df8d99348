/* SPDX-License-Identifier: MIT
 *
 * random_trace.h - random spans of several processes on machines with wrong clocks; comparison of
 * traces.
 */
#ifndef TESTS_SUPPORT_RANDOM_TRACE_H
#define TESTS_SUPPORT_RANDOM_TRACE_H

#include "spans/spans.h"
#include "support/difference.h"
#include "support/random.h"

enum { RANDOM_PROCESSES = 6, RANDOM_MACHINES = 3, RANDOM_BLOCKS = 7 };

/* Processes with their true times and the traces of their captures. */
typedef struct random_world {
    uint32_t count;
    crn_trace *traces[RANDOM_PROCESSES];
    int machine[RANDOM_PROCESSES];
    uint64_t began[RANDOM_PROCESSES]; /* true time, ns */
} random_world;

/* Makes at most `spans` spans in each process. A span that asks another began before it in true
 * time. Each machine's CLOCK_REALTIME is wrong by up to `skew` ns. */
random_world random_world_make(random_source *random, uint32_t processes, uint32_t spans,
                               uint64_t skew);
void random_world_free(random_world *world);

/* Makes a profile with the blocks of such spans. */
crn_profile *random_trace_profile(void);

/* Makes a trace of one process. Free it with crn_trace_free. */
crn_trace *random_trace(random_source *random, uint32_t spans);

/* Returns true if both have the same spans (times, parents, attributes by name), edges, lanes,
 * processes and losses. Otherwise `found` describes the first difference. */
bool traces_are_equal(const crn_trace *left, const crn_trace *right, difference *found);

#endif
