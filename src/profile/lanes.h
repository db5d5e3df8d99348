/* SPDX-License-Identifier: MIT
 *
 * lanes.h - the state of each lane of a capture, and the capture that a process is writing.
 */
#ifndef CRN_PROFILE_LANES_H
#define CRN_PROFILE_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct crn_lane_info {
    uint32_t number;
    char name[64];    /* "" if it has none; not sanitised */
    bool open;        /* a thread uses it */
    uint32_t current; /* current block as last published; 0 is the root */
    uint64_t strands, samples;
    uint64_t calls, ticks, wall, cpu; /* sums over its contexts, in ns for times. Wall includes
                                         the time until the capture's newest moment, also of a
                                         waiting thread */
} crn_lane_info;

typedef struct crn_lanes {
    uint32_t count;
    crn_lane_info *lanes; /* sorted by number */
} crn_lanes;

/* Loads all lanes that ever ran. On an error returns false and sets `*error`. */
bool crn_lanes_load(crn_lanes *lanes, const char *path, crn_error *error);
void crn_lanes_free(crn_lanes *lanes);

/* Returns the path of the capture that process `pid` has mapped; free it with crn_free. NULL and
 * `*error` if there is none that can be read. */
char *crn_capture_of(long pid, crn_error *error);

#endif
