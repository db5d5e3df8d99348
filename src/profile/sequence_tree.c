/* SPDX-License-Identifier: MIT
 *
 * Makes trees of the callers and the callees of a sequence.
 */
#include "base/memory.h"
#include "profile/figures.h"
#include "profile/occurrence.h"

/* ---- callees ---- */

/* A profile of the contexts within a sequence, without its callers. So all outermost occurrences
 * have the same path, the sequence alone, and a builder merges them. */
typedef struct cut {
    crn_profile profile;
    uint32_t *numbers; /* maps the original's contexts within the sequence to the cut's */
} cut;

static uint32_t cut_context(cut *cut, uint32_t parent, uint32_t block)
{
    uint32_t context = cut->profile.context_count++;
    cut->profile.parent[context] = parent;
    cut->profile.block[context] = block;
    return context;
}

static cut cut_new(const crn_profile *profile, uint32_t most)
{
    cut cut = {.profile = *profile};
    cut.profile.context_count = cut.profile.edge_count = 0;
    cut.profile.warning_count = cut.profile.note_count = 0;
    cut.profile.parent = crn_calloc(most, sizeof(uint32_t));
    cut.profile.block = crn_calloc(most, sizeof(uint32_t));
    cut.profile.calls_tree = crn_calloc(most, sizeof(uint64_t));
    cut.profile.edges = crn_calloc(profile->edge_count, sizeof(crn_profile_edge));
    for (uint32_t m = 0; m < profile->metric_count; m++)
        cut.profile.values[m] = profile->values[m] ? crn_calloc(most, sizeof(uint64_t)) : NULL;
    cut.numbers = crn_calloc(profile->context_count, sizeof(uint32_t));
    return cut;
}

static void cut_free(cut *cut)
{
    crn_free(cut->profile.parent);
    crn_free(cut->profile.block);
    crn_free(cut->profile.calls_tree);
    crn_free(cut->profile.edges);
    for (uint32_t m = 0; m < cut->profile.metric_count; m++)
        crn_free(cut->profile.values[m]);
    crn_free(cut->numbers);
}

static void cut_fill(cut *cut, const crn_profile *profile, const crn_sequence *sequence,
                     const uint8_t *within, const uint8_t *kept)
{
    uint32_t tip = cut_context(cut, 0, 0);
    for (uint32_t i = 0; i + 1 < sequence->length; i++)
        if (sequence->blocks[i])
            tip = cut_context(cut, tip, sequence->blocks[i]);
    for (uint32_t c = 0; c < profile->context_count; c++) {
        if (!within[c])
            continue;
        bool top = c == 0 || !within[profile->parent[c]];
        uint32_t parent = top ? tip : cut->numbers[profile->parent[c]];
        uint32_t made = cut->numbers[c] = c ? cut_context(cut, parent, profile->block[c]) : 0;
        if (kept && !kept[c])
            continue;
        cut->profile.calls_tree[made] = profile->calls_tree[c];
        for (uint32_t m = 0; m < profile->metric_count; m++)
            if (profile->values[m])
                cut->profile.values[m][made] = profile->values[m][c];
    }
    for (uint32_t e = 0; e < profile->edge_count; e++) {
        crn_profile_edge edge = profile->edges[e];
        if (!within[edge.from] || !within[edge.target] || (kept && !kept[edge.target]))
            continue;
        edge.from = cut->numbers[edge.from];
        edge.target = cut->numbers[edge.target];
        cut->profile.edges[cut->profile.edge_count++] = edge;
    }
}

crn_profile *crn_sequence_below(const crn_profile *profile, const crn_sequence *sequence,
                                const uint8_t *kept)
{
    uint8_t *within = crn_sequence_within(profile, sequence);
    uint32_t most = 1 + sequence->length;
    for (uint32_t c = 0; c < profile->context_count; c++)
        most += within[c];
    cut cut = cut_new(profile, most);
    cut_fill(&cut, profile, sequence, within, kept);
    crn_profile_builder *builder = crn_profile_builder_new();
    crn_profile_builder_add(builder, &cut.profile);
    cut_free(&cut);
    crn_free(within);
    return crn_profile_builder_end(builder);
}

/* ---- callers ---- */

typedef struct above {
    const crn_profile *profile;
    crn_profile_builder *builder;
    uint32_t *blocks; /* maps the profile's blocks to the builder's */
} above;

static above above_new(const crn_profile *profile)
{
    above above = {profile, crn_profile_builder_new(),
                   crn_calloc(profile->block_count, sizeof(uint32_t))};
    for (uint32_t m = 0; m < profile->metric_count; m++)
        crn_profile_builder_metric(above.builder, profile->metrics[m].name,
                                   profile->metrics[m].unit);
    for (uint32_t b = 1; b < profile->block_count; b++) {
        crn_block_info info = profile->blocks[b];
        info.parent = info.parent < b ? above.blocks[info.parent] : 0;
        above.blocks[b] = crn_profile_builder_block(above.builder, &info);
    }
    return above;
}

/* Appends the blocks of `context` and its ancestors, the innermost first, to the path of the
 * builder's context `from`. Charges the last. */
static void above_charge(above *above, uint32_t from, uint32_t context, uint32_t metric,
                         uint64_t amount)
{
    const crn_profile *profile = above->profile;
    for (int i = 0; i < CRN_ABOVE_MAX && context; i++, context = profile->parent[context])
        from = crn_profile_builder_child(above->builder, from,
                                         above->blocks[profile->block[context]], 0);
    crn_profile_builder_charge(above->builder, from, metric, amount);
}

crn_profile *crn_sequence_above(const crn_profile *profile, const crn_sequence *sequence,
                                uint32_t metric, const uint8_t *kept)
{
    uint8_t *within = crn_sequence_within(profile, sequence);
    uint64_t *totals = crn_totals(profile, metric, kept);
    above above = above_new(profile);
    uint32_t root = crn_profile_builder_root(above.builder);
    for (uint32_t c = 1; c < profile->context_count; c++) {
        if (!within[c] || !crn_sequence_ends(profile, sequence, c) || (kept && !kept[c]))
            continue;
        if (!within[profile->parent[c]] && metric != CRN_METRIC_CALLS)
            above_charge(&above, root, c, metric, totals[c]);
        if (profile->calls_tree[c])
            above_charge(&above, root, c, CRN_METRIC_CALLS, profile->calls_tree[c]);
    }
    for (uint32_t e = 0; e < profile->edge_count; e++) {
        const crn_profile_edge *edge = &profile->edges[e];
        if (!crn_sequence_edge_ends(profile, sequence, edge) || (kept && !kept[edge->target]))
            continue;
        uint32_t last = crn_profile_builder_child(above.builder, root,
                                                  above.blocks[profile->block[edge->target]], 0);
        above_charge(&above, last, edge->from, CRN_METRIC_CALLS, edge->calls);
    }
    crn_free(above.blocks);
    crn_free(totals);
    crn_free(within);
    return crn_profile_builder_end(above.builder);
}
