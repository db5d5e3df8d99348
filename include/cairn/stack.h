/* SPDX-License-Identifier: MIT
 *
 * stack.h - a strand that keeps only its stack of blocks, which is cheaper than counting.
 *
 * Enter stores the block and the new height; leave stores the height. The context is looked up
 * when a sample is taken. So time, ticks and other charges go to the same contexts as with counts,
 * and calls are not counted.
 *
 *     cairn_stack *stack = cairn_stack_open(lane);
 *     cairn_mark mark = cairn_stack_enter(stack, work);
 *     ...
 *     cairn_stack_unwind(stack, mark);
 *
 * cairn_stack_leave works without the mark, but must read the height that the last event wrote.
 * Call-intensive programs wait for this load; unwinding to a mark only writes the height.
 *
 * A sample does not walk the whole stack: the contexts of the lower frames are cached up to a
 * height below which only the slow path can drop the stack (stack markers: Cheng, Harper, Lee,
 * "Generational stack collection and profile-driven pretenuring", 1998).
 *
 * A tail call leaves no trace: cairn_stack_replace overwrites the block, so that paths equal what
 * a walk over the machine's stack would find, whereas cairn_replace keeps the tail caller.
 *
 * With an exact clock (CAIRN_WALL_EXACT, cairn_stack_tick with a period of 1) each event looks up
 * the context, so such a strand is no cheaper.
 */
#ifndef CAIRN_STACK_H
#define CAIRN_STACK_H

#include "hot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A strand that keeps only its stack; a type of its own, so that the compiler rejects mixed use. */
typedef struct cairn_stack cairn_stack;

/* Opens a strand that keeps only its stack, like cairn_strand_open: its root's calls increase by
 * one. Returns NULL without memory. Thread: the lane's. */
CAIRN_API cairn_stack *cairn_stack_open(cairn_lane *lane);

/* Returns the stack as a strand, for all functions of cairn.h (close, switch, depth, mark, unwind,
 * charge, context, ...); NULL for NULL. The functions of hot.h work on it too, more slowly. The
 * exception is cairn_tick, which may charge a context that has been left. */
CAIRN_API cairn_strand *cairn_stack_strand(cairn_stack *stack);

typedef struct cairn_priv_stack {
    cairn_block *top;    /* one past the last frame */
    cairn_block *high;   /* enter takes the slow path at or above this */
    cairn_block *low;    /* dropping below this takes the slow path */
    cairn_block *blocks; /* the first frame; moves when the stack grows */
    cairn_priv_lane *lane;
} cairn_priv_stack;

CAIRN_API cairn_mark cairn_priv_stack_enter(cairn_priv_stack *stack, cairn_block block);
CAIRN_API void cairn_priv_stack_replace(cairn_priv_stack *stack, cairn_block block);
CAIRN_API void cairn_priv_stack_leave(cairn_priv_stack *stack);
CAIRN_API void cairn_priv_stack_unwind(cairn_priv_stack *stack, cairn_mark mark);
CAIRN_API void cairn_priv_stack_tick(cairn_priv_stack *stack, uint64_t count);

/* Records a call: pushes `block`. Returns the height before the call, for cairn_stack_unwind; 0 for
 * NULL. Allocates only when the stack grows or a sample is pending. Thread: the lane's. Not signal
 * safe. */
CAIRN_PRIV_INLINE cairn_mark cairn_stack_enter(cairn_stack *stack, cairn_block block)
{
    cairn_priv_stack *s = (cairn_priv_stack *)stack;
    if (!s)
        return 0;
    cairn_block *top = s->top;
    if (!CAIRN_PRIV_LIKELY(top < CAIRN_PRIV_READ(s->high)))
        return cairn_priv_stack_enter(s, block);
    *top = block;
    s->top = top + 1;
    return (cairn_mark)(top - s->blocks);
}

/* Records a tail call: `block` replaces the top of the stack. On an empty stack `block` replaces
 * the root, which is counted as misuse. */
CAIRN_PRIV_INLINE void cairn_stack_replace(cairn_stack *stack, cairn_block block)
{
    cairn_priv_stack *s = (cairn_priv_stack *)stack;
    if (!s)
        return;
    cairn_block *place = s->top - 1;
    if (CAIRN_PRIV_LIKELY(place >= CAIRN_PRIV_READ(s->low)))
        *place = block;
    else
        cairn_priv_stack_replace(s, block);
}

/* Records a return. On an empty stack only counts a misuse. */
CAIRN_PRIV_INLINE void cairn_stack_leave(cairn_stack *stack)
{
    cairn_priv_stack *s = (cairn_priv_stack *)stack;
    if (!s)
        return;
    cairn_block *top = s->top - 1;
    if (CAIRN_PRIV_LIKELY(top >= CAIRN_PRIV_READ(s->low)))
        s->top = top;
    else
        cairn_priv_stack_leave(s);
}

/* Drops the stack to a height that cairn_stack_enter or cairn_strand_mark returned: records the
 * return of that call and of all calls above it. */
CAIRN_PRIV_INLINE void cairn_stack_unwind(cairn_stack *stack, cairn_mark mark)
{
    cairn_priv_stack *s = (cairn_priv_stack *)stack;
    if (!s)
        return;
    cairn_block *top = (cairn_block *)((uintptr_t)s->blocks + mark * sizeof(cairn_block));
    if (CAIRN_PRIV_LIKELY(top >= CAIRN_PRIV_READ(s->low) && top <= s->top))
        s->top = top;
    else
        cairn_priv_stack_unwind(s, mark);
}

/* Charges `count` ticks, below 2^62, to the current context: instructions or another unit of the
 * host's clock. */
CAIRN_PRIV_INLINE void cairn_stack_tick(cairn_stack *stack, uint64_t count)
{
    cairn_priv_stack *s = (cairn_priv_stack *)stack;
    if (!s)
        return;
    cairn_priv_lane *lane = s->lane;
    uint64_t mode = CAIRN_PRIV_READ(lane->tick_mode);
    if (mode == CAIRN_PRIV_TICKS_OFF)
        return;
    if (!CAIRN_PRIV_LIKELY(mode == CAIRN_PRIV_TICKS_SAMPLED &&
                           (lane->tick_left -= (int64_t)count) >= 0))
        cairn_priv_stack_tick(s, count);
}

#ifdef __cplusplus
}
#endif

#endif
