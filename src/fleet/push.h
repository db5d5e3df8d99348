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
    uint64_t rows, bytes; /* as sent; 0 rows: nothing was new */
} crn_push_sum;

/* Sends a profile and the spans of the same capture (`recorded` is the profile that their blocks
 * refer to; both NULL: none). Memory: of contexts 40 bytes each, of everything else one batch. */
bool crn_push(crn_database *database, const crn_profile *profile, const crn_profile *recorded,
              crn_span_store *spans, const crn_push_options *options, crn_push_sum *sum,
              crn_error *error);

/* Returns the label's value, or `otherwise`. */
const char *crn_push_label_of(const crn_push_options *options, const char *key,
                              const char *otherwise);

#endif
