/* SPDX-License-Identifier: MIT
 *
 * push_state.h - remembers what was sent of a capture.
 */
#ifndef CRN_FLEET_PUSH_STATE_H
#define CRN_FLEET_PUSH_STATE_H

#include "fleet/push.h"

/* Tables whose rows have numbers. A row is sent only if it differs from the last row of its
 * number. */
typedef enum crn_pushed_table {
    CRN_PUSHED_BLOCKS,        /* by block */
    CRN_PUSHED_SHAPES,        /* by part */
    CRN_PUSHED_FIGURES,       /* by part and metric */
    CRN_PUSHED_EDGES,         /* by part */
    CRN_PUSHED_BLOCK_FIGURES, /* by metric */
    CRN_PUSHED_HISTOGRAMS,    /* by their position */
    CRN_PUSHED_PROCESSES,
    CRN_PUSHED_REMOTES,
    CRN_PUSHED_COUNTERS,
    CRN_PUSHED_EVENTS,
    CRN_PUSHED_OFF_CORE,
    CRN_PUSHED_TABLES
} crn_pushed_table;

/* Spans of a lane that were sent: the first `count`. `open` lists those that had not ended. */
typedef struct crn_pushed_lane {
    uint32_t count, open_count, open_room;
    uint32_t *open; /* numbers within the lane, ascending */
} crn_pushed_lane;

struct crn_push_state {
    uint8_t level; /* of the division of contexts into parts (pushing.h) */
    struct crn_pushed_hashes {
        crn_fleet_id *hashes; /* by number: of the last row that was sent */
        size_t count;
    } tables[CRN_PUSHED_TABLES];
    uint32_t lane_count, edge_count; /* edge_count: of the edges between spans that were sent */
    crn_pushed_lane *lanes;
};

/* Remembers the shapes of all parts as sent. */
void crn_push_state_keep_shapes(crn_push_state *state, const crn_fleet_id *shapes, size_t count);
/* Returns true if the last row of the number had another hash. Remembers `hash`. */
bool crn_push_state_is_new(crn_push_state *state, const crn_fleet_id *hash, crn_pushed_table table,
                           size_t number);
/* Forgets all that was sent. */
void crn_push_state_forget(crn_push_state *state);

#endif
