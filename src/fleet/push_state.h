/* SPDX-License-Identifier: MIT
 *
 * push_state.h - what was sent of a capture.
 */
#ifndef CRN_FLEET_PUSH_STATE_H
#define CRN_FLEET_PUSH_STATE_H

#include "fleet/push.h"

/* Tables whose rows are known by a number of their own, and sent only if they differ from the last
 * time. */
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

/* A lane's spans that were sent: those below `count`, and those of them that had not ended. */
typedef struct crn_pushed_lane {
    uint32_t count, open_count, open_room;
    uint32_t *open; /* numbers within the lane, ascending */
} crn_pushed_lane;

struct crn_push_state {
    uint8_t level;
    struct crn_pushed_hashes {
        crn_fleet_id *hashes; /* of the last rows that were sent, by number */
        size_t count;
    } tables[CRN_PUSHED_TABLES];
    uint32_t lane_count, edge_count;
    crn_pushed_lane *lanes;
};

/* Remembers the shapes of all parts as sent. */
void crn_push_state_keep_shapes(crn_push_state *state, const crn_fleet_id *shapes, size_t count);
/* Returns true if this hash is not that of the last row of this number, and remembers it. */
bool crn_push_state_is_new(crn_push_state *state, const crn_fleet_id *hash, crn_pushed_table table,
                           size_t number);
/* Forgets what was sent. */
void crn_push_state_forget(crn_push_state *state);

#endif
