/* SPDX-License-Identifier: MIT
 *
 * The slow path of enter, replace, leave and tick.
 */
#include "base/limits.h"
#include "base/memory.h"
#include "runtime/exact.h"
#include "runtime/runtime.h"
#include "runtime/sample_moments.h"
#include "runtime/stack.h"

enum {
    STACK_FIRST = CRN_FIRST(32, 2), /* entries; entry 0 is unused */
    STACK_SPARE = 4                 /* entries behind the end, which compiled hosts write without a
                                       check */
};

/* ---- stack limits ---- */

static inline bool is_off(const cairn_strand *strand)
{
    return CAIRN_PRIV_READ(strand->hot.high) == CRN_HIGH_OFF;
}

/* Enlarges or allocates the stack. Returns false without memory, or if the lane was abandoned. */
bool crn_strand_grow(cairn_strand *strand)
{
    if (crn_lane_is_buried(crn_lane_of(strand)))
        return false;
    size_t used = strand->stack ? (size_t)(strand->hot.top - strand->stack) : 1;
    size_t size = strand->stack ? (size_t)(strand->end - strand->stack) * 3 / 2 : STACK_FIRST;
    uint32_t *stack = crn_try_realloc(strand->stack, size + STACK_SPARE, sizeof *stack);
    if (!stack)
        return false;
    strand->stack = stack;
    strand->end = stack + size;
    strand->hot.bottom = stack + 1;
    strand->hot.top = stack + used;
    crn_strand_disarm(strand);
    return true;
}

/* Makes space for one frame. The stack may have to grow more than once, because compiled hosts may
 * have pushed frames behind its end. */
bool cairn_priv_room(cairn_priv_strand *priv)
{
    cairn_strand *strand = (cairn_strand *)priv;
    while (strand->hot.top >= strand->end)
        if (!crn_strand_grow(strand))
            return false;
    return true;
}

/* Pushes the current record as the caller. Without memory for the frame counts it as lost and
 * returns false, also for all frames above a lost one. */
static bool push(cairn_strand *strand)
{
    if (strand->lost || !cairn_priv_room(&strand->hot)) {
        strand->lost++;
        crn_strand_arm(strand);
        return false;
    }
    *strand->hot.top++ = (uint32_t)strand->hot.current;
    return true;
}

void crn_strand_push(cairn_strand *strand, uint32_t record)
{
    crn_lane_settle(crn_lane_of(strand));
    if (strand->records) /* a strand that keeps only a stack of blocks */
        return;
    if (!push(strand))
        crn_lane_drop(crn_lane_of(strand));
    else
        CAIRN_PRIV_PUT(strand->hot.current, record * (uint64_t)CRN_RECORD_WORDS);
}

/* ---- enter, replace, leave ---- */

/* Follows the edge for `block` and counts the call. */
static inline void step(cairn_strand *strand, cairn_block block)
{
    cairn_lane *lane = crn_lane_of(strand);
    uint64_t callee = cairn_priv_callee(lane->graph.hot.base, strand->hot.current, block);
    if (cairn_priv_record_at(&lane->graph.hot, callee)->block != block)
        callee =
            crn_lane_follow(lane, crn_strand_record(strand), block) * (uint64_t)CRN_RECORD_WORDS;
    crn_strand_call(&strand->hot, callee);
}

/* Handles what is pending. Returns true if recording is on. */
static inline bool attend(cairn_strand *strand)
{
    cairn_lane *lane = crn_lane_of(strand);
    crn_lane_settle(lane);
    const uint32_t *high = CAIRN_PRIV_READ(strand->hot.high);
    if (high != strand->end && high != CRN_HIGH_OFF && !crn_exact_only_charges(strand))
        crn_strand_disarm(strand);
    return crn_profile_mode(lane->profile) != CRN_MODE_OFF;
}

/* Enters when something may be pending. It is not inlined, so that its caller needs no stack frame
 * in the common case. */
__attribute__((noinline)) static void enter_attending(cairn_strand *strand, cairn_block block)
{
    if (strand->records) {
        crn_stack_enter(strand, block);
        return;
    }
    bool on = attend(strand);
    if (!push(strand))
        crn_lane_drop(crn_lane_of(strand));
    else if (on)
        step(strand, block);
}

__attribute__((noinline)) static void replace_attending(cairn_strand *strand, cairn_block block)
{
    if (strand->records) {
        crn_stack_replace(strand, block);
        return;
    }
    bool on = attend(strand);
    if (strand->lost)
        crn_lane_drop(crn_lane_of(strand));
    else if (on)
        step(strand, block);
}

/* Finds or adds the edge for `block`, when nothing is pending. Returns the callee's node offset; 0
 * if the block was never added to the profile. */
static inline uint64_t extend(cairn_strand *strand, cairn_block block)
{
    cairn_lane *lane = crn_lane_of(strand);
    if (block >= __atomic_load_n(&lane->profile->block_count, __ATOMIC_ACQUIRE))
        return 0;
    return crn_graph_extend(&lane->graph, crn_strand_record(strand), block) *
           (uint64_t)CRN_RECORD_WORDS;
}

/* Makes the callee for `block` current and counts the call, when nothing is pending and the record
 * does not cache the callee. Returns false if the block was never added to the profile. */
static inline bool follow(cairn_priv_strand *priv, cairn_block block)
{
    uint64_t callee = crn_graph_recall(priv->lane, priv->current, block);
    if (!callee)
        callee = extend((cairn_strand *)priv, block);
    if (!callee)
        return false;
    crn_strand_call(priv, callee);
    return true;
}

/* Pushes `current` as the caller, at the stack's top, where it has space. */
static inline void push_quickly(cairn_priv_strand *priv, uint32_t *top, uint64_t current)
{
    *top = (uint32_t)current;
    priv->top = top + 1;
}

/* Enters when the stack is full, recording is off, or work is pending: then the limit is lower. */
__attribute__((noinline)) static void enter_at_limit(cairn_strand *strand, cairn_block block)
{
    cairn_priv_strand *priv = &strand->hot;
    if (is_off(strand) && priv->top < strand->end)
        push_quickly(priv, priv->top, priv->current);
    else
        enter_attending(strand, block);
}

/* Enters when nothing is pending, the stack has space, and the record does not cache the callee. */
__attribute__((noinline)) static void enter_uncached(cairn_strand *strand, cairn_block block)
{
    cairn_priv_strand *priv = &strand->hot;
    uint64_t current = priv->current;
    if (follow(priv, block))
        push_quickly(priv, priv->top, current);
    else
        enter_attending(strand, block);
}

void cairn_priv_enter_charged(cairn_priv_strand *priv, cairn_block block)
{
    enter_uncached((cairn_strand *)priv, block);
}

void cairn_priv_enter(cairn_priv_strand *priv, cairn_block block)
{
    cairn_strand *strand = (cairn_strand *)priv;
    if (priv->top < CAIRN_PRIV_READ(priv->high))
        enter_uncached(strand, block);
    else
        enter_at_limit(strand, block);
}

void cairn_priv_make_inline_cache(cairn_priv_strand *priv)
{
    cairn_lane *lane = crn_lane_of((cairn_strand *)priv);
    crn_graph_make_inline_cache(&lane->graph);
    for (cairn_strand *strand = lane->strands; strand; strand = strand->next)
        crn_strand_disarm(strand);
}

void cairn_priv_replace(cairn_priv_strand *priv, cairn_block block)
{
    cairn_strand *strand = (cairn_strand *)priv;
    if (priv->top < CAIRN_PRIV_READ(priv->high) ? !follow(priv, block) : !is_off(strand))
        replace_attending(strand, block);
}

void cairn_priv_leave(cairn_priv_strand *priv)
{
    cairn_strand *strand = (cairn_strand *)priv;
    if (strand->records) {
        crn_stack_leave(strand);
        return;
    }
    attend(strand);
    if (strand->lost)
        strand->lost--;
    else if (strand->hot.top > strand->stack + 1)
        CAIRN_PRIV_PUT(strand->hot.current, *--strand->hot.top);
    else
        crn_lane_of(strand)->disk->misuses++;
}

uint64_t cairn_priv_above(const cairn_priv_strand *priv, uint64_t node_offset)
{
    const crn_graph *graph = &crn_lane_of((const cairn_strand *)priv)->graph;
    uint32_t record = crn_graph_target(graph, crn_record_at(node_offset));
    return record == CRN_RECORD_ROOT ? 0 : graph->links[record].from * (uint64_t)CRN_RECORD_WORDS;
}

uint64_t cairn_priv_below(cairn_priv_strand *priv, uint64_t node_offset)
{
    const crn_graph *graph = &crn_lane_of((cairn_strand *)priv)->graph;
    uint32_t above = crn_graph_target(graph, crn_record_at(node_offset));
    uint32_t record = crn_graph_target(graph, crn_strand_record((cairn_strand *)priv));
    while (record > CRN_RECORD_ROOT && graph->links[record].from != above)
        record = graph->links[record].from;
    return record <= CRN_RECORD_ROOT ? 0 : record * (uint64_t)CRN_RECORD_WORDS;
}

void cairn_priv_again(cairn_priv_strand *priv)
{
    cairn_strand *strand = (cairn_strand *)priv;
    crn_lane_listen(crn_lane_of(strand)); /* the changes may replace the graph */
    crn_strand_push(strand, crn_strand_record(strand));
}

uint64_t cairn_priv_saved_caller(cairn_priv_strand *strand, uint64_t saved)
{
    cairn_lane *lane = crn_lane_of((cairn_strand *)strand);
    uint64_t tag = saved & ~(uint64_t)UINT32_MAX, node_offset = saved & UINT32_MAX;
    if (tag != strand->graph_tag)
        crn_lane_listen(lane); /* in a child of fork, the graph may still be the parent's */
    if (tag == strand->graph_tag)
        return node_offset;
    return crn_old_graph_translate(lane, tag, crn_record_at(node_offset)) *
           (uint64_t)CRN_RECORD_WORDS;
}

/* ---- charges ---- */

static void charge(cairn_lane *lane, uint32_t record, cairn_metric metric, uint64_t amount)
{
    if (metric == CAIRN_METRIC_TICKS)
        CAIRN_PRIV_ADD(crn_graph_record(&lane->graph, record)->ticks, amount);
    else if (metric == CAIRN_METRIC_WALL)
        CAIRN_PRIV_ADD(lane->graph.links[record].wall,
                       (uint64_t)((double)amount * lane->profile->clock_per_ns + 0.5));
    else if (metric < __atomic_load_n(&lane->profile->metric_count, __ATOMIC_RELAXED) &&
             metric != CAIRN_METRIC_CALLS)
        crn_lane_charge(lane, record, metric, amount);
}

void cairn_charge(cairn_strand *strand, cairn_metric metric, uint64_t amount)
{
    if (!strand)
        return;
    crn_lane_listen(crn_lane_of(strand));
    if (crn_profile_mode(crn_lane_of(strand)->profile) != CRN_MODE_OFF)
        charge(crn_lane_of(strand), crn_strand_record(strand), metric, amount);
}

cairn_context cairn_strand_context(const cairn_strand *strand)
{
    if (!strand)
        return 0;
    /* While recording is off, crn_strand_record must not add records. */
    if (crn_profile_mode(crn_lane_of(strand)->profile) == CRN_MODE_OFF)
        return crn_record_at(strand->hot.current);
    return crn_strand_record((cairn_strand *)strand);
}

cairn_context cairn_context_step(cairn_lane *lane, cairn_context from, cairn_block block)
{
    if (!lane)
        return 0;
    crn_lane_listen(lane);
    if (from < CAIRN_CONTEXT_ROOT || from >= lane->graph.used)
        return 0;
    return crn_lane_follow(lane, from, block);
}

void cairn_context_charge(cairn_lane *lane, cairn_context context, cairn_metric metric,
                          uint64_t amount)
{
    if (!lane)
        return;
    crn_lane_listen(lane);
    if (context >= CAIRN_CONTEXT_ROOT && context < lane->graph.used &&
        crn_profile_mode(lane->profile) != CRN_MODE_OFF)
        charge(lane, context, metric, amount);
}

/* Charges the context of a path and returns it; 0 while recording is off. */
static cairn_context sample(cairn_lane *lane, const cairn_block *path, size_t length,
                            cairn_metric metric, uint64_t amount)
{
    crn_lane_listen(lane);
    if (crn_profile_mode(lane->profile) == CRN_MODE_OFF)
        return 0;
    cairn_context context = CAIRN_CONTEXT_ROOT;
    for (size_t i = 0; i < length; i++)
        context = cairn_context_step(lane, context, path[i]);
    charge(lane, context, metric, amount);
    return context;
}

cairn_context cairn_sample(cairn_strand *strand, const cairn_block *path, size_t length,
                           cairn_metric metric, uint64_t amount)
{
    return strand ? sample(crn_lane_of(strand), path, length, metric, amount) : 0;
}

bool cairn_sample_at(cairn_strand *strand, const cairn_block *path, size_t length, uint64_t at,
                     uint64_t cpu)
{
    if (!strand)
        return false;
    cairn_lane *lane = crn_lane_of(strand);
    cairn_context context = sample(lane, path, length, CAIRN_METRIC_CPU, cpu);
    return context && crn_sample_moments_put(lane, context, at, cpu);
}
