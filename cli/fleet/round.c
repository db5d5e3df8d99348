/* SPDX-License-Identifier: MIT */
#include "round.h"

#include "base/memory.h"

enum { ENOUGH_ROWS = 10000 };

/* A capture whose rows are not sent yet. */
typedef struct waiting {
    char *path;
    void *item;
    crn_push_state *state;
    crn_fleet_sent sent;
} waiting;

struct crn_round {
    crn_database *database;
    crn_push_batch *batch;
    crn_fleet_labels *labels;
    crn_round_done *done;
    void *data;
    waiting *list;
    size_t count, room;
    bool failed, takes;
};

crn_round *crn_round_new(crn_database *database, crn_fleet_labels *labels, crn_round_done *done,
                         void *data)
{
    crn_round *round = crn_calloc(1, sizeof *round);
    *round = (crn_round){.database = database,
                         .batch = crn_push_batch_new(database),
                         .labels = labels,
                         .done = done,
                         .data = data,
                         .takes = true};
    return round;
}

static void tell(crn_round *round, waiting *one, bool reached, const crn_error *error)
{
    crn_round_result result = {one->path, one->item, &one->sent, error, reached};
    round->failed |= error != NULL;
    round->done(round->data, &result);
    crn_free(one->path);
}

/* Sends the captures one by one, to find which of them the server refuses. */
static void send_singly(crn_round *round)
{
    for (size_t i = 0; i < round->count; i++) {
        waiting *one = &round->list[i];
        crn_error error = {0};
        bool reached = false;
        bool good = crn_fleet_send(round->batch, round->labels, one->path, one->state, &one->sent,
                                   &error) &&
                    crn_push_batch_send(round->batch, &reached, &error);
        round->takes &= good || error.code == CRN_DATABASE_REFUSED;
        tell(round, one, reached, good ? NULL : &error);
    }
    round->count = 0;
}

/* Reports a failed batch; if the server refused it, retries singly. */
static void fail_all(crn_round *round, bool reached, const crn_error *error)
{
    if (error->code == CRN_DATABASE_REFUSED && round->count > 1) {
        send_singly(round);
        return;
    }
    round->takes &= error->code == CRN_DATABASE_REFUSED;
    for (size_t i = 0; i < round->count; i++)
        tell(round, &round->list[i], reached, error);
    round->count = 0;
}

static void send_all(crn_round *round)
{
    crn_error error = {0};
    bool reached = false;
    if (!crn_push_batch_send(round->batch, &reached, &error)) {
        fail_all(round, reached, &error);
        return;
    }
    for (size_t i = 0; i < round->count; i++)
        tell(round, &round->list[i], true, NULL);
    round->count = 0;
}

bool crn_round_add(crn_round *round, const char *path, crn_push_state *state,
                   struct crn_metrics_lines *metrics, void *item)
{
    crn_error error = {0};
    CRN_GROW(round->list, round->count, round->room);
    waiting *one = &round->list[round->count];
    *one = (waiting){
        .path = crn_strdup(path), .item = item, .state = state, .sent = {.metrics = metrics}};
    bool good = crn_fleet_send(round->batch, round->labels, path, state, &one->sent, &error);
    if (!good && !one->sent.read) {
        tell(round, one, false, &error);
        return round->takes;
    }
    round->count++;
    if (!good)
        fail_all(round, false, &error);
    else if (crn_push_batch_waiting(round->batch) >= ENOUGH_ROWS)
        send_all(round);
    return round->takes;
}

bool crn_round_end(crn_round *round, bool *takes)
{
    if (round->count)
        send_all(round);
    bool good = !round->failed;
    if (takes)
        *takes = round->takes;
    crn_push_batch_free(round->batch);
    crn_free(round->list);
    crn_free(round);
    return good;
}
