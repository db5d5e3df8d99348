/* SPDX-License-Identifier: MIT */
#include "fleet/push_state.h"

#include <string.h>

#include "base/memory.h"

crn_push_state *crn_push_state_new(void)
{
    return crn_calloc(1, sizeof(crn_push_state));
}

void crn_push_state_keep_shapes(crn_push_state *state, const crn_fleet_id *shapes, size_t count)
{
    struct crn_pushed_hashes *sent = &state->tables[CRN_PUSHED_SHAPES];
    sent->hashes = crn_realloc(sent->hashes, count, sizeof *sent->hashes);
    memcpy(sent->hashes, shapes, count * sizeof *shapes);
    sent->count = count;
}

void crn_push_state_forget(crn_push_state *state)
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
    crn_push_state_forget(state);
    crn_free(state);
}

bool crn_push_state_is_new(crn_push_state *state, const crn_fleet_id *hash, crn_pushed_table table,
                           size_t number)
{
    static const crn_fleet_id none;
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
