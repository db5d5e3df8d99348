/* SPDX-License-Identifier: MIT
 *
 * hot.h - the four verbs that run millions of times a second, inlined.
 *
 * Each record of the context graph remembers where two blocks led from it; which of the
 * two a block may be in is one bit of its hash. Enter and replace follow that, when it is
 * there and nothing unusual is due. Everything unusual (another block, growth of the
 * stack, a sample that is due, a disabled profile, exact wall time) comes through one
 * never-taken branch: whoever wants attention sets the strand's stack limits so that the
 * comparison with them fails, as Go does to preempt a goroutine.
 *
 * Names with `priv` are not part of the interface.
 */
#ifndef CAIRN_HOT_H
#define CAIRN_HOT_H

#include "cairn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a block leads to. Records are named by unit: 8 bytes from the base. */
typedef struct cairn_priv_edge {
    cairn_block block; /* CAIRN_BLOCK_FOLDED in an empty slot */
    uint32_t node_offset;
} cairn_priv_edge;

/* What changes all the time in a record: one for each edge of the graph, so that there is
 * no case to tell apart. */
typedef struct cairn_priv_record {
    uint64_t calls;
    uint64_t ticks;
    cairn_priv_edge edges[2];
} cairn_priv_record;

typedef struct cairn_priv_span cairn_priv_span;

/* Where a lane's spans go; see span.h. Numbers count up from 1. */
typedef struct cairn_priv_spans {
    cairn_priv_span *next, *limit; /* in a chunk of them; where they meet, beginning is slow */
    cairn_priv_span **chunks;
    uint32_t used;  /* the last one's number */
    uint32_t quick; /* ending one with a number beyond this is slow */
} cairn_priv_spans;

/* Where a block led to from a record, when that was last asked; direct-mapped. */
typedef struct cairn_priv_cached_edge {
    uint64_t key;         /* block << 32 | unit; 0 is free, for record 0 is nothing */
    cairn_priv_edge edge; /* as the record's own has it then */
} cairn_priv_cached_edge;

/* Where a block led to when it was last entered about as deep in the machine's stack: of hosts
 * whose code is compiled. Most often it leads there again, and that needs no knowledge of what runs
 * but to be checked, so that a processor which foretells branches need not wait for what ran
 * before. Each block has several: which of them is told by the stack pointer; where what is entered
 * does not become what runs, nobody waits for it, and what runs tells. */
typedef struct cairn_priv_cache_entry {
    uint32_t from, to; /* units; from 0: none */
} cairn_priv_cache_entry;

enum { CAIRN_PRIV_INLINE_CACHE_ENTRIES = 32 };

/* Where a block's guesses are, in bytes from those of block 0, which has none: as have blocks that
 * came too late for there to be room. */
CAIRN_API uint32_t cairn_priv_inline_cache_of(cairn_block block);

typedef struct cairn_priv_lane {
    char *base;        /* of the records */
    int64_t tick_left; /* until the next sample of ticks */
    uint64_t tick_mode;
    cairn_priv_cached_edge *edge_cache; /* what the slots have forgotten */
    uint64_t edge_cache_mask;
    cairn_priv_spans spans;
    uint64_t names; /* whose numbers blocks, keys and texts have: each profile's own, 0 is none's */
    /* Counters that a host adds to by itself (cairn_context_counters), of contexts below a unit,
     * which the runtime makes 0 whenever they are not to be touched. */
    uint64_t *host_counters;
    uint64_t host_counters_end;
    /* Where a tree's counters are (tree.h): as the ways, but a key may be in either of a pair. */
    cairn_priv_cached_edge *nodes;
    uint64_t node_mask;                   /* of pairs */
    cairn_priv_cache_entry *inline_cache; /* or NULL */
} cairn_priv_lane;

enum { CAIRN_PRIV_TICKS_EXACT = 0, CAIRN_PRIV_TICKS_SAMPLED = 1, CAIRN_PRIV_TICKS_OFF = 2 };

/* A span that has not ended: its number, 0 if it was dropped; and the frames below its own. */
typedef struct cairn_priv_open {
    uint32_t span;
    uint32_t height;
} cairn_priv_open;

typedef struct cairn_priv_strand {
    uint32_t *top;    /* one past the last saved caller */
    uint32_t *high;   /* enter and replace are slow at or above this */
    uint32_t *low;    /* leave is slow at or below this */
    uint64_t current; /* unit of the record that runs */
    cairn_priv_lane *lane;
    uint32_t *bottom;          /* of the stack: top when it is empty */
    cairn_priv_open *open;     /* one past the innermost open span */
    cairn_priv_open *open_end; /* beginning a span is slow at or above this */
    /* Of hosts that keep units themselves, instead of pushing them: what is added to a unit so that
     * it is known whose it is; and the same, or CAIRN_PRIV_NO_MARK when leaving is slow. */
    uint64_t mark;
    uint64_t leaving;
    /* Of hosts whose code is compiled, so that no lane is to be looked into: the lane's, but that
     * guesses are none when entering is slow. */
    char *base;
    cairn_priv_cache_entry *inline_cache;
} cairn_priv_strand;

#define CAIRN_PRIV_NO_MARK ((uint64_t)1)

CAIRN_API void cairn_priv_enter(cairn_priv_strand *strand, cairn_block block);
CAIRN_API void cairn_priv_replace(cairn_priv_strand *strand, cairn_block block);
CAIRN_API void cairn_priv_leave(cairn_priv_strand *strand);
CAIRN_API void cairn_priv_tick(cairn_priv_strand *strand);
/* Makes room for guesses, if there is none and there can be. */
CAIRN_API void cairn_priv_make_inline_cache(cairn_priv_strand *strand);
/* What was kept, mark and all, as a unit of the graph that the strand has now; 0 if that is not
 * known: it was another thread's. A child of fork has a graph of its own. */
CAIRN_API uint64_t cairn_priv_kept(cairn_priv_strand *strand, uint64_t kept);
/* On the path of what runs, what is called from that unit; 0: it does not lead there. */
CAIRN_API uint64_t cairn_priv_below(cairn_priv_strand *strand, uint64_t node_offset);
/* There is room for a frame from now on; false: no memory. */
CAIRN_API bool cairn_priv_room(cairn_priv_strand *strand);
/* What runs is pushed once more, without a call. */
CAIRN_API void cairn_priv_again(cairn_priv_strand *strand);

#define CAIRN_PRIV_LIKELY(condition) __builtin_expect(!!(condition), 1)

/* One writer a counter, any number of readers: a plain increment. What another thread sets to
 * ask for attention is read each time. The thread sanitizer must be told of both; gcc takes
 * an atomic load for a change of all memory, so that it is not used otherwise. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CAIRN_PRIV_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(CAIRN_PRIV_TSAN)
#define CAIRN_PRIV_ADD(counter, amount)                                                            \
    __atomic_store_n(&(counter), __atomic_load_n(&(counter), __ATOMIC_RELAXED) + (amount),         \
                     __ATOMIC_RELAXED)
#define CAIRN_PRIV_READ(word) __atomic_load_n(&(word), __ATOMIC_RELAXED)
#define CAIRN_PRIV_PUT(word, value) __atomic_store_n(&(word), (value), __ATOMIC_RELAXED)
#else
#define CAIRN_PRIV_ADD(counter, amount) ((counter) += (amount))
#define CAIRN_PRIV_READ(word) (*(__typeof__(word) volatile *)&(word))
#define CAIRN_PRIV_PUT(word, value) ((word) = (value))
#endif

CAIRN_PRIV_INLINE cairn_priv_record *cairn_priv_record_at(const cairn_priv_lane *lane,
                                                          uint64_t node_offset)
{
    return (cairn_priv_record *)(lane->base + node_offset * 8);
}

CAIRN_PRIV_INLINE cairn_priv_edge *cairn_priv_edge_of(cairn_priv_record *record, cairn_block block)
{
    return &record->edges[block * 0x9e3779b1u >> 31];
}

/* The unit that the slot for `block` leads to. gcc must not see that the slot's address was
 * worked out before: it would keep it in a register, which lengthens by two cycles the chain
 * from one context to the next. */
CAIRN_PRIV_INLINE uint64_t cairn_priv_next(const cairn_priv_lane *lane, uint64_t current,
                                           cairn_block block)
{
    __asm__("" : "+r"(current));
    return cairn_priv_edge_of(cairn_priv_record_at(lane, current), block)->node_offset;
}

/* A call: `block` is pushed. Thread: the lane's. Not signal safe. Nothing is allocated
 * but for the first visit of a context and the growth of the stack. */
CAIRN_PRIV_INLINE void cairn_enter(cairn_strand *strand, cairn_block block)
{
    cairn_priv_strand *s = (cairn_priv_strand *)strand;
    if (!s)
        return;
    cairn_priv_lane *lane = s->lane;
    uint64_t current = s->current;
    uint32_t *top = s->top;
    const cairn_priv_edge *slot = cairn_priv_edge_of(cairn_priv_record_at(lane, current), block);
    if (CAIRN_PRIV_LIKELY(top < CAIRN_PRIV_READ(s->high) && slot->block == block)) {
        uint64_t node_offset = cairn_priv_next(lane, current, block);
        *top = (uint32_t)current;
        s->top = top + 1;
        CAIRN_PRIV_PUT(s->current, node_offset);
        CAIRN_PRIV_ADD(cairn_priv_record_at(lane, node_offset)->calls, 1);
    } else {
        cairn_priv_enter(s, block);
    }
}

/* A tail call: `block` takes the place of the top of the stack, which does not grow; one
 * leave ends the whole chain. On an empty stack it takes the place of the root, which is
 * counted as a misuse when the strand ends. */
CAIRN_PRIV_INLINE void cairn_replace(cairn_strand *strand, cairn_block block)
{
    cairn_priv_strand *s = (cairn_priv_strand *)strand;
    if (!s)
        return;
    cairn_priv_lane *lane = s->lane;
    uint64_t current = s->current;
    const cairn_priv_edge *slot = cairn_priv_edge_of(cairn_priv_record_at(lane, current), block);
    if (CAIRN_PRIV_LIKELY(s->top < CAIRN_PRIV_READ(s->high) && slot->block == block)) {
        uint64_t node_offset = cairn_priv_next(lane, current, block);
        CAIRN_PRIV_PUT(s->current, node_offset);
        CAIRN_PRIV_ADD(cairn_priv_record_at(lane, node_offset)->calls, 1);
    } else {
        cairn_priv_replace(s, block);
    }
}

/* A return. On an empty stack it is counted as a misuse and otherwise ignored. */
CAIRN_PRIV_INLINE void cairn_leave(cairn_strand *strand)
{
    cairn_priv_strand *s = (cairn_priv_strand *)strand;
    if (!s)
        return;
    uint32_t *top = s->top - 1;
    if (CAIRN_PRIV_LIKELY(top > CAIRN_PRIV_READ(s->low))) {
        CAIRN_PRIV_PUT(s->current, *top);
        s->top = top;
    } else {
        cairn_priv_leave(s);
    }
}

/* `count` instructions (or whatever the host counts) ran in the current context. */
CAIRN_PRIV_INLINE void cairn_tick(cairn_strand *strand, uint32_t count)
{
    cairn_priv_strand *s = (cairn_priv_strand *)strand;
    if (!s)
        return;
    cairn_priv_lane *lane = s->lane;
    uint64_t mode = CAIRN_PRIV_READ(lane->tick_mode);
    if (CAIRN_PRIV_LIKELY(mode == CAIRN_PRIV_TICKS_EXACT))
        CAIRN_PRIV_ADD(cairn_priv_record_at(lane, s->current)->ticks, count);
    else if (mode == CAIRN_PRIV_TICKS_SAMPLED && (lane->tick_left -= count) < 0)
        cairn_priv_tick(s);
}

#ifdef __cplusplus
}
#endif

#include "stack.h" /* whichever of the three is included first */

#endif
