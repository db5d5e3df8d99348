/* SPDX-License-Identifier: MIT
 *
 * round.h - sends several captures together, in large insertions, and tells what became of each.
 */
#ifndef CRN_CLI_FLEET_ROUND_H
#define CRN_CLI_FLEET_ROUND_H

#include "fleet.h"

/* A capture that was sent, or not. */
typedef struct crn_round_result {
    const char *path;
    void *item; /* as given */
    const crn_fleet_sent *sent;
    const crn_error *error; /* NULL: it was sent */
    bool reached;           /* the database may show it, even after an error */
} crn_round_result;

typedef void crn_round_done(void *data, const crn_round_result *result);

typedef struct crn_round crn_round;

/* `done` is called with `data` once for each capture that is added. */
crn_round *crn_round_new(crn_database *database, crn_fleet_labels *labels, crn_round_done *done,
                         void *data);

/* Adds a capture, or what is new since `state`, which may be NULL and must live until the result is
 * told; sends what waits if it is 10,000 rows. `metrics` may be NULL. Returns false once the server
 * takes nothing, so that whatever else is added would fail, too. */
bool crn_round_add(crn_round *round, const char *path, crn_push_state *state,
                   struct crn_metrics_lines *metrics, void *item);

/* Sends what waits, and frees the round. Returns false if a capture was not sent; `*takes`, unless
 * NULL, becomes false if that was because the server takes nothing. */
bool crn_round_end(crn_round *round, bool *takes);

#endif
