/* SPDX-License-Identifier: MIT */
#include "profile/bottom_up.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "profile/figures.h"

/* ---- bottom-up trees ---- */

/* A set of items that have the same callers so far. An item is a context whose self cost moves up
 * its path to the root. */
typedef struct stream {
    uint64_t cost;
    uint32_t first, end;
    uint32_t node; /* the builder's context for these callers */
    uint32_t depth;
    uint32_t block; /* current block */
} stream;

typedef struct tree_builder {
    const crn_profile *profile;
    crn_profile_builder *builder;
    uint32_t *blocks; /* maps the profile's blocks to the builder's */
    uint32_t metric;
    uint64_t least;
    uint32_t *origins;  /* by item: the context with the self cost */
    uint32_t *contexts; /* by item: the ancestor reached so far */
    uint32_t *sorted[2], sorted_room;
    uint32_t *counts;  /* by block */
    uint64_t *costs;   /* by block */
    uint32_t *touched; /* blocks with a nonzero count */
    stream *streams;   /* heap, most cost first */
    uint32_t stream_count, stream_room;
    uint32_t node_count, node_room;
    const uint8_t *kept;
    stream *first;        /* initial streams, one a block, most cost first */
    uint32_t first_count; /* number of initial streams */
    uint32_t gathered;    /* number of initial streams whose items are filled in */
} tree_builder;

static uint64_t cost_of(const tree_builder *all, uint32_t drop)
{
    return crn_self(all->profile, all->metric, all->origins[drop]);
}

static bool comes_before(const stream *left, const stream *right)
{
    return left->cost != right->cost ? left->cost > right->cost : left->node < right->node;
}

static void put_stream(tree_builder *all, stream stream)
{
    CRN_GROW(all->streams, all->stream_count, all->stream_room);
    uint32_t at = all->stream_count++;
    for (; at && comes_before(&stream, &all->streams[(at - 1) / 2]); at = (at - 1) / 2)
        all->streams[at] = all->streams[(at - 1) / 2];
    all->streams[at] = stream;
}

static stream next_stream(tree_builder *all)
{
    stream first = all->streams[0], last = all->streams[--all->stream_count];
    uint64_t at = 0, child;
    for (; (child = 2 * at + 1) < all->stream_count; at = child) {
        if (child + 1 < all->stream_count &&
            comes_before(&all->streams[child + 1], &all->streams[child]))
            child++;
        if (!comes_before(&all->streams[child], &last))
            break;
        all->streams[at] = all->streams[child];
    }
    all->streams[at] = last;
    return first;
}

/* Adds an item and its cost to `block`; returns the number of distinct blocks so far. */
static uint32_t count_drop(tree_builder *all, uint32_t block, uint64_t cost, uint32_t kinds)
{
    if (all->counts[block]++ == 0)
        all->touched[kinds++] = block;
    all->costs[block] += cost;
    return kinds;
}

static void charge(tree_builder *all, const stream *stream)
{
    crn_profile_builder_charge(all->builder, stream->node, all->metric, stream->cost);
}

/* Makes a stream for each touched block; their items are consecutive from the first of `whole`.
 * Sets `counts` to the first item of each stream. Charges streams at the root, below `least` or too
 * deep at once: they do not go further up. */
static void make_streams(tree_builder *all, const stream *whole, uint32_t kinds)
{
    uint32_t at = whole->first;
    all->node_count += kinds;
    for (uint32_t k = 0; k < kinds; k++) {
        uint32_t b = all->touched[k], end = at + all->counts[b];
        stream part = {all->costs[b], at, end, whole->node, whole->depth + 1, b};
        if (b)
            part.node = crn_profile_builder_child(all->builder, whole->node, all->blocks[b], 0);
        if (b && part.cost >= all->least && part.depth < CRN_BOTTOM_UP_MAX)
            put_stream(all, part);
        else
            charge(all, &part);
        all->counts[b] = at;
        at = end;
    }
}

static void clear_counts(tree_builder *all, uint32_t kinds)
{
    for (uint32_t k = 0; k < kinds; k++)
        all->counts[all->touched[k]] = 0, all->costs[all->touched[k]] = 0;
}

static uint64_t kept_cost(const tree_builder *all, uint32_t context)
{
    return all->kept && !all->kept[context] ? 0 : crn_self(all->profile, all->metric, context);
}

static int compare_streams(const void *left, const void *right)
{
    return comes_before(left, right) ? -1 : 1;
}

/* Makes the initial streams: one for each block, whose items are its contexts with self cost. */
static void begin_streams(tree_builder *all)
{
    const crn_profile *profile = all->profile;
    uint32_t count = 0, kinds = 0;
    for (uint32_t c = 0; c < profile->context_count; c++) {
        uint64_t cost = kept_cost(all, c);
        if (!cost)
            continue;
        kinds = count_drop(all, profile->block[c], cost, kinds);
        count++;
    }
    all->origins = crn_calloc((size_t)count + 1, sizeof *all->origins);
    all->contexts = crn_calloc((size_t)count + 1, sizeof *all->contexts);
    stream whole = {.end = count, .node = crn_profile_builder_root(all->builder)};
    make_streams(all, &whole, kinds);
    clear_counts(all, kinds);
    all->first_count = all->stream_count;
    all->first = crn_calloc((size_t)all->stream_count + 1, sizeof *all->first);
    if (all->stream_count)
        memcpy(all->first, all->streams, all->stream_count * sizeof *all->first);
    qsort(all->first, all->first_count, sizeof *all->first, compare_streams);
}

/* Fills in the items of further initial streams, until twice as many are filled in as before. Most
 * streams are never followed, and filling all at once would write to scattered memory. */
static void gather(tree_builder *all)
{
    enum { LEAST = 64 };
    uint32_t end = all->gathered ? 2 * all->gathered : LEAST;
    if (end > all->first_count)
        end = all->first_count;
    uint8_t *wanted = crn_calloc(all->profile->block_count, sizeof *wanted);
    for (uint32_t i = all->gathered; i < end; i++) {
        wanted[all->first[i].block] = 1;
        all->counts[all->first[i].block] = all->first[i].first;
    }
    for (uint32_t c = 0; c < all->profile->context_count; c++) {
        uint32_t b = all->profile->block[c];
        if (wanted[b] && kept_cost(all, c))
            all->origins[all->counts[b]++] = c;
    }
    for (uint32_t i = all->gathered; i < end; i++)
        all->counts[all->first[i].block] = 0;
    all->gathered = end;
    crn_free(wanted);
}

static void sorted_reserve(tree_builder *all, uint32_t count)
{
    if (count <= all->sorted_room)
        return;
    all->sorted_room = count;
    for (int i = 0; i < 2; i++)
        all->sorted[i] = crn_realloc(all->sorted[i], count, sizeof *all->sorted[i]);
}

/* Splits a stream by the block of each item's caller. */
static void part_stream(tree_builder *all, const stream *whole)
{
    const uint32_t *block = all->profile->block;
    uint32_t kinds = 0, count = whole->end - whole->first;
    for (uint32_t i = whole->first; i < whole->end; i++)
        kinds = count_drop(all, block[all->contexts[i]], cost_of(all, i), kinds);
    make_streams(all, whole, kinds);
    sorted_reserve(all, count);
    for (uint32_t i = whole->first; i < whole->end; i++) {
        uint32_t to = all->counts[block[all->contexts[i]]]++ - whole->first;
        all->sorted[0][to] = all->origins[i];
        all->sorted[1][to] = all->contexts[i];
    }
    memcpy(all->origins + whole->first, all->sorted[0], count * sizeof *all->origins);
    memcpy(all->contexts + whole->first, all->sorted[1], count * sizeof *all->contexts);
    clear_counts(all, kinds);
}

/* Moves a stream up to its callers. */
static void follow(tree_builder *all, stream stream)
{
    bool begins = stream.depth == 1;
    while (begins && (!all->gathered || comes_before(&all->first[all->gathered - 1], &stream)))
        gather(all);
    const uint32_t *from = begins ? all->origins : all->contexts;
    for (uint32_t i = stream.first; i < stream.end; i++)
        all->contexts[i] = all->profile->parent[from[i]];
    part_stream(all, &stream);
}

static void map_tables(tree_builder *all)
{
    const crn_profile *profile = all->profile;
    for (uint32_t m = 0; m < profile->metric_count; m++)
        crn_profile_builder_metric(all->builder, profile->metrics[m].name,
                                   profile->metrics[m].unit);
    crn_profile_builder_blocks(all->builder, profile, all->blocks);
}

/* Returns the limit on the contexts to make: without one, they could be many times as many as the
 * profile's. */
static uint32_t room_for(const crn_profile *profile)
{
    uint32_t part = profile->context_count / 10;
    return part > CRN_BOTTOM_UP_ROOM ? part : CRN_BOTTOM_UP_ROOM;
}

crn_profile *crn_bottom_up(const crn_profile *profile, uint32_t metric, const uint8_t *kept,
                           uint64_t least)
{
    tree_builder all = {.profile = profile,
                        .builder = crn_profile_builder_new(),
                        .blocks = crn_calloc(profile->block_count, sizeof(uint32_t)),
                        .metric = metric,
                        .kept = kept,
                        .least = least,
                        .node_room = room_for(profile),
                        .counts = crn_calloc(profile->block_count, sizeof(uint32_t)),
                        .costs = crn_calloc(profile->block_count, sizeof(uint64_t)),
                        .touched = crn_calloc(profile->block_count, sizeof(uint32_t))};
    map_tables(&all);
    begin_streams(&all);
    while (all.stream_count && all.node_count < all.node_room)
        follow(&all, next_stream(&all));
    for (uint32_t i = 0; i < all.stream_count; i++)
        charge(&all, &all.streams[i]);
    crn_free(all.blocks);
    crn_free(all.counts);
    crn_free(all.costs);
    crn_free(all.touched);
    crn_free(all.first);
    crn_free(all.origins);
    crn_free(all.contexts);
    crn_free(all.sorted[0]);
    crn_free(all.sorted[1]);
    crn_free(all.streams);
    return crn_profile_builder_end(all.builder);
}

/* ---- union of two profiles ---- */

/* Returns a view of the profile with no calls and one metric, renamed. Valid as long as the
 * original. */
static crn_profile only_metric(const crn_profile *profile, uint32_t metric, int side,
                               crn_block_info *blocks, uint64_t *no_calls)
{
    crn_profile only = *profile;
    static const char *const names[] = {CRN_UNION_BEFORE, CRN_UNION_AFTER};
    for (int m = 0; m < CRN_METRIC_MAX; m++)
        only.values[m] = NULL;
    only.metric_count = CRN_METRIC_FIXED + CRN_SIDES;
    for (int i = 0; i < CRN_SIDES; i++) /* the same numbers on both sides */
        only.metrics[CRN_METRIC_FIXED + i] =
            crn_metric_about(names[i], profile->metrics[metric].unit);
    only.values[CRN_METRIC_FIXED + side] = profile->values[metric];
    only.blocks = blocks;
    only.calls_tree = no_calls;
    only.edge_count = 0;
    only.note_count = only.warning_count = 0;
    return only;
}

/* Returns, by number in the join, 1 if the block lacks a lexical parent in one of the profiles.
 * Both blocks then lose their parents, so that they become one block. */
static uint8_t *bare_blocks(const crn_block_join *join, const crn_diff_input *input)
{
    uint8_t *bare = crn_calloc(join->count, 1);
    for (int side = 0; side < CRN_SIDES; side++)
        for (uint32_t b = 0; b < input->profile[side]->block_count; b++)
            if (!input->profile[side]->blocks[b].parent)
                bare[join->numbers[side][b]] = 1;
    return bare;
}

crn_profile *crn_diff_union(const crn_diff_input *input)
{
    const crn_profile *before = input->profile[CRN_BEFORE], *after = input->profile[CRN_AFTER];
    crn_block_join join = crn_block_join_make(before, after);
    uint32_t *after_of = crn_calloc(join.count, sizeof *after_of);
    for (uint32_t b = 1; b < after->block_count; b++)
        after_of[join.numbers[CRN_AFTER][b]] = b;
    uint8_t *bare = bare_blocks(&join, input);
    crn_profile_builder *builder = crn_profile_builder_new();
    for (int side = CRN_SIDES - 1; side >= 0; side--) {
        const crn_profile *profile = input->profile[side];
        crn_block_info *blocks = crn_calloc(profile->block_count, sizeof *blocks);
        for (uint32_t b = 0; b < profile->block_count; b++) {
            uint32_t its = after_of[join.numbers[side][b]];
            blocks[b] = side == CRN_BEFORE && its ? after->blocks[its] : profile->blocks[b];
            blocks[b].parent = bare[join.numbers[side][b]] ? 0 : profile->blocks[b].parent;
        }
        uint64_t *no_calls = crn_calloc(profile->context_count, sizeof *no_calls);
        crn_profile only = only_metric(profile, input->metric[side], side, blocks, no_calls);
        crn_profile_builder_add(builder, &only);
        crn_free(no_calls);
        crn_free(blocks);
    }
    crn_free(bare);
    crn_free(after_of);
    crn_block_join_free(&join);
    return crn_profile_builder_end(builder);
}
