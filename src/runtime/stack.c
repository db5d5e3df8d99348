/* SPDX-License-Identifier: MIT
 *
 * The slow path of strands that keep only a stack of blocks (cairn/stack.h). resolve.c looks up
 * their contexts.
 *
 * records[i] is the record of frame i. The records of the lowest `resolved` frames are valid. `low`
 * is at that height, so that every change of a frame with a valid record takes the slow path. A
 * drop below `low` invalidates more records than necessary, twice as many each time until the next
 * sample: so n returns take log n slow events, and at most about n records must be looked up again.
 * So the cost of a sample depends on what happened since the last one, not on the depth of the
 * stack.
 */
#include "runtime/stack.h"

#include "base/memory.h"

static cairn_strand *strand_of(cairn_priv_stack *stack)
{
    return (cairn_strand *)((char *)stack - offsetof(cairn_strand, only));
}

/* ---- memory ---- */

/* Sets the memory of a stack with `held` frames. Entry 0 is unused: `top - 1` of an empty stack
 * must be a valid address. */
static void place(cairn_strand *strand, uint32_t *stack, size_t held)
{
    strand->stack = stack;
    strand->only.blocks = stack + 1;
    strand->only.top = strand->only.blocks + held;
}

/* Enlarges the stack. Returns false without memory. */
static bool grow(cairn_strand *strand)
{
    size_t held = crn_stack_held(strand);
    if (crn_lane_is_buried(crn_lane_of(strand)))
        return false;
    size_t size = (size_t)(strand->end - strand->stack) * 3 / 2;
    uint32_t *records = crn_try_realloc(strand->records, size, sizeof *records);
    if (!records)
        return false;
    __atomic_store_n(&strand->records, records, __ATOMIC_RELAXED);
    uint32_t *stack = crn_try_realloc(strand->stack, size, sizeof *stack);
    if (!stack)
        return false;
    place(strand, stack, held);
    strand->end = stack + size;
    return true;
}

/* Invalidates records from `height` on, and of `stride` frames below. */
static void invalidate(cairn_strand *strand, size_t height)
{
    if (height >= strand->resolved)
        return;
    strand->resolved = height > strand->stride ? height - strand->stride : 0;
    strand->stride *= 2;
}

static void drop_to(cairn_strand *strand, size_t height)
{
    strand->only.top = strand->only.blocks + height;
    invalidate(strand, height);
}

/* ---- enter, replace, leave, tick ---- */

void crn_stack_enter(cairn_strand *strand, cairn_block block)
{
    crn_lane_settle(crn_lane_of(strand));
    cairn_priv_stack *only = &strand->only;
    if (!strand->lost && (only->top < strand->end || grow(strand))) {
        *only->top++ = block;
    } else {
        strand->lost++;
        crn_lane_drop(crn_lane_of(strand));
    }
    crn_stack_disarm(strand);
}

void crn_stack_replace(cairn_strand *strand, cairn_block block)
{
    crn_lane_settle(crn_lane_of(strand));
    size_t held = crn_stack_held(strand);
    if (strand->lost) {
        crn_lane_drop(crn_lane_of(strand));
    } else if (held == 0) {
        strand->at_root = block;
    } else {
        strand->only.top[-1] = block;
        invalidate(strand, held - 1);
    }
    crn_stack_disarm(strand);
}

void crn_stack_leave(cairn_strand *strand)
{
    cairn_lane *lane = crn_lane_of(strand);
    crn_lane_settle(lane);
    if (strand->lost)
        strand->lost--;
    else if (strand->only.top > strand->only.blocks)
        drop_to(strand, crn_stack_held(strand) - 1);
    else
        lane->disk->misuses++;
    crn_stack_disarm(strand);
}

void crn_stack_unwind(cairn_strand *strand, cairn_mark mark)
{
    cairn_lane *lane = crn_lane_of(strand);
    crn_lane_settle(lane);
    size_t held = crn_stack_held(strand);
    if (mark > held + strand->lost) {
        lane->disk->misuses++;
    } else if (mark >= held) {
        strand->lost = mark - held;
    } else {
        strand->lost = 0;
        drop_to(strand, mark);
    }
    crn_stack_disarm(strand);
}

cairn_mark cairn_priv_stack_enter(cairn_priv_stack *stack, cairn_block block)
{
    cairn_mark mark = crn_stack_held(strand_of(stack)) + strand_of(stack)->lost;
    crn_stack_enter(strand_of(stack), block);
    return mark;
}

void cairn_priv_stack_replace(cairn_priv_stack *stack, cairn_block block)
{
    crn_stack_replace(strand_of(stack), block);
}

void cairn_priv_stack_leave(cairn_priv_stack *stack)
{
    crn_stack_leave(strand_of(stack));
}

void cairn_priv_stack_unwind(cairn_priv_stack *stack, cairn_mark mark)
{
    crn_stack_unwind(strand_of(stack), mark);
}

/* Charges exact ticks. With sampled ticks, handles the due sample: `count` is already subtracted
 * from the ticks left. */
void cairn_priv_stack_tick(cairn_priv_stack *stack, uint64_t count)
{
    cairn_strand *strand = strand_of(stack);
    crn_graph *graph = &crn_lane_of(strand)->graph;
    if (graph->hot.tick_mode == CAIRN_PRIV_TICKS_EXACT)
        CAIRN_PRIV_ADD(crn_graph_record(graph, crn_stack_resolve(strand))->ticks, count);
    else
        cairn_priv_tick(&strand->hot);
}

/* ---- open and close ---- */

bool crn_stack_begin(cairn_strand *strand)
{
    uint32_t *records = crn_try_calloc((size_t)(strand->end - strand->stack), sizeof *records);
    if (!records)
        return false;
    __atomic_store_n(&strand->records, records, __ATOMIC_RELAXED);
    place(strand, strand->stack, 0);
    strand->only.lane = &crn_lane_of(strand)->graph.hot;
    strand->at_root = CAIRN_BLOCK_ROOT;
    strand->stride = 1;
    crn_strand_arm(strand); /* enter, replace and leave of hot.h stay on the slow path */
    crn_stack_forget(strand);
    return true;
}

void crn_stack_end(cairn_strand *strand)
{
    crn_free(strand->records);
    __atomic_store_n(&strand->records, NULL, __ATOMIC_RELAXED);
}

cairn_strand *cairn_stack_strand(cairn_stack *stack)
{
    return stack ? strand_of((cairn_priv_stack *)stack) : NULL;
}
