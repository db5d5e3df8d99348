/* SPDX-License-Identifier: MIT
 *
 * peer_xray.c - XRay. Mode "empty" installs an empty handler: the least cost of any profiler built
 * on it. Any other mode is the configuration of XRay's profiling mode.
 */
#include "peer.h"
#include "xray.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const workload profiled_workloads[];
const workload *const peer_workloads = profiled_workloads;

static void handle(int32_t function, int kind)
{
    (void)function;
    (void)kind;
}

version peer_begin(const char *mode)
{
    bool empty = strcmp(mode, "empty") == 0;
    bool ready = empty ? __xray_set_handler(handle) && __xray_patch() == XRAY_PATCHED
                       : xray_profiling_begin(mode);
    if (!ready) {
        fprintf(stderr, "peer_xray: the program could not be patched\n");
        exit(1);
    }
    return VERSION_PLAIN;
}

void peer_end(void)
{
    __xray_unpatch();
}
