/* SPDX-License-Identifier: MIT
 *
 * stack.h - cheaper than counts: a strand that keeps its stack of blocks and nothing else.
 *
 * Entering stores the block and the new height; leaving stores the height. Which context
 * that is, is only worked out when somebody asks: when a sample is taken. So time (and
 * ticks, and whatever is charged) goes to the contexts that it would go to with counts, and
 * calls are not counted at all.
 *
 *     cairn_stack *stack = cairn_stack_open(lane);
 *     cairn_mark mark = cairn_stack_enter(stack, work);
 *     ...
 *     cairn_stack_unwind(stack, mark);
 *
 * cairn_stack_leave does without the mark. It has to read the height that the last event
 * wrote, which in programs that do little but call is what the processor waits for; going back
 * to a mark only writes it.
 *
 * A sample does not walk the whole stack: what the lower frames led to is kept, and valid up
 * to a height below which the stack cannot be dropped but by the slow path, which lowers it
 * (Cheng, Harper, Lee, "Generational stack collection and profile-driven pretenuring", 1998:
 * stack markers).
 *
 * A tail call leaves no trace here: cairn_stack_replace overwrites the block that it replaces,
 * so that a path is what a walk over the machine's stack would find, where cairn_replace keeps
 * who tail-called.
 *
 * What is exact has the context looked up at every event and so gains nothing by being here:
 * CAIRN_WALL_EXACT, and cairn_stack_tick with a period of 1. It is right all the same.
 */
#ifndef CAIRN_STACK_H
#define CAIRN_STACK_H

#include "hot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A strand that keeps only its stack. Another type than cairn_strand, so that the compiler
 * keeps their verbs apart. */
typedef struct cairn_stack cairn_stack;

/* Opens a strand of this kind. As cairn_strand_open, and its root's calls go up by one, too.
 * NULL when there is no memory. Thread: the lane's. */
CAIRN_API cairn_stack *cairn_stack_open(cairn_lane *lane);

/* The strand that it is, for all that cairn.h does with strands: close, switch, depth, mark,
 * unwind, charge, context, ... The verbs of hot.h do with it what the ones here do, only
 * slower, but for cairn_tick, which may charge a context that has been left meanwhile. NULL for
 * NULL. */
CAIRN_API cairn_strand *cairn_stack_strand(cairn_stack *stack);

typedef struct cairn_priv_stack {
    cairn_block *top;    /* one past the last frame */
    cairn_block *high;   /* enter is slow at or above this */
    cairn_block *low;    /* what leads below this is slow */
    cairn_block *blocks; /* the first frame; moves when the stack grows */
    cairn_priv_lane *lane;
} cairn_priv_stack;

CAIRN_API cairn_mark cairn_priv_stack_enter(cairn_priv_stack *stack, cairn_block block);
CAIRN_API void cairn_priv_stack_replace(cairn_priv_stack *stack, cairn_block block);
CAIRN_API void cairn_priv_stack_leave(cairn_priv_stack *stack);
CAIRN_API void cairn_priv_stack_unwind(cairn_priv_stack *stack, cairn_mark mark);
CAIRN_API void cairn_priv_stack_tick(cairn_priv_stack *stack, uint32_t count);

/* A call: `block` is pushed. Returns the height before it, for cairn_stack_unwind; 0 for NULL.
 * Thread: the lane's. Not signal safe. Nothing is allocated but for the growth of the stack
 * and for a sample that is due. */
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

/* A tail call: `block` takes the place of the top of the stack. On an empty stack it takes the
 * place of the root, which is counted as a misuse when the strand ends. */
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

/* A return. On an empty stack it is counted as a misuse and otherwise ignored. */
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

/* Drops to a height that cairn_stack_enter or cairn_strand_mark gave: the return of that
 * call, whatever it left on the stack above itself. As cairn_strand_unwind. */
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

/* `count` instructions (or whatever the host counts) ran in the current context. */
CAIRN_PRIV_INLINE void cairn_stack_tick(cairn_stack *stack, uint32_t count)
{
    cairn_priv_stack *s = (cairn_priv_stack *)stack;
    if (!s)
        return;
    cairn_priv_lane *lane = s->lane;
    uint64_t mode = CAIRN_PRIV_READ(lane->tick_mode);
    if (mode == CAIRN_PRIV_TICKS_OFF)
        return;
    if (!CAIRN_PRIV_LIKELY(mode == CAIRN_PRIV_TICKS_SAMPLED && (lane->tick_left -= count) >= 0))
        cairn_priv_stack_tick(s, count);
}

#ifdef __cplusplus
}
#endif

#endif
