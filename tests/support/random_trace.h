/* SPDX-License-Identifier: MIT
 *
 * random_trace.h - spans made up, as several processes on several machines could have recorded
 * them, whose clocks are wrong; and whether two traces are the same.
 */
#ifndef TESTS_SUPPORT_RANDOM_TRACE_H
#define TESTS_SUPPORT_RANDOM_TRACE_H

#include "spans/spans.h"
#include "support/difference.h"
#include "support/random.h"

enum { RANDOM_PROCESSES = 6, RANDOM_MACHINES = 3, RANDOM_BLOCKS = 7 };

/* One world: what really happened, and what each process's capture says of it. */
typedef struct random_world {
    uint32_t count;
    crn_trace *traces[RANDOM_PROCESSES];
    int machine[RANDOM_PROCESSES];
    uint64_t began[RANDOM_PROCESSES]; /* ns, in truth */
} random_world;

/* `spans` at most in each process. What asked for a span from elsewhere began before it, in
 * truth. `skew`: by so many ns at most each machine's CLOCK_REALTIME is wrong. */
random_world random_world_make(random_source *random, uint32_t processes, uint32_t spans,
                               uint64_t skew);
void random_world_free(random_world *world);

/* A trace of one process. To be freed with crn_trace_free. */
crn_trace *random_trace(random_source *random, uint32_t spans);

/* Whether they hold the same: each span with its times, parent, attributes by their names, and
 * edges; lanes, processes, what was dropped. Else `found` says what differs first. */
bool traces_are_equal(const crn_trace *left, const crn_trace *right, difference *found);

#endif
