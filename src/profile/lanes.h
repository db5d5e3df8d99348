/* SPDX-License-Identifier: MIT
 *
 * lanes.h - a capture lane by lane: what each did, and where it is. And which capture a
 * process is writing.
 */
#ifndef CRN_PROFILE_LANES_H
#define CRN_PROFILE_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct crn_lane_info {
    uint32_t number;
    char name[64];    /* "" if it has none; anything may be in it */
    bool open;        /* a thread has it */
    uint32_t current; /* block that ran when the lane last said so; 0 is the root */
    uint64_t strands, samples;
    uint64_t calls, ticks, wall, cpu; /* sums over its contexts; nanoseconds. Wall up to the
                                         capture's newest moment, also of a thread that waits */
} crn_lane_info;

typedef struct crn_lanes {
    uint32_t count;
    crn_lane_info *lanes; /* by number, rising */
} crn_lanes;

/* Lanes that never ran are left out. False, and `error`, when the capture cannot be read. */
bool crn_lanes_load(crn_lanes *lanes, const char *path, crn_error *error);
void crn_lanes_free(crn_lanes *lanes);

/* The path of the capture that process `pid` has mapped, to be freed with crn_free. NULL,
 * and `error`, when there is none that can be read. */
char *crn_capture_of(long pid, crn_error *error);

#endif
