/* SPDX-License-Identifier: MIT
 *
 * workloads.h - programs made of calls and little else, each in three versions: as it is,
 * with enter and leave, and with enter, one tick and leave.
 */
#ifndef BENCH_WORKLOADS_H
#define BENCH_WORKLOADS_H

#include <cairn/cairn.h>

#include <stdint.h>

typedef enum version { VERSION_PLAIN, VERSION_CALLS, VERSION_TICKS, VERSIONS } version;

typedef struct workload {
    const char *name;
    const char *what;
    /* Runs a slice: a millisecond or so. Every version makes the same calls in a turn. */
    void (*run)(version kind, uint32_t turn);
    /* How many calls that are. */
    uint64_t (*calls)(uint32_t turn);
} workload;

extern const workload workloads[];
extern const unsigned workload_count;

/* What the instrumented versions record into; NULL is allowed. */
extern cairn_strand *workload_strand;

/* The blocks that the workloads enter are 1 to WORKLOAD_BLOCKS. */
enum { WORKLOAD_BLOCKS = 100 };

#endif
