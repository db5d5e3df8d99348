/* SPDX-License-Identifier: MIT
 *
 * Contexts of a lane: their counters, and the contexts with the same path in other lanes.
 */
#include "alloc.h"

static bool widen_tallies(crn_lane *lane, uint32_t count)
{
    if (count <= lane->tally_count)
        return true;
    size_t before = lane->tally_count * sizeof *lane->tallies,
           after = count * sizeof *lane->tallies;
    crn_tally *tallies = crn_pages_grow(lane->tallies, before, after);
    if (!tallies)
        return false;
    lane->tallies = tallies;
    lane->tally_count = count;
    return true;
}

bool crn_alloc_lane_widen(crn_lane *lane, cairn_context context)
{
    enum { FIRST = 1024 };
    uint32_t capacity = lane->tally_count ? lane->tally_count : FIRST;
    while (capacity <= context)
        capacity *= 2;
    if (!widen_tallies(lane, capacity))
        return false;
    for (int i = 0; i < CRN_COUNTS; i++) {
        uint64_t *counters =
            lane->calls->context_counters(lane->lane, lane->metrics[i], capacity - 1);
        if (!counters)
            return false;
        lane->counters[i] = counters;
    }
    lane->capacity = capacity;
    return true;
}

static void keep_origin(crn_lane *lane, cairn_context context, cairn_context from,
                        cairn_block block)
{
    if (context / CRN_ORIGINS >= CRN_ORIGIN_CHUNKS)
        return;
    crn_origin **chunk = &lane->origins[context / CRN_ORIGINS];
    if (!*chunk) {
        crn_origin *made = crn_pages(CRN_ORIGINS * sizeof *made);
        if (!made)
            return;
        __atomic_store_n(chunk, made, __ATOMIC_RELEASE);
    }
    crn_origin *origin = *chunk + context % CRN_ORIGINS;
    if (!origin->block)
        *origin = (crn_origin){from, block};
}

cairn_context crn_alloc_lane_step_first(crn_lane *lane, cairn_context from, cairn_block block,
                                        crn_cached_edge *edge)
{
    cairn_context context = cairn_context_step(lane->lane, from, block);
    if (!context)
        return 0;
    keep_origin(lane, context, from, block);
    *edge = (crn_cached_edge){from, block, context};
    return context;
}

static const crn_origin *origin_of(const crn_lane *lane, cairn_context context)
{
    if (context / CRN_ORIGINS >= CRN_ORIGIN_CHUNKS)
        return NULL;
    const crn_origin *chunk =
        __atomic_load_n(&lane->origins[context / CRN_ORIGINS], __ATOMIC_ACQUIRE);
    const crn_origin *origin = chunk ? chunk + context % CRN_ORIGINS : NULL;
    return origin && origin->block ? origin : NULL;
}

/* Returns this lane's context with the path of another lane's context; 0 if there is none. The path
 * ends, as each context's origin is older than the context. */
static cairn_context retrace(crn_lane *lane, const crn_lane *other, cairn_context context)
{
    size_t length = 0;
    for (cairn_context at = context; at != CAIRN_CONTEXT_ROOT; length++) {
        const crn_origin *origin = origin_of(other, at);
        if (!origin)
            return 0;
        at = origin->from;
    }
    size_t size = length * sizeof(cairn_block);
    cairn_block *path = length ? crn_pages(size) : NULL;
    if (length && !path)
        return 0;
    for (size_t i = length; i--;) {
        const crn_origin *origin = origin_of(other, context);
        path[i] = origin->block;
        context = origin->from;
    }
    cairn_context here = CAIRN_CONTEXT_ROOT;
    for (size_t i = 0; i < length && here; i++)
        here = crn_alloc_lane_step(lane, here, path[i]);
    crn_pages_free(path, size);
    return here;
}

cairn_context crn_alloc_lane_translate(crn_lane *lane, const crn_lane *other, cairn_context context)
{
    uint64_t hash = ((uint64_t)other->number << 32 | context) * 0x9e3779b97f4a7c15u;
    crn_translation *known = &lane->translations[hash >> 40 & (CRN_TRANSLATIONS - 1)];
    if (known->lane == other->number && known->context == context)
        return known->here;
    cairn_context here = retrace(lane, other, context);
    if (here)
        *known = (crn_translation){other->number, context, here};
    return here;
}
