/* SPDX-License-Identifier: MIT
 *
 * hot.h - enter, replace, leave and tick, inlined, because they run millions of times a second.
 *
 * Each record of the context graph caches five callees, one for each fifth of the blocks' hashes,
 * as node offsets. Enter and replace follow the cached callee if its record has the right block.
 * Everything else (another callee, growth of the stack, a sample, a disabled profile, exact wall
 * time) takes the slow path behind one branch: whatever needs attention sets the strand's stack
 * limits so that the comparison with them fails, as Go preempts goroutines. Exact wall time has
 * limits and functions of its own there, which charge the time and do the rest as above.
 *
 * Names with `priv` are not part of the interface.
 */
#ifndef CAIRN_HOT_H
#define CAIRN_HOT_H

#include "cairn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A call edge: its block, and the node offset of its record, in units of 8 bytes from the base of
 * the records. */
typedef struct cairn_priv_edge {
    cairn_block block;
    uint32_t node_offset;
} cairn_priv_edge;

enum { CAIRN_PRIV_CALLEES = 5 };

/* The hot data of a record. Each edge of the graph has a record: an alias is a record like a
 * context. */
typedef struct cairn_priv_record {
    uint64_t calls;
    uint64_t ticks;
    cairn_block block;                    /* constant */
    uint32_t callees[CAIRN_PRIV_CALLEES]; /* node offsets of recent callees, by hash of the block */
} cairn_priv_record;

/* The fixed data of a record: origin and block, which never change, and wall time, which is written
 * rarely. */
typedef struct cairn_priv_link {
    uint32_t from;   /* the caller's context; 0 for the root */
    uint32_t target; /* the context that the edge leads to: the record itself, unless an alias */
    uint32_t block;
    uint32_t depth; /* in a context: length of its path, including the root; in an alias: its
                       kind */
    uint64_t wall;  /* wall time in units of the capture's clock */
} cairn_priv_link;

typedef struct cairn_priv_span cairn_priv_span;

/* The next free spans of a lane; see span.h. Spans are numbered from 1. */
typedef struct cairn_priv_spans {
    cairn_priv_span *next, *limit; /* within a chunk; unless `next` is below `limit`, the next begin
                                      takes the slow path */
    cairn_priv_span **chunks;      /* the lane's chunks, by number */
    uint32_t used;                 /* number of the newest span */
    uint32_t quick;                /* ending a span with a higher number takes the slow path */
} cairn_priv_spans;

/* An entry of the lane's direct-mapped edge cache: an edge of a record. */
typedef struct cairn_priv_cached_edge {
    uint64_t key; /* block << 32 | node offset of the caller; 0: the entry is free */
    cairn_priv_edge edge;
} cairn_priv_cached_edge;

/* An entry of a block's inline cache: if the current context is `from`, the block leads to `to`.
 * The entry is selected by the node offset of `from`. */
typedef struct cairn_priv_cache_entry {
    uint32_t from, to; /* node offsets; `from` is 0 in an empty entry */
} cairn_priv_cache_entry;

enum { CAIRN_PRIV_INLINE_CACHE_ENTRIES = 64 };

typedef struct cairn_priv_lane {
    char *base;        /* base address of the records */
    int64_t tick_left; /* ticks until the next sample; -1 while ticks are exact */
    uint64_t tick_mode;
    cairn_priv_cached_edge *edge_cache; /* searched if a record does not cache the callee */
    uint64_t edge_cache_mask;
    cairn_priv_spans spans;
    uint64_t names; /* id of the profile's numbers of blocks, keys and texts; no other profile has
                       it; 0: an abandoned lane */
    /* Counters that a host increments directly (cairn_context_counters), of contexts with node
     * offsets below host_counters_end. The runtime sets host_counters_end to 0 while the host must
     * not touch the counters. */
    uint64_t *host_counters;
    uint64_t host_counters_end;
    /* Cache for counter trees (host.h). Like the edge cache, but a key may be in either entry of a
     * pair. */
    cairn_priv_cached_edge *nodes;
    uint64_t node_mask; /* mask of a pair's index */
    /* The inline caches of all blocks, or NULL. In a child process the kernel zeroes them, so that
     * all miss. Only then `from` of the first entry is 0. */
    cairn_priv_cache_entry *inline_cache;
} cairn_priv_lane;

enum { CAIRN_PRIV_TICKS_EXACT = 0, CAIRN_PRIV_TICKS_SAMPLED = 1, CAIRN_PRIV_TICKS_OFF = 2 };

/* An open span: its number, and the stack height at its begin. */
typedef struct cairn_priv_open {
    uint32_t span;
    uint32_t height;
} cairn_priv_open;

typedef struct cairn_priv_strand {
    uint32_t *top;    /* one past the last pushed caller */
    uint32_t *high;   /* enter and replace take the slow path at or above this */
    uint32_t *low;    /* leave takes the slow path at or below this */
    uint64_t current; /* node offset of the current record */
    cairn_priv_lane *lane;
    uint32_t *bottom;          /* bottom of the stack; equals top when the stack is empty */
    cairn_priv_open *open;     /* one past the innermost open span */
    cairn_priv_open *open_end; /* beginning a span takes the slow path at or above this */
    /* For hosts that save callers in their own frames: the graph tag, which they add to each saved
     * node offset; and the tag that leave expects. While leave must take the slow path, that is
     * CAIRN_PRIV_NO_TAG (host.h). */
    uint64_t graph_tag;
    uint64_t leave_tag;
    char *base; /* copy of the lane's */
    /* For compiled hosts: copy of the lane's; an empty cache while enter must take the slow
     * path. */
    cairn_priv_cache_entry *inline_cache;
    uint64_t floor; /* number of frames at the bottom that stand for those of earlier periods
                       (host.h) */
    cairn_priv_link *links; /* the fixed data of the lane's records; copy of the lane's */
    uint64_t *charged;      /* the clock up to which the lane has charged wall time; then the number
                               of the record that it charged last */
    /* While events have nothing to do on the slow path but to charge exact wall time: enter stays
     * in this header below exact_high, leave above exact_low. At other times the comparisons
     * fail. */
    uint32_t *exact_high, *exact_low;
} cairn_priv_strand;

CAIRN_API void cairn_priv_enter(cairn_priv_strand *strand, cairn_block block);
/* Enters when the stack has space and exact wall time is charged, but the callee is not cached. */
CAIRN_API void cairn_priv_enter_charged(cairn_priv_strand *strand, cairn_block block);
CAIRN_API void cairn_priv_replace(cairn_priv_strand *strand, cairn_block block);
CAIRN_API void cairn_priv_leave(cairn_priv_strand *strand);
CAIRN_API void cairn_priv_tick(cairn_priv_strand *strand);
/* Counts a misuse, and notes the first, if the current block is not `block`. */
CAIRN_API void cairn_priv_check(cairn_priv_strand *strand, cairn_block block);
#define CAIRN_PRIV_LIKELY(condition) __builtin_expect(!!(condition), 1)

/* ADD increments a counter. READ and PUT read and store a word that other threads use. A counter
 * has one writer, so a plain increment suffices. Only the thread sanitizer gets atomic operations:
 * gcc treats them as changes of all memory. */
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

/* Returns the index of the callee entry that a block uses in each record. */
CAIRN_PRIV_INLINE uint64_t cairn_priv_callee_index(cairn_block block)
{
    return (uint64_t)(block * 0x9e3779b1u) * CAIRN_PRIV_CALLEES >> 32;
}

/* Returns the address of the callee entry that `block` uses in the record at node offset 0. The asm
 * makes gcc compute it before the current record is known: from one context to the next there is
 * then one load instead of an addition and a load. */
CAIRN_PRIV_INLINE char *cairn_priv_callee_entry(char *base, cairn_block block)
{
    char *at = base + offsetof(cairn_priv_record, callees) +
               cairn_priv_callee_index(block) * sizeof(uint32_t);
    __asm__("" : "+r"(at));
    return at;
}

/* Returns the cached callee for `block` of the record at `current`, as a node offset. The entry may
 * hold another block's callee: compare the block of the callee's record. */
CAIRN_PRIV_INLINE uint64_t cairn_priv_callee(char *base, uint64_t current, cairn_block block)
{
    return *(const uint32_t *)(cairn_priv_callee_entry(base, block) + current * 8);
}

/* If the callee with the node offset `next` has the block, makes it current and counts the call.
 * Otherwise returns false. */
CAIRN_PRIV_INLINE bool cairn_priv_step_to(cairn_priv_strand *s, uint64_t next, cairn_block block)
{
    cairn_priv_record *callee = (cairn_priv_record *)(s->base + next * 8);
    if (!CAIRN_PRIV_LIKELY(callee->block == block))
        return false;
    CAIRN_PRIV_PUT(s->current, next);
    CAIRN_PRIV_ADD(callee->calls, 1);
    return true;
}

/* If the current record caches the callee for `block`, makes that callee current and counts the
 * call. Otherwise returns false. */
CAIRN_PRIV_INLINE bool cairn_priv_step(cairn_priv_strand *s, uint64_t current, cairn_block block)
{
    return cairn_priv_step_to(s, cairn_priv_callee(s->base, current, block), block);
}

/* ---- exact wall time ----
 *
 * The functions for it are neither inlined, because they are long, nor part of the library, because
 * a call through the linkage table costs more than their instructions. The processor executes
 * nothing beside a reading of the time stamp counter, but the begin of the reading hides
 * calculations: the asm statements make compilers calculate before it. */

#define CAIRN_PRIV_APART CAIRN_PRIV_INLINE __attribute__((noinline))
#pragma GCC diagnostic push
/* gcc warns of "inline" with "noinline". Without "inline" it compiles unused functions, too. */
#pragma GCC diagnostic ignored "-Wattributes"

/* Reads the time stamp counter. Processors without it never come here: exact_high is NULL. */
CAIRN_PRIV_INLINE uint64_t cairn_priv_now(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
}

/* Returns the number of the record at a node offset: divides by the size of a record, 5 words,
 * which has this inverse modulo 2^32. Ignores the upper 32 bits, where hosts may keep a graph tag.
 */
CAIRN_PRIV_INLINE uint32_t cairn_priv_record_number(uint64_t node_offset)
{
    return (uint32_t)node_offset * 0xcccccccdu;
}

/* Adds the time from charged[0] to `now` to `wall`, the wall time of a record, unless the time is
 * charged already. */
CAIRN_PRIV_INLINE void cairn_priv_charge_until(uint64_t *charged, uint64_t *wall, uint64_t record,
                                               uint64_t now)
{
    uint64_t passed;
    if (!CAIRN_PRIV_LIKELY(!__builtin_sub_overflow(now, charged[0], &passed)))
        return;
    CAIRN_PRIV_ADD(*wall, passed);
    CAIRN_PRIV_PUT(charged[0], now);
    CAIRN_PRIV_PUT(charged[1], record);
}

/* Charges the record at a node offset up to now. The offset was often just stored, so only the
 * multiplication stands before the reading. */
CAIRN_PRIV_INLINE void cairn_priv_charge(cairn_priv_strand *s, uint64_t node_offset)
{
    uint64_t record = cairn_priv_record_number(node_offset);
    __asm__ volatile("" : "+r"(record));
    uint64_t now = cairn_priv_now();
    cairn_priv_charge_until(s->charged, &s->links[record].wall, record, now);
}

/* Charges the record at `current`. If the record caches the callee for `block`, makes that callee
 * current and counts the call. Otherwise returns false. */
CAIRN_PRIV_INLINE bool cairn_priv_charge_and_step(cairn_priv_strand *s, uint64_t current,
                                                  cairn_block block)
{
    const char *callee = cairn_priv_callee_entry(s->base, block) + current * 8;
    uint64_t record = cairn_priv_record_number(current), *wall = &s->links[record].wall;
    __asm__ volatile("" : "+r"(callee), "+r"(record), "+r"(wall));
    cairn_priv_charge_until(s->charged, wall, record, cairn_priv_now());
    return cairn_priv_step_to(s, *(const uint32_t *)callee, block);
}

/* Enter at or above `high`, and leave at or below `low`. */
CAIRN_PRIV_APART void cairn_priv_enter_at_limit(cairn_priv_strand *s, cairn_block block,
                                                uint64_t current, uint32_t *top)
{
    if (CAIRN_PRIV_LIKELY(top < CAIRN_PRIV_READ(s->exact_high))) {
        *top = (uint32_t)current;
        if (CAIRN_PRIV_LIKELY(cairn_priv_charge_and_step(s, current, block)))
            s->top = top + 1;
        else
            cairn_priv_enter_charged(s, block);
    } else {
        cairn_priv_enter(s, block);
    }
}

CAIRN_PRIV_APART void cairn_priv_leave_at_limit(cairn_priv_strand *s, uint32_t *top)
{
    if (CAIRN_PRIV_LIKELY(top > CAIRN_PRIV_READ(s->exact_low))) {
        uint64_t current = s->current;
        CAIRN_PRIV_PUT(s->current, *top);
        s->top = top;
        cairn_priv_charge(s, current);
    } else {
        cairn_priv_leave(s);
    }
}

#pragma GCC diagnostic pop

/* ---- the verbs ---- */

/* Records a call: pushes `block`. Allocates only at the first visit of a context and when the stack
 * grows. Thread: the lane's. Not signal safe. */
CAIRN_PRIV_INLINE void cairn_enter(cairn_strand *strand, cairn_block block)
{
    cairn_priv_strand *s = (cairn_priv_strand *)strand;
    if (!s)
        return;
    uint64_t current = s->current;
    uint32_t *top = s->top;
    if (CAIRN_PRIV_LIKELY(top < CAIRN_PRIV_READ(s->high)) && cairn_priv_step(s, current, block)) {
        *top = (uint32_t)current;
        s->top = top + 1;
    } else {
        cairn_priv_enter_at_limit(s, block, current, top);
    }
}

/* Records a tail call: `block` replaces the top of the stack. One leave ends a chain of tail calls.
 * On an empty stack `block` replaces the root, which is counted as misuse. */
CAIRN_PRIV_INLINE void cairn_replace(cairn_strand *strand, cairn_block block)
{
    cairn_priv_strand *s = (cairn_priv_strand *)strand;
    if (!s)
        return;
    if (!CAIRN_PRIV_LIKELY(s->top < CAIRN_PRIV_READ(s->high)) ||
        !cairn_priv_step(s, s->current, block))
        cairn_priv_replace(s, block);
}

/* Records a return. On an empty stack only counts a misuse. */
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
        cairn_priv_leave_at_limit(s, top);
    }
}

/* Records a return from `block`. If CAIRN_CHECKED is defined before the include and another block
 * is current, counts a misuse; the report names the first such pair. Checks nothing once recording
 * was switched off. Without CAIRN_CHECKED it is cairn_leave. Thread: the lane's. */
CAIRN_PRIV_INLINE void cairn_leave_block(cairn_strand *strand, cairn_block block)
{
#ifdef CAIRN_CHECKED
    if (strand)
        cairn_priv_check((cairn_priv_strand *)strand, block);
#else
    (void)block;
#endif
    cairn_leave(strand);
}

/* Charges `count` ticks, below 2^62, to the current context: instructions or another unit of the
 * host's clock. */
CAIRN_PRIV_INLINE void cairn_tick(cairn_strand *strand, uint64_t count)
{
    cairn_priv_strand *s = (cairn_priv_strand *)strand;
    if (!s)
        return;
    cairn_priv_lane *lane = s->lane;
    /* The compiler knows the record from an enter in the same function only if the record is read
     * before the branch. */
    cairn_priv_record *record = (cairn_priv_record *)(s->base + s->current * 8);
    uint64_t mode = CAIRN_PRIV_READ(lane->tick_mode);
    if (CAIRN_PRIV_LIKELY(mode == CAIRN_PRIV_TICKS_EXACT)) {
        CAIRN_PRIV_ADD(record->ticks, count);
    } else if (mode == CAIRN_PRIV_TICKS_SAMPLED && (lane->tick_left -= (int64_t)count) < 0) {
        cairn_priv_tick(s);
    }
}

#ifdef __cplusplus
}
#endif

#include "stack.h" /* last: the three headers may be included in any order */

#endif
