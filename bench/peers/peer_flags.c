/* SPDX-License-Identifier: MIT
 *
 * peer_flags.c - profilers that need nothing but their compiler flags or their own command:
 * gprof, uftrace, callgrind, XRay's profiling mode.
 */
#include "peer.h"

/* bench/workloads.c compiled a second time, with the flags and under this name. */
extern const workload profiled_workloads[];
const workload *const peer_workloads = profiled_workloads;

version peer_begin(const char *mode)
{
    (void)mode;
    return VERSION_PLAIN;
}

void peer_end(void)
{
}
