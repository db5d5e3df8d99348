/* SPDX-License-Identifier: MIT
 *
 * round.h - sends several captures together, in large insertions, and reports the result of each.
 */
#ifndef CRN_CLI_FLEET_ROUND_H
#define CRN_CLI_FLEET_ROUND_H

#include "fleet.h"

/* The result of pushing one capture. */
typedef struct crn_round_result {
    const char *path;
    void *item; /* as given to crn_round_add */
    const crn_fleet_sent *sent;
    const crn_error *error; /* NULL: the capture was sent */
    bool reached;           /* the database may show it, even after an error */
} crn_round_result;

typedef void crn_round_done(void *data, const crn_round_result *result);

typedef struct crn_round crn_round;

/* Makes a round. It calls `done` with `data` once for each capture that is added. */
crn_round *crn_round_new(crn_database *database, crn_fleet_labels *labels, crn_round_done *done,
                         void *data);

/* Adds a capture, or what is new since `state`, which may be NULL and must live until `done`. Sends
 * waiting captures once they have 10,000 rows. `metrics` may be NULL. Returns false if the server
 * takes nothing: whatever else is added would fail, too. */
bool crn_round_add(crn_round *round, const char *path, crn_push_state *state,
                   struct crn_metrics_lines *metrics, void *item);

/* Sends waiting captures and frees the round. Returns false if any capture was not sent. `*takes`
 * (may be NULL) becomes false if the server takes nothing. */
bool crn_round_end(crn_round *round, bool *takes);

#endif
