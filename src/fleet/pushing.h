/* SPDX-License-Identifier: MIT
 *
 * pushing.h - state of a push, shared by the parts that send contexts and spans.
 */
#ifndef CRN_FLEET_PUSHING_H
#define CRN_FLEET_PUSHING_H

#include "fleet/batch.h"
#include "fleet/ids.h"
#include "fleet/push_state.h"

typedef struct crn_pushing {
    crn_push_batch *batch;
    const crn_profile *profile;
    const crn_push_options *options;
    crn_error *error;
    const char *service;
    uint16_t day;      /* days since 1970 */
    uint32_t started;  /* seconds since 1970 */
    uint32_t at;       /* seconds since 1970 when the capture was last recorded into */
    uint64_t recorded; /* ns recorded until `at`. Of two rows with one key, the database keeps the
                          one with the larger value, so that no machine's clock matters */
    uint8_t level;     /* contexts are divided into 1 << level parts, by the first bits of their
                          ids */
    uint64_t done, total; /* of the progress: contexts and spans */
    crn_fleet_ids ids;
} crn_pushing;

/* Returns true if the metric's figures are sent. Calls are always sent: their rows name the
 * shapes. */
static inline bool crn_pushing_has(const crn_profile *profile, uint32_t metric)
{
    return metric == CRN_METRIC_CALLS || profile->values[metric];
}

/* Begins a row of the table with the columns service, day, run. Returns the table's rows. */
crn_rows *crn_pushing_row(const crn_pushing *pushing, crn_batch_table table);

/* Ends the row that began at `start`. Removes it if it equals the last row of its number; otherwise
 * keeps it, with the column `recorded` if `dated`. */
void crn_pushing_end(crn_pushing *pushing, crn_rows *rows, size_t start, crn_pushed_table table,
                     size_t number, bool dated);

/* Sends the table's rows if they fill an insertion. Returns false on an error. */
bool crn_pushing_send(crn_pushing *pushing, crn_batch_table table);

/* Adds contexts or spans to the progress. */
void crn_pushing_did(crn_pushing *pushing, uint64_t done);

/* Sends the blocks of the profile. */
bool crn_push_blocks(crn_pushing *pushing);
/* Sends blocks, contexts, figures and edges. */
bool crn_push_contexts(crn_pushing *pushing);
/* Adds the columns lane and span. Spans are numbered within their lanes from 1; 0 stands for
 * CRN_SPAN_NONE. */
void crn_pushing_span(crn_rows *rows, const crn_span_store *store, uint32_t span);

/* Numbers in the column `lost` of `runs`: spans dropped, those dropped for a limit, those dropped
 * because space was late; spans overwritten; spans skipped as their trees were not sampled, trees
 * skipped; attributes and edges dropped; spans in no histogram. */
enum { CRN_LOST_COUNTS = 8 };
/* Adds the columns lost, origins and histograms of `runs`. `store` may be NULL. */
void crn_push_lost(crn_rows *rows, const crn_span_store *store);

/* Sends histograms, processes, parents in other processes, counters, events and off-core times. */
bool crn_push_details(crn_pushing *pushing, const crn_profile *recorded,
                      const crn_span_store *store);
/* Sends spans and their edges. */
bool crn_push_spans(crn_pushing *pushing, const crn_profile *recorded, crn_span_store *spans);

#endif
