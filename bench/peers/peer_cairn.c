/* SPDX-License-Identifier: MIT
 *
 * peer_cairn.c - Cairn, through its C API; the modes are ticks, sampled and exact.
 */
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const workload *const peer_workloads = workloads;

static cairn_profile *profile;

version peer_begin(const char *mode)
{
    bool ticks = strcmp(mode, "ticks") == 0;
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path = "peers.cairn";
    options.wall = ticks                        ? CAIRN_WALL_OFF
                   : strcmp(mode, "exact") == 0 ? CAIRN_WALL_EXACT
                                                : CAIRN_WALL_SAMPLED;
    cairn_error error = cairn_profile_open(&profile, &options);
    if (error) {
        fprintf(stderr, "peer_cairn: %s\n", cairn_error_text(error));
        exit(1);
    }
    for (int i = 1; i <= WORKLOAD_BLOCKS; i++)
        cairn_block_add(profile, &(cairn_block_info){.name = "block"});
    workload_strand = cairn_strand_open(cairn_lane_open(profile, "peers"));
    return ticks ? VERSION_TICKS : VERSION_CALLS;
}

void peer_end(void)
{
    workload_strand = NULL;
    cairn_profile_close(profile);
}
