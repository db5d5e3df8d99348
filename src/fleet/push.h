/* SPDX-License-Identifier: MIT
 *
 * push.h - sends a capture as rows. A capture that is sent twice, or in part and then again, counts
 * once: ids are hashes of the content, and the row of `runs`, which makes a run visible, is sent
 * last.
 */
#ifndef CRN_FLEET_PUSH_H
#define CRN_FLEET_PUSH_H

#include "fleet/database.h"
#include "profile/profile.h"
#include "spans/spans.h"

typedef struct crn_push_label {
    const char *key, *value;
} crn_push_label;

/* The part of a capture that was sent. The next push sends only what is new. */
typedef struct crn_push_state crn_push_state;

crn_push_state *crn_push_state_new(void);
void crn_push_state_free(crn_push_state *state);

typedef struct crn_push_options {
    const crn_push_label *labels; /* "service", "version" and "host" have columns of their own */
    size_t label_count;
    crn_push_state *state; /* what earlier pushes of this capture sent; NULL: send everything */
    void (*progress)(uint64_t done, uint64_t total); /* or NULL */
} crn_push_options;

typedef struct crn_push_sum {
    crn_fleet_id run;
    uint64_t rows, bytes; /* of this push; no rows if nothing was new */
} crn_push_sum;

/* Rows of captures that wait to be sent together. */
typedef struct crn_push_batch crn_push_batch;

crn_push_batch *crn_push_batch_new(crn_database *database);
void crn_push_batch_free(crn_push_batch *batch);

/* Adds a profile to the batch, and the spans of the same capture, whose blocks are those of
 * `recorded`; `spans` and `recorded` may both be NULL. Sends rows that fill insertions. Takes 40
 * bytes a context and 24 MiB. On an error the batch becomes empty: push all its captures again.
 * options->state must live until the batch is sent. */
bool crn_push(crn_push_batch *batch, const crn_profile *profile, const crn_profile *recorded,
              crn_span_store *spans, const crn_push_options *options, crn_push_sum *sum,
              crn_error *error);

/* Returns the number of rows that were not sent yet. */
size_t crn_push_batch_waiting(const crn_push_batch *batch);

/* Sends the rest of the batch; last the rows of `runs`, which make the captures visible. On an
 * error, push all captures of the batch again; sets `*reached`, unless NULL, to true if the
 * database may already show them. */
bool crn_push_batch_send(crn_push_batch *batch, bool *reached, crn_error *error);

/* Returns the label's value; `otherwise` if the label is not given. */
const char *crn_push_label_of(const crn_push_options *options, const char *key,
                              const char *otherwise);

#endif
