/* SPDX-License-Identifier: MIT */
#include "formats/stacks.h"

#include <cairn/cairn.h>
#include <string.h>

#include "base/memory.h"

void crn_stacks_open(crn_stacks *stacks, crn_profile_builder *builder)
{
    *stacks = (crn_stacks){.builder = builder};
}

void crn_stacks_close(crn_stacks *stacks)
{
    crn_free(stacks->blocks);
    crn_free(stacks->last);
    crn_free(stacks->contexts);
    *stacks = (crn_stacks){0};
}

void crn_stacks_push(crn_stacks *stacks, uint32_t block)
{
    if (stacks->length == stacks->capacity) {
        stacks->capacity = stacks->capacity * 2 + 256;
        stacks->blocks = crn_realloc(stacks->blocks, stacks->capacity, sizeof *stacks->blocks);
        stacks->last = crn_realloc(stacks->last, stacks->capacity, sizeof *stacks->last);
        stacks->contexts =
            crn_realloc(stacks->contexts, stacks->capacity, sizeof *stacks->contexts);
    }
    stacks->blocks[stacks->length++] = block;
}

void crn_stacks_keep(crn_stacks *stacks, size_t count)
{
    stacks->length = count < stacks->last_length ? count : stacks->last_length;
    if (stacks->length > 0)
        memcpy(stacks->blocks, stacks->last, stacks->length * sizeof *stacks->blocks);
}

uint32_t crn_stacks_end(crn_stacks *stacks, uint64_t calls)
{
    size_t length = stacks->length, shared = 0;
    while (shared < length && shared < stacks->last_length &&
           stacks->blocks[shared] == stacks->last[shared])
        shared++;
    /* Calls are counted by following the last edge, so at least one edge must be followed. */
    if (shared == length && shared > 0)
        shared--;
    uint32_t root = crn_profile_builder_root(stacks->builder);
    uint32_t context = shared ? stacks->contexts[shared - 1] : root;
    for (size_t i = shared; i < length; i++) {
        if (stacks->blocks[i] != 0)
            context = crn_profile_builder_child(stacks->builder, context, stacks->blocks[i],
                                                i + 1 == length ? calls : 0);
        stacks->contexts[i] = context;
    }
    if (context == root && calls)
        crn_profile_builder_charge(stacks->builder, root, CRN_METRIC_CALLS, calls);
    uint32_t *last = stacks->last;
    stacks->last = stacks->blocks;
    stacks->last_length = length;
    stacks->blocks = last;
    stacks->length = 0;
    return context;
}

uint32_t crn_stacks_block(crn_stacks *stacks, const crn_block_info *info)
{
    if (!*info->file && strcmp(info->name, "[root]") == 0)
        return CAIRN_BLOCK_ROOT;
    if (!*info->file && strcmp(info->name, "[folded]") == 0)
        return CAIRN_BLOCK_FOLDED;
    return crn_profile_builder_block(stacks->builder, info);
}

bool crn_stacks_add_up(uint64_t *sum, uint64_t value)
{
    const uint64_t limit = (uint64_t)1 << 62;
    if (value >= limit || *sum >= limit - value)
        return false;
    *sum += value;
    return true;
}
