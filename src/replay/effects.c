/* SPDX-License-Identifier: MIT
 *
 * Ranks blocks by the time that 10, 50 and 100 % less self time of a block alone would save.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "replay/program.h"

const double crn_effect_factors[CRN_EFFECTS] = {0.9, 0.5, 0};

static int compare_work(const void *left, const void *right)
{
    const crn_effect *a = left, *b = right;
    return CRN_ORDER(b->work, a->work) ?: CRN_ORDER(a->block, b->block);
}

/* Compares predicted lengths at 100 % less, then at 50 %, then at 10 %. */
static int compare_gains(const void *left, const void *right)
{
    const crn_effect *a = left, *b = right;
    for (int column = CRN_EFFECTS - 1; column >= 0; column--)
        if (a->length[column] != b->length[column])
            return a->length[column] < b->length[column] ? -1 : 1;
    return compare_work(left, right);
}

crn_effects crn_effects_make(const crn_replay *replay, const crn_scenario *base, uint32_t most)
{
    crn_effects effects = {.replay = replay, .base = base};
    uint64_t *work = crn_replay_work(replay);
    effects.rows = crn_calloc(replay->block_count, sizeof *effects.rows);
    for (uint32_t b = 0; b < replay->block_count; b++)
        if (work[b])
            effects.rows[effects.count++] = (crn_effect){.block = b, .work = work[b]};
    crn_free(work);
    if (effects.count)
        qsort(effects.rows, effects.count, sizeof *effects.rows, compare_work);
    effects.hidden = effects.count > most ? effects.count - most : 0;
    effects.count -= effects.hidden;
    return effects;
}

void crn_effects_fill(crn_effects *effects, uint32_t cell, crn_outcome *outcome)
{
    const crn_replay *replay = effects->replay;
    crn_effect *row = &effects->rows[cell / CRN_EFFECTS];
    double *factor = crn_calloc(replay->block_count, sizeof *factor);
    for (uint32_t b = 0; b < replay->block_count; b++)
        factor[b] = effects->base->factor ? effects->base->factor[b] : 1;
    factor[row->block] *= crn_effect_factors[cell % CRN_EFFECTS];
    crn_scenario scenario = *effects->base;
    scenario.factor = factor;
    scenario.length_only = true;
    crn_replay_run(replay, &scenario, outcome);
    row->length[cell % CRN_EFFECTS] = outcome->length;
    row->late[cell % CRN_EFFECTS] =
        crn_replay_is_late(replay, outcome) || crn_replay_has_few(replay, outcome);
    crn_free(factor);
}

void crn_effects_sort(crn_effects *effects)
{
    if (effects->count)
        qsort(effects->rows, effects->count, sizeof *effects->rows, compare_gains);
}

void crn_effects_free(crn_effects *effects)
{
    crn_free(effects->rows);
    *effects = (crn_effects){0};
}
