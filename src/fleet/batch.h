/* SPDX-License-Identifier: MIT
 *
 * batch.h - rows of captures that wait to be sent, by table. They are collected until an insertion
 * is large: a server that gets many small insertions falls behind in merging them.
 */
#ifndef CRN_FLEET_BATCH_H
#define CRN_FLEET_BATCH_H

#include "base/interning.h"
#include "fleet/push.h"

/* Tables in the order in which they are sent: a shape in the database means that its contexts are
 * there, and a row of `runs` that all other rows of the run are. */
typedef enum crn_batch_table {
    CRN_BATCH_BLOCKS,
    CRN_BATCH_CONTEXTS,
    CRN_BATCH_SHAPES,
    CRN_BATCH_FIGURES,
    CRN_BATCH_EDGES,
    CRN_BATCH_BLOCK_FIGURES,
    CRN_BATCH_SPANS,
    CRN_BATCH_SPAN_EDGES,
    CRN_BATCH_HISTOGRAMS,
    CRN_BATCH_PROCESSES,
    CRN_BATCH_REMOTE_PARENTS,
    CRN_BATCH_COUNTERS,
    CRN_BATCH_EVENTS,
    CRN_BATCH_OFF_CORE,
    CRN_BATCH_RUNS,
    CRN_BATCH_TABLES
} crn_batch_table;

struct crn_push_batch {
    crn_database *database;
    crn_rows tables[CRN_BATCH_TABLES];
    uint64_t rows, bytes; /* sent so far */
    crn_interning *known; /* blocks and shapes whose rows are in the batch */
    uint32_t known_count;
    bool mute; /* ask nothing, as a query failed: the user may only insert, or the server
                  is away */
    crn_push_state **states; /* of the captures in the batch */
    size_t state_count, state_room;
};

/* Returns true if the batch has not seen the bytes before, and remembers them. */
bool crn_batch_is_new(crn_push_batch *batch, const void *bytes, size_t size);

/* Sends the table's rows if they fill an insertion. If the whole batch is too large, sends all rows
 * but those of `runs`. Returns false on an error. */
bool crn_batch_grew(crn_push_batch *batch, crn_batch_table table, crn_error *error);

/* Counts the rows of the batch, sent and not, and their bytes. */
void crn_batch_count(const crn_push_batch *batch, uint64_t *rows, uint64_t *bytes);

/* Remembers the state of a capture in the batch. `state` may be NULL. */
void crn_batch_add_state(crn_push_batch *batch, crn_push_state *state);

/* Drops all rows that were not sent. Makes the states forget all that was sent, so that the
 * captures are sent again. */
void crn_batch_drop(crn_push_batch *batch);

#endif
