/* SPDX-License-Identifier: MIT
 *
 * peer.h - what each peer_*.c defines: a profiler's set-up inside the profiled program.
 */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include "workloads.h"

/* The workloads as the profiler sees them: compiled with its flags, or instrumented by hand. */
extern const workload *const peer_workloads;

/* Starts to record in the way that `mode` names; returns which version of a workload to run. */
version peer_begin(const char *mode);
void peer_end(void);

#endif
