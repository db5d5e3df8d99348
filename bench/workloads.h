/* SPDX-License-Identifier: MIT
 *
 * workloads.h - programs made of calls and little else, each in several versions: as it is,
 * with enter and leave, with enter, one tick and leave; and the same with a strand that keeps
 * only its stack, left by cairn_stack_leave or by going back to a mark.
 */
#ifndef BENCH_WORKLOADS_H
#define BENCH_WORKLOADS_H

#include <cairn/cairn.h>

#include <stdint.h>

typedef enum version {
    VERSION_PLAIN,
    VERSION_CALLS,
    VERSION_TICKS,
    VERSION_STACK,
    VERSION_MARKS,
    VERSION_STACK_TICKS, /* by marks */
    VERSIONS
} version;

typedef struct workload {
    const char *name;
    const char *what;
    /* Runs a slice: a millisecond or so. Every version makes the same calls in a turn. */
    void (*run)(version kind, uint32_t turn);
    /* Returns the number of calls. */
    uint64_t (*calls)(uint32_t turn);
} workload;

extern const workload workloads[];
extern const unsigned workload_count;

/* The strand that the instrumented versions record into; may be NULL. */
extern cairn_strand *workload_strand;
extern cairn_stack *workload_stack;

/* The blocks that the workloads enter are 1 to WORKLOAD_BLOCKS. */
enum { WORKLOAD_BLOCKS = 100 };

#endif
