/* SPDX-License-Identifier: MIT */
#include "support/random_profile.h"

#include <stdio.h>

#include "base/memory.h"

enum { STACK_MAX = 40 };

static uint32_t *add_blocks(crn_profile_builder *builder, uint32_t block_count,
                            const profile_source *source)
{
    uint32_t *blocks = crn_calloc(block_count + 1, sizeof *blocks);
    for (uint32_t b = 1; b <= block_count; b++) {
        char name[32], file[128];
        snprintf(name, sizeof name, "b%u", b);
        snprintf(file, sizeof file, "%sfile%u.x", source->directory, b % 3);
        crn_block_info info = {.name = name,
                               .file = file,
                               .line = 10 * b + source->line_shift,
                               .parent = b % 4 == 0 ? blocks[b / 4] : 0};
        blocks[b] = crn_profile_builder_block(builder, &info);
    }
    return blocks;
}

crn_profile *random_profile(random_source *random, uint32_t block_count, uint32_t events,
                            const profile_source *source)
{
    static const profile_source usual = {"src/", 0};
    crn_profile_builder *builder = crn_profile_builder_new();
    uint32_t *blocks = add_blocks(builder, block_count, source ? source : &usual);
    uint32_t bytes = crn_profile_builder_metric(builder, "allocated", "bytes");
    uint32_t stack[STACK_MAX] = {crn_profile_builder_root(builder)}, depth = 0;
    for (uint32_t i = 0; i < events; i++) {
        uint32_t block = blocks[1 + random_below(random, block_count)];
        switch (random_below(random, 8)) {
        case 0:
        case 1:
        case 2:
            if (depth + 1 < STACK_MAX) {
                stack[depth + 1] = crn_profile_builder_child(builder, stack[depth], block, 1);
                depth++;
            }
            break;
        case 3:
            if (depth)
                stack[depth] = crn_profile_builder_child(builder, stack[depth], block, 1);
            break;
        case 4:
        case 5:
            depth -= depth > 0;
            break;
        case 6:
            crn_profile_builder_charge(builder, stack[depth], bytes, random_below(random, 99));
            break;
        default:
            crn_profile_builder_charge(builder, stack[depth], CRN_METRIC_TICKS,
                                       random_below(random, 100));
        }
    }
    crn_free(blocks);
    return crn_profile_builder_end(builder);
}

uint32_t profile_path(const crn_profile *profile, uint32_t context, uint32_t *path)
{
    uint32_t length = 1;
    for (uint32_t c = context; c; c = profile->parent[c])
        length++;
    for (uint32_t i = length; i-- > 0; context = profile->parent[context])
        path[i] = profile->block[context];
    return length;
}

crn_profile *profile_chain(uint32_t length, uint32_t block_count)
{
    /* Builds the tables; the contexts are then replaced. */
    crn_profile_builder *builder = crn_profile_builder_new();
    crn_free(add_blocks(builder, block_count, &(profile_source){"src/", 0}));
    crn_profile *profile = crn_profile_builder_end(builder);
    uint32_t count = profile->context_count = length + 1;
    crn_free(profile->values[CRN_METRIC_CALLS]);
    crn_free(profile->values[CRN_METRIC_TICKS]);
    profile->parent = crn_realloc(profile->parent, count, sizeof(uint32_t));
    profile->block = crn_realloc(profile->block, count, sizeof(uint32_t));
    profile->previous = crn_realloc(profile->previous, count, sizeof(uint32_t));
    profile->calls_tree = crn_realloc(profile->calls_tree, count, sizeof(uint64_t));
    profile->values[CRN_METRIC_CALLS] = crn_calloc(count, sizeof(uint64_t));
    profile->values[CRN_METRIC_TICKS] = crn_calloc(count, sizeof(uint64_t));
    for (uint32_t c = 0; c < count; c++) {
        profile->parent[c] = c ? c - 1 : 0;
        profile->block[c] = c ? 1 + (c - 1) % block_count : 0;
        profile->previous[c] = c > block_count ? c - block_count : CRN_CONTEXT_NONE;
        profile->calls_tree[c] = profile->values[CRN_METRIC_CALLS][c] = 1;
        profile->values[CRN_METRIC_TICKS][c] = c % 7;
    }
    return profile;
}

uint8_t *random_contexts(random_source *random, const crn_profile *profile)
{
    uint8_t *kept = crn_calloc(profile->context_count, sizeof *kept);
    for (uint32_t c = 0; c < profile->context_count; c++)
        kept[c] = random_chance(random, 2, 3);
    return kept;
}
