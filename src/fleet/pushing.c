/* SPDX-License-Identifier: MIT */
#include "fleet/pushing.h"

#include <string.h>

#include "base/memory.h"

crn_push_state *crn_push_state_new(void)
{
    return crn_calloc(1, sizeof(crn_push_state));
}

void crn_pushing_remember_shapes(crn_push_state *state, const crn_fleet_id *shapes, size_t count)
{
    struct crn_pushed_hashes *sent = &state->tables[CRN_PUSHED_SHAPES];
    sent->hashes = crn_realloc(sent->hashes, count, sizeof *sent->hashes);
    memcpy(sent->hashes, shapes, count * sizeof *shapes);
    sent->count = count;
}

void crn_pushing_forget(crn_push_state *state)
{
    for (size_t i = 0; i < CRN_PUSHED_TABLES; i++)
        crn_free(state->tables[i].hashes);
    for (uint32_t lane = 0; lane < state->lane_count; lane++)
        crn_free(state->lanes[lane].open);
    crn_free(state->lanes);
    *state = (crn_push_state){0};
}

void crn_push_state_free(crn_push_state *state)
{
    if (!state)
        return;
    crn_pushing_forget(state);
    crn_free(state);
}

crn_rows *crn_pushing_row(const crn_pushing *pushing, crn_batch_table table)
{
    crn_rows *rows = &pushing->batch->tables[table];
    crn_rows_text(rows, pushing->service);
    crn_rows_number(rows, pushing->day, 2);
    crn_rows_id(rows, &pushing->ids.run);
    return rows;
}

void crn_pushing_span(crn_rows *rows, const crn_span_store *store, uint32_t span)
{
    uint32_t lane = span == CRN_SPAN_NONE ? 0 : crn_store_piece(store, span)->lane;
    crn_rows_number(rows, lane, 4);
    crn_rows_number(rows, span == CRN_SPAN_NONE ? 0 : span - store->lane_first[lane] + 1, 4);
}

/* Returns true if this row is not the last one of its number, and remembers it. */
static bool is_new(crn_push_state *state, const crn_fleet_id *hash, crn_pushed_table table,
                   size_t number)
{
    static const crn_fleet_id none;
    if (!state)
        return true;
    struct crn_pushed_hashes *sent = &state->tables[table];
    if (number >= sent->count) {
        size_t count = (number + 1) * 2;
        sent->hashes = crn_realloc(sent->hashes, count, sizeof *sent->hashes);
        for (size_t i = sent->count; i < count; i++)
            sent->hashes[i] = none;
        sent->count = count;
    }
    if (memcmp(&sent->hashes[number], hash, sizeof *hash) == 0)
        return false;
    sent->hashes[number] = *hash;
    return true;
}

void crn_pushing_end(crn_pushing *pushing, crn_rows *rows, size_t start, crn_pushed_table table,
                     size_t number, bool dated)
{
    crn_fleet_id hash = crn_fleet_bytes_hash(rows->bytes + start, rows->size - start);
    if (!is_new(pushing->options->state, &hash, table, number)) {
        rows->size = start;
        return;
    }
    if (dated)
        crn_rows_number(rows, pushing->recorded, 8);
    crn_rows_end(rows);
}

bool crn_pushing_send(crn_pushing *pushing, crn_batch_table table)
{
    return crn_batch_grew(pushing->batch, table, pushing->error);
}

void crn_pushing_did(crn_pushing *pushing, uint64_t done)
{
    pushing->done += done;
    if (pushing->options->progress)
        pushing->options->progress(pushing->done, pushing->total);
}
