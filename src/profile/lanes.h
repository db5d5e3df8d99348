/* SPDX-License-Identifier: MIT
 *
 * lanes.h - the state of each lane of a capture, and the search for the capture that a process
 * writes.
 */
#ifndef CRN_PROFILE_LANES_H
#define CRN_PROFILE_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct crn_lane_info {
    uint32_t number;
    char name[64];    /* "": unnamed; not sanitised */
    bool open;        /* a thread uses it */
    uint32_t current; /* the last published current block; 0: the root */
    uint64_t strands, samples;
    uint64_t calls, ticks, wall, cpu; /* sums over its contexts; times in ns. Wall extends to the
                                         capture's newest moment, even if the thread waits */
} crn_lane_info;

typedef struct crn_lanes {
    uint32_t count;
    crn_lane_info *lanes; /* sorted by number */
} crn_lanes;

/* Loads all lanes that a thread ever used. On an error returns false and sets `*error`. */
bool crn_lanes_load(crn_lanes *lanes, const char *path, crn_error *error);
void crn_lanes_free(crn_lanes *lanes);

/* Returns the path of the capture that process `pid` has mapped; free it with crn_free. If it finds
 * no readable capture, returns NULL and sets `*error`. */
char *crn_capture_of(long pid, crn_error *error);

#endif
