/* SPDX-License-Identifier: MIT
 *
 * Reads single spans of a store; computes children, weights and processor times on request.
 */
#include "spans/span_store.h"

#include <string.h>

#include "base/memory.h"
#include "base/search.h"
#include "spans/off_core.h"

void crn_store_touch(crn_span_store *store, uint64_t bytes)
{
    enum { MOST = 16 << 20 };
    store->touched += bytes;
    if (!store->resting || store->touched < MOST)
        return;
    store->touched = 0;
    crn_mapping_rest(&store->mapping);
}

const crn_span_piece *crn_store_piece(const crn_span_store *store, uint32_t span)
{
    uint32_t low = store->piece_at[span >> CRN_PIECE_BITS];
    uint32_t high = store->piece_at[(span >> CRN_PIECE_BITS) + 1];
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        if (store->pieces[middle].first <= span)
            low = middle;
        else
            high = middle - 1;
    }
    return &store->pieces[low];
}

const crn_span_move *crn_store_move(const crn_span_store *store, uint32_t span)
{
    uint32_t low = CRN_BELOW(store->moves, store->move_count, span, span);
    return low < store->move_count && store->moves[low].span == span ? &store->moves[low] : NULL;
}

crn_span crn_store_span_in(const crn_span_store *store, const crn_span_piece *piece, uint32_t span)
{
    const cairn_priv_span *at = &piece->spans[span - piece->first];
    const crn_span_move *move =
        crn_store_is_moved(store, span) ? crn_store_move(store, span) : NULL;
    crn_span its = {.start = crn_store_start(store, at),
                    .end = crn_store_end(store, at),
                    .iteration = at->iteration,
                    .block = at->block,
                    .parent = crn_store_parent(store, piece, span),
                    .lane = piece->lane,
                    .open = at->end == 0,
                    .handed_off = move && move->handed_off};
    its.orphaned = at->parent == CRN_SPAN_GONE && !its.handed_off;
    its.end = its.end < its.start ? its.start : its.end;
    return its;
}

/* ---- children ---- */

void crn_store_children(crn_span_store *store)
{
    if (store->first_child)
        return;
    /* Counting sort by parent, as in find_children of span_figures.c. */
    uint32_t *first = crn_calloc(store->count + (size_t)2, sizeof *first);
    for (uint32_t s = 0; s < store->count; s++) {
        uint32_t parent = crn_store_parent(store, crn_store_piece(store, s), s);
        if (parent != CRN_SPAN_NONE)
            first[parent + 2]++;
    }
    for (uint32_t s = 0; s < store->count; s++)
        first[s + 2] += first[s + 1];
    uint32_t all = first[store->count + 1];
    store->children = crn_calloc(all + (size_t)1, sizeof *store->children);
    for (uint32_t s = 0; s < store->count; s++) {
        uint32_t parent = crn_store_parent(store, crn_store_piece(store, s), s);
        if (parent != CRN_SPAN_NONE && first[parent + 1] < all)
            store->children[first[parent + 1]++] = s;
    }
    store->first_child = first;
}

/* ---- weights and processor time ---- */

enum { VISITING = -1 };

/* Sets the weight of a span and of its ancestors up to the first known weight. VISITING ends a walk
 * in a cycle, which a changing file can contain. */
static void weigh(const crn_span_store *store, double *weights, uint32_t span)
{
    uint32_t top = span;
    while (top != CRN_SPAN_NONE && !weights[top]) {
        weights[top] = VISITING;
        top = crn_store_parent(store, crn_store_piece(store, top), top);
    }
    double weight = top != CRN_SPAN_NONE && weights[top] > 0 ? weights[top] : 1;
    while (span != CRN_SPAN_NONE && weights[span] == VISITING) {
        weights[span] = weight;
        span = crn_store_parent(store, crn_store_piece(store, span), span);
    }
}

double crn_store_weight(crn_span_store *store, uint32_t span)
{
    if (!store->weight_count)
        return 1;
    if (!store->weight) {
        store->weight = crn_store_array(store->count, sizeof *store->weight);
        for (uint32_t w = 0; w < store->weight_count; w++) /* of several the last counts */
            store->weight[store->weights[w].span] = store->weights[w].weight;
    }
    if (!store->weight[span])
        weigh(store, store->weight, span);
    return store->weight[span] > 0 ? store->weight[span] : 1;
}

/* Reads processor times that were measured for spans. */
static void read_cpu(crn_span_store *store)
{
    for (uint32_t p = 0; p < store->detail_piece_count; p++) {
        const crn_detail_piece *piece = &store->detail_pieces[p];
        uint32_t first = store->lane_first[piece->lane];
        uint32_t spans = store->lane_first[piece->lane + 1] - first;
        for (uint32_t i = 0; i < piece->count; i++) {
            uint32_t span = __atomic_load_n(&piece->details[i].span, __ATOMIC_RELAXED);
            uint64_t cpu = piece->details[i].value, most = UINT64_C(1) << 62;
            if (piece->details[i].kind == CRN_DETAIL_CPU && span && span <= spans)
                store->cpu[first + span - 1] = cpu < most ? cpu : most;
            crn_store_touch(store, sizeof piece->details[i]);
        }
    }
}

/* Derives ready and processor times of a lane's spans from periods off core. A measured processor
 * time, which is more exact, stays. */
static void add_off_core(crn_span_store *store, uint32_t lane)
{
    crn_off_sums sums = crn_off_sums_of(store->off_core, store->off_core_count, lane);
    for (uint32_t s = store->lane_first[lane]; sums.count && s < store->lane_first[lane + 1]; s++) {
        crn_span span = crn_store_span(store, s);
        crn_off_times times = crn_off_times_within(&sums, span.start, span.end);
        store->ready[s] = times.ready;
        if (store->cpu[s] == UINT64_MAX)
            store->cpu[s] = span.end - span.start - times.waiting - times.ready;
    }
    crn_free(sums.before);
}

static uint64_t *unknown_of(const crn_span_store *store)
{
    uint64_t *figures = crn_calloc(store->count + (size_t)1, sizeof *figures);
    memset(figures, 0xff, store->count * sizeof *figures);
    return figures;
}

void crn_store_cpu(crn_span_store *store)
{
    if (store->cpu || !store->cpu_known)
        return;
    store->cpu = unknown_of(store);
    read_cpu(store);
    if (!store->off_core_count)
        return;
    store->ready = unknown_of(store);
    for (uint32_t lane = 0; lane < store->lane_count; lane++)
        add_off_core(store, lane);
}
