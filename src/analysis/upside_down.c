/* SPDX-License-Identifier: MIT */
#include "analysis/upside_down.h"

#include <string.h>

#include "analysis/figures.h"
#include "base/memory.h"

/* ---- upside down ---- */

/* The cost of `origin` on its way up: it has come to `context`. */
typedef struct drop {
    uint32_t origin, context;
} drop;

/* Drops that have come the same way. */
typedef struct stream {
    uint64_t cost;
    uint32_t first, end;
    uint32_t node; /* of the builder: the way that they came */
    uint32_t depth;
} stream;

typedef struct turning {
    const crn_profile *profile;
    crn_profile_builder *builder;
    uint32_t *blocks; /* the builder's, by the profile's */
    uint32_t metric;
    uint64_t least;
    drop *drops, *sorted;
    uint32_t *counts;  /* by block */
    uint64_t *costs;   /* likewise */
    uint32_t *touched; /* blocks that have a count */
    stream *streams;   /* a heap: that with most cost first */
    uint32_t stream_count, stream_room;
    uint32_t node_count, node_room;
} turning;

static uint64_t cost_of(const turning *all, const drop *drop)
{
    return crn_self(all->profile, all->metric, drop->origin);
}

static bool comes_before(const stream *left, const stream *right)
{
    return left->cost != right->cost ? left->cost > right->cost : left->node < right->node;
}

static void put_stream(turning *all, stream stream)
{
    if (all->stream_count == all->stream_room) {
        all->stream_room = all->stream_room ? all->stream_room * 2 : 64;
        all->streams = crn_realloc(all->streams, all->stream_room, sizeof *all->streams);
    }
    uint32_t at = all->stream_count++;
    for (; at && comes_before(&stream, &all->streams[(at - 1) / 2]); at = (at - 1) / 2)
        all->streams[at] = all->streams[(at - 1) / 2];
    all->streams[at] = stream;
}

static stream next_stream(turning *all)
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

/* Sorts the stream's drops by the block that each is in, and makes a stream of each. Those at
 * the root have arrived. */
static void part_stream(turning *all, stream whole)
{
    const uint32_t *block = all->profile->block;
    uint32_t kinds = 0;
    for (uint32_t i = whole.first; i < whole.end; i++) {
        uint32_t b = block[all->drops[i].context];
        if (all->counts[b]++ == 0)
            all->touched[kinds++] = b;
        all->costs[b] += cost_of(all, &all->drops[i]);
    }
    all->node_count += kinds;
    uint32_t at = whole.first;
    for (uint32_t k = 0; k < kinds; k++) {
        uint32_t b = all->touched[k], count = all->counts[b];
        all->counts[b] = at;
        if (b)
            put_stream(all, (stream){all->costs[b], at, at + count,
                                     crn_profile_builder_child(all->builder, whole.node,
                                                               all->blocks[b], 0),
                                     whole.depth + 1});
        at += count;
    }
    for (uint32_t i = whole.first; i < whole.end; i++)
        all->sorted[all->counts[block[all->drops[i].context]]++] = all->drops[i];
    memcpy(all->drops + whole.first, all->sorted + whole.first,
           (whole.end - whole.first) * sizeof *all->drops);
    for (uint32_t k = 0; k < kinds; k++)
        all->counts[all->touched[k]] = 0, all->costs[all->touched[k]] = 0;
    for (uint32_t i = whole.first; i < whole.end; i++)
        if (block[all->drops[i].context] == 0)
            crn_profile_builder_charge(all->builder, whole.node, all->metric,
                                       cost_of(all, &all->drops[i]));
}

/* Follows the stream to its callers, or lets it end here. */
static void follow(turning *all, stream stream)
{
    if (stream.cost < all->least || stream.depth >= CRN_UPSIDE_DOWN_MAX ||
        all->node_count >= all->node_room) {
        crn_profile_builder_charge(all->builder, stream.node, all->metric, stream.cost);
        return;
    }
    for (uint32_t i = stream.first; i < stream.end; i++)
        all->drops[i].context = all->profile->parent[all->drops[i].context];
    part_stream(all, stream);
}

static void map_blocks(turning *all)
{
    const crn_profile *profile = all->profile;
    for (uint32_t m = 0; m < profile->metric_count; m++)
        crn_profile_builder_metric(all->builder, profile->metrics[m].name,
                                   profile->metrics[m].unit);
    for (uint32_t b = 1; b < profile->block_count; b++) {
        crn_block_info info = profile->blocks[b];
        info.parent = info.parent < b ? all->blocks[info.parent] : 0;
        all->blocks[b] = b == profile->folded_block
                             ? crn_profile_builder_folded(all->builder)
                             : crn_profile_builder_block(all->builder, &info);
    }
}

/* Ways there may be so many as there are contexts: what is followed is bounded, the costliest of it
 * first. */
static uint32_t room_for(const crn_profile *profile)
{
    uint32_t part = profile->context_count / 10;
    return part > CRN_UPSIDE_DOWN_ROOM ? part : CRN_UPSIDE_DOWN_ROOM;
}

crn_profile *crn_upside_down(const crn_profile *profile, uint32_t metric, const uint8_t *kept,
                             uint64_t least)
{
    turning all = {.profile = profile,
                   .builder = crn_profile_builder_new(),
                   .blocks = crn_calloc(profile->block_count, sizeof(uint32_t)),
                   .metric = metric,
                   .least = least,
                   .node_room = room_for(profile),
                   .counts = crn_calloc(profile->block_count, sizeof(uint32_t)),
                   .costs = crn_calloc(profile->block_count, sizeof(uint64_t)),
                   .touched = crn_calloc(profile->block_count, sizeof(uint32_t))};
    map_blocks(&all);
    uint32_t count = 0;
    for (uint32_t c = 0; c < profile->context_count; c++)
        count += crn_self(profile, metric, c) && (!kept || kept[c]);
    all.drops = crn_calloc((size_t)count + 1, sizeof *all.drops);
    all.sorted = crn_calloc((size_t)count + 1, sizeof *all.sorted);
    count = 0;
    for (uint32_t c = 0; c < profile->context_count; c++)
        if (crn_self(profile, metric, c) && (!kept || kept[c]))
            all.drops[count++] = (drop){c, c};
    part_stream(&all, (stream){0, 0, count, crn_profile_builder_root(all.builder), 0});
    while (all.stream_count)
        follow(&all, next_stream(&all));
    crn_free(all.blocks);
    crn_free(all.counts);
    crn_free(all.costs);
    crn_free(all.touched);
    crn_free(all.drops);
    crn_free(all.sorted);
    crn_free(all.streams);
    return crn_profile_builder_end(all.builder);
}

/* ---- two as one ---- */

/* The profile with one metric of its own name and no calls; only as long as the original. */
static crn_profile only_metric(const crn_profile *profile, uint32_t metric, int side,
                               crn_block_info *blocks, uint64_t *no_calls)
{
    crn_profile only = *profile;
    static const char *const names[] = {CRN_UNION_BEFORE, CRN_UNION_AFTER};
    for (int m = 0; m < CRN_METRIC_MAX; m++)
        only.values[m] = NULL;
    only.metric_count = CRN_METRIC_CPU + 3;
    for (int i = 0; i < CRN_SIDES; i++) /* the same places on both sides */
        only.metrics[CRN_METRIC_CPU + 1 + i] =
            (crn_metric_info){names[i], profile->metrics[metric].unit};
    only.values[CRN_METRIC_CPU + 1 + side] = profile->values[metric];
    only.blocks = blocks;
    only.calls_tree = no_calls;
    only.edge_count = 0;
    only.note_count = only.warning_count = 0;
    return only;
}

crn_profile *crn_diff_union(const crn_diff_input *input)
{
    const crn_profile *before = input->profile[CRN_BEFORE], *after = input->profile[CRN_AFTER];
    crn_block_join join = crn_block_join_make(before, after);
    uint32_t *after_of = crn_calloc(join.count, sizeof *after_of);
    for (uint32_t b = 1; b < after->block_count; b++)
        after_of[join.numbers[CRN_AFTER][b]] = b;
    crn_profile_builder *builder = crn_profile_builder_new();
    for (int side = CRN_SIDES - 1; side >= 0; side--) {
        const crn_profile *profile = input->profile[side];
        crn_block_info *blocks = crn_calloc(profile->block_count, sizeof *blocks);
        for (uint32_t b = 0; b < profile->block_count; b++) {
            uint32_t its = after_of[join.numbers[side][b]];
            blocks[b] = side == CRN_BEFORE && its ? after->blocks[its] : profile->blocks[b];
            blocks[b].parent = profile->blocks[b].parent;
        }
        uint64_t *no_calls = crn_calloc(profile->context_count, sizeof *no_calls);
        crn_profile only = only_metric(profile, input->metric[side], side, blocks, no_calls);
        crn_profile_builder_add(builder, &only);
        crn_free(no_calls);
        crn_free(blocks);
    }
    crn_free(after_of);
    crn_block_join_free(&join);
    return crn_profile_builder_end(builder);
}
