/* SPDX-License-Identifier: MIT
 *
 * pushing.h - state of a push, shared by the parts that send contexts and spans.
 */
#ifndef CRN_FLEET_PUSHING_H
#define CRN_FLEET_PUSHING_H

#include "fleet/ids.h"
#include "fleet/push.h"

enum { CRN_BATCH_BYTES = 8 << 20 };

typedef struct crn_pushing {
    crn_database *database;
    const crn_profile *profile;
    const crn_push_options *options;
    crn_push_sum *sum;
    crn_error *error;
    const char *service;
    uint16_t day;     /* days since 1970 */
    uint32_t started; /* seconds since 1970 */
    uint64_t pushed;  /* ns since 1970: the later of two rows counts */
    uint8_t level;    /* contexts are in 1 << level parts, by the first bits of their ids */
    uint64_t done, total;
    crn_fleet_ids ids;
} crn_pushing;

/* Returns true if the metric's figures are sent. Calls always are: their rows name the shapes. */
static inline bool crn_pushing_has(const crn_profile *profile, uint32_t metric)
{
    return metric == CRN_METRIC_CALLS || profile->values[metric];
}

/* Begins a row with the columns service, day, run. */
void crn_pushing_row(const crn_pushing *pushing, crn_rows *rows);

/* Sends the rows and clears them, if they fill a batch or `last`. Returns false on an error. */
bool crn_pushing_send(crn_pushing *pushing, const char *into, crn_rows *rows, bool last);

/* Adds to the work that is done. */
void crn_pushing_did(crn_pushing *pushing, uint64_t done);

/* Sends the blocks of the profile. */
bool crn_push_blocks(crn_pushing *pushing);
/* Sends blocks, contexts, figures and edges. */
bool crn_push_contexts(crn_pushing *pushing);
/* Sends spans and their edges. */
bool crn_push_spans(crn_pushing *pushing, const crn_profile *recorded, crn_span_store *spans);

#endif
