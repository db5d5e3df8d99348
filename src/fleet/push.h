/* SPDX-License-Identifier: MIT
 *
 * push.h - sends a capture as rows. The same capture sent twice, or in part and then again, counts
 * once: ids are of the content, and the row of `runs`, which makes a run visible, is sent last.
 */
#ifndef CRN_FLEET_PUSH_H
#define CRN_FLEET_PUSH_H

#include "fleet/database.h"
#include "profile/profile.h"
#include "spans/spans.h"

typedef struct crn_push_label {
    const char *key, *value;
} crn_push_label;

/* What was sent of a capture, so that the next push sends only what is new. */
typedef struct crn_push_state crn_push_state;

crn_push_state *crn_push_state_new(void);
void crn_push_state_free(crn_push_state *state);

typedef struct crn_push_options {
    const crn_push_label *labels; /* "service", "version" and "host" have columns of their own */
    size_t label_count;
    crn_push_state *state; /* of earlier pushes of this capture; NULL: send everything */
    void (*progress)(uint64_t done, uint64_t total); /* or NULL */
} crn_push_options;

typedef struct crn_push_sum {
    crn_fleet_id run;
    uint64_t rows, bytes; /* that are sent; 0 rows: nothing was new */
} crn_push_sum;

/* Rows of captures that wait to be sent together. */
typedef struct crn_push_batch crn_push_batch;

crn_push_batch *crn_push_batch_new(crn_database *database);
void crn_push_batch_free(crn_push_batch *batch);

/* Adds a profile and the spans of the same capture (`recorded` is the profile that their blocks
 * refer to; both NULL: none), and sends what fills insertions. Memory: of contexts 40 bytes each,
 * of everything else 24 MiB. On an error all captures of the batch are out of it, and are to be
 * pushed again. options->state must live until the batch is sent. */
bool crn_push(crn_push_batch *batch, const crn_profile *profile, const crn_profile *recorded,
              crn_span_store *spans, const crn_push_options *options, crn_push_sum *sum,
              crn_error *error);

/* Returns the number of rows that wait. */
size_t crn_push_batch_waiting(const crn_push_batch *batch);

/* Sends what waits; the rows of `runs`, which make the captures visible, last. On an error all
 * captures of the batch are to be pushed again; `*reached`, unless NULL, is set to true if the
 * database may show them nevertheless. */
bool crn_push_batch_send(crn_push_batch *batch, bool *reached, crn_error *error);

/* Returns the label's value, or `otherwise`. */
const char *crn_push_label_of(const crn_push_options *options, const char *key,
                              const char *otherwise);

#endif
