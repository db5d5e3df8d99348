/* SPDX-License-Identifier: MIT
 *
 * hot.h - the four verbs that run millions of times a second, inlined.
 *
 * Enter and replace look (context, block) up in a small direct-mapped table; when the
 * entry is there and nothing unusual is due, that is all. Everything unusual (the first
 * visit, growth of the stack, a sample that is due, a disabled profile, exact wall time)
 * comes through one never-taken branch: whoever wants attention sets the strand's stack
 * limits so that the comparison with them fails, as Go does to preempt a goroutine.
 *
 * Names with `priv` are not part of the interface.
 */
#ifndef CAIRN_HOT_H
#define CAIRN_HOT_H

#include "cairn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Records of a context graph, in units of 8 bytes from its base. A context begins with
 * the edge that leads to it from its parent; a cycle's back edge is an edge alone. */
typedef struct cairn_priv_edge {
    uint32_t from;   /* unit of the context that the call came from */
    uint32_t target; /* unit of the context that it leads to */
    uint64_t calls;  /* bit 63: the edge was folded by a limit */
} cairn_priv_edge;

typedef struct cairn_priv_context {
    cairn_priv_edge edge; /* edge.target is the context's own unit */
    uint32_t block;
    uint32_t number; /* 0, 1, 2, ... in order of creation; indexes further columns */
    uint64_t ticks;
    uint64_t wall;
    uint32_t depth; /* length of the path, root included */
    uint32_t spare;
} cairn_priv_context;

/* An entry of the look-up table: from `key` (context, block) to the edge. */
typedef struct cairn_priv_way {
    uint64_t key;
    uint32_t edge;
    uint32_t target;
} cairn_priv_way;

typedef struct cairn_priv_lane {
    char *base;        /* of the graph's records */
    char *ways;        /* the look-up table */
    uint64_t way_mask; /* bytes: (entries - 1) * sizeof(cairn_priv_way) */
    int64_t tick_left; /* until the next sample of ticks */
    uint64_t tick_exact;
} cairn_priv_lane;

typedef struct cairn_priv_strand {
    uint32_t *top;    /* one past the last saved caller */
    uint32_t *high;   /* enter is slow at or above this */
    uint32_t *low;    /* leave is slow at or below this */
    uint64_t current; /* unit of the context that runs */
    cairn_priv_lane *lane;
} cairn_priv_strand;

CAIRN_API void cairn_priv_enter(cairn_priv_strand *strand, cairn_block block);
CAIRN_API void cairn_priv_replace(cairn_priv_strand *strand, cairn_block block);
CAIRN_API void cairn_priv_leave(cairn_priv_strand *strand);
CAIRN_API void cairn_priv_tick(cairn_priv_strand *strand);

#define CAIRN_PRIV_LIKELY(condition) __builtin_expect(!!(condition), 1)

/* One writer a counter, any number of readers: a plain increment, but for the thread
 * sanitizer, which must be told. */
#if defined(__SANITIZE_THREAD__)
#define CAIRN_PRIV_ADD(counter, amount)                                                            \
    __atomic_store_n(&(counter), __atomic_load_n(&(counter), __ATOMIC_RELAXED) + (amount),         \
                     __ATOMIC_RELAXED)
#else
#define CAIRN_PRIV_ADD(counter, amount) ((counter) += (amount))
#endif

/* Contexts are dense, so adding a well-spread multiple of the block is hash enough. */
static inline cairn_priv_way *cairn_priv_way_of(const cairn_priv_lane *lane, uint64_t context,
                                                cairn_block block)
{
    uint64_t offset = context * 8 + (uint64_t)block * (0x9e3779b1u * (uint64_t)16);
    return (cairn_priv_way *)(lane->ways + (offset & lane->way_mask));
}

static inline uint64_t cairn_priv_key(uint64_t context, cairn_block block)
{
    return context | (uint64_t)block << 32;
}

/* A call: `block` is pushed. Thread: the lane's. Not signal safe. Nothing is allocated
 * but for the first visit of a context and the growth of the stack. */
static inline void cairn_enter(cairn_strand *strand, cairn_block block)
{
    cairn_priv_strand *s = (cairn_priv_strand *)strand;
    if (!s)
        return;
    cairn_priv_lane *lane = s->lane;
    uint64_t current = s->current;
    uint32_t *top = s->top;
    cairn_priv_way *way = cairn_priv_way_of(lane, current, block);
    if (CAIRN_PRIV_LIKELY(top < s->high && way->key == cairn_priv_key(current, block))) {
        *top = (uint32_t)current;
        s->top = top + 1;
        s->current = way->target;
        CAIRN_PRIV_ADD(((cairn_priv_edge *)(lane->base + way->edge * (uint64_t)8))->calls, 1);
    } else {
        cairn_priv_enter(s, block);
    }
}

/* A tail call: `block` takes the place of the top of the stack, which does not grow; one
 * leave ends the whole chain. At the bottom of the stack it replaces the root. */
static inline void cairn_replace(cairn_strand *strand, cairn_block block)
{
    cairn_priv_strand *s = (cairn_priv_strand *)strand;
    if (!s)
        return;
    cairn_priv_lane *lane = s->lane;
    uint64_t current = s->current;
    cairn_priv_way *way = cairn_priv_way_of(lane, current, block);
    if (CAIRN_PRIV_LIKELY(s->top < s->high && way->key == cairn_priv_key(current, block))) {
        s->current = way->target;
        CAIRN_PRIV_ADD(((cairn_priv_edge *)(lane->base + way->edge * (uint64_t)8))->calls, 1);
    } else {
        cairn_priv_replace(s, block);
    }
}

/* A return. On an empty stack it is counted as a misuse and otherwise ignored. */
static inline void cairn_leave(cairn_strand *strand)
{
    cairn_priv_strand *s = (cairn_priv_strand *)strand;
    if (!s)
        return;
    uint32_t *top = s->top - 1;
    if (CAIRN_PRIV_LIKELY(top > s->low)) {
        s->current = *top;
        s->top = top;
    } else {
        cairn_priv_leave(s);
    }
}

/* `count` instructions (or whatever the host counts) ran in the current context. */
static inline void cairn_tick(cairn_strand *strand, uint32_t count)
{
    cairn_priv_strand *s = (cairn_priv_strand *)strand;
    if (!s)
        return;
    cairn_priv_lane *lane = s->lane;
    if (CAIRN_PRIV_LIKELY(lane->tick_exact))
        CAIRN_PRIV_ADD(((cairn_priv_context *)(lane->base + s->current * 8))->ticks, count);
    else if ((lane->tick_left -= count) < 0)
        cairn_priv_tick(s);
}

#ifdef __cplusplus
}
#endif

#endif
