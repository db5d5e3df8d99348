/* SPDX-License-Identifier: MIT */
#include "fleet/pushing.h"

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

void crn_pushing_end(crn_pushing *pushing, crn_rows *rows, size_t start, crn_pushed_table table,
                     size_t number, bool dated)
{
    crn_push_state *state = pushing->options->state;
    if (state) {
        crn_fleet_id hash = crn_fleet_bytes_hash(rows->bytes + start, rows->size - start);
        if (!crn_push_state_is_new(state, &hash, table, number)) {
            rows->size = start;
            return;
        }
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
