/* SPDX-License-Identifier: MIT
 *
 * Unwinds the stack from the youngest frame to the first cached one.
 */
#include "stack.h"

enum { SIGNALS_MOST = 64 }; /* limit of signal frames in a stack, as each may lead anywhere */

static bool grow_fresh(crn_stack *stack)
{
    size_t capacity = stack->fresh_capacity ? stack->fresh_capacity * 2 : CRN_FRAMES_FIRST;
    crn_fresh *grown = crn_pages_grow(stack->fresh, stack->fresh_capacity * sizeof *grown,
                                      capacity * sizeof *grown);
    if (!grown)
        return false;
    stack->fresh = grown;
    stack->fresh_capacity = capacity;
    return true;
}

static inline crn_fresh *next_fresh(crn_stack *stack)
{
    if (CRN_UNLIKELY(stack->fresh_count == stack->fresh_capacity) && !grow_fresh(stack))
        return NULL;
    return &stack->fresh[stack->fresh_count++];
}

/* Finds the unwinding rule of an address, and its block, which is the tag. Returns false without
 * memory. */
static bool look(uintptr_t address, crn_unwind_code *code)
{
    if (CRN_LIKELY(crn_unwind_recall(address, code) && code->tag))
        return true;
    crn_unwind_look(address, code);
    if (!code->tag)
        code->tag = crn_code_block(address);
    return code->tag != 0;
}

/* Returns true if the cache has this frame. Drops cached frames that are younger or differ. */
static inline bool is_known(crn_stack *stack, uintptr_t slot, uintptr_t pc, uintptr_t base)
{
    size_t count = stack->count;
    while (count && stack->frames[count - 1].slot < slot)
        count--;
    stack->count = count;
    if (count == 0)
        return false;
    const crn_frame *known = &stack->frames[count - 1];
    if (known->slot != slot)
        return false;
    if (CRN_LIKELY(known->pc == pc) && (CRN_LIKELY(!(known->flags & CRN_FRAME_NEEDS_BASE)) ||
                                        stack->bases[count - 1].base == base))
        return true;
    stack->count = count - 1;
    return false;
}

/* Makes a step by the rules that step_usual does not handle. Returns CRN_END_KNOWN if it was made;
 * else why the walk ends. */
static crn_ending step_unusual(crn_stack *stack, crn_walk *walk, const crn_unwind_rule *rule,
                               crn_fresh *fresh)
{
    if (rule->kind == CRN_UNWIND_OUTERMOST ||
        (rule->kind == CRN_UNWIND_NOTHING && crn_unwind_is_entry(walk->at.stack)))
        return CRN_END_OUTERMOST;
    if (rule->kind == CRN_UNWIND_SIGNAL) {
        walk->simple = false;
        stack->count = 0;
        if (++walk->signals > SIGNALS_MOST)
            return CRN_END_NOTHING;
    }
    bool chained = rule->kind == CRN_UNWIND_FRAME && walk->at.frame == 0;
    if (!crn_unwind_step(rule, &stack->memory, &walk->at, &walk->slot, &fresh->saved_at))
        return chained ? CRN_END_OUTERMOST : CRN_END_NOTHING;
    return CRN_END_KNOWN;
}

static inline bool is_outside(uintptr_t low, uintptr_t high, uintptr_t place)
{
    return place < low || place > high - sizeof place || place % sizeof place != 0;
}

/* Makes a step by the two common kinds of rules, within the thread's own stack. Returns false for
 * all other steps. */
static inline bool step_usual(crn_stack *stack, crn_walk *walk, const crn_unwind_rule *rule,
                              crn_fresh *fresh)
{
    uintptr_t low = stack->memory.low, high = stack->memory.high;
    uintptr_t cfa = walk->at.stack, saved_at = 0;
    if (CRN_LIKELY(rule->kind == CRN_UNWIND_STACK))
        cfa += (uintptr_t)(intptr_t)rule->offset;
    else if (rule->kind == CRN_UNWIND_FRAME)
        cfa = walk->at.frame + (uintptr_t)(intptr_t)rule->offset;
    else
        return false;
    if (cfa <= walk->at.stack || walk->at.stack < low || is_outside(low, high, cfa - 8))
        return false;
    if (rule->saved != CRN_UNWIND_KEPT) {
        saved_at = rule->saved == CRN_UNWIND_AT_CFA ? cfa : walk->at.frame;
        saved_at += (uintptr_t)(intptr_t)rule->saved_offset;
        if (is_outside(walk->at.stack, high, saved_at))
            return false;
        walk->at.frame = *(const volatile uintptr_t *)saved_at;
    }
    fresh->saved_at = saved_at;
    walk->slot = cfa - 8;
    walk->at.pc = *(const volatile uintptr_t *)(cfa - 8);
    walk->at.stack = cfa;
    walk->at.interrupted = false;
    return true;
}

crn_ending crn_walk_up(crn_stack *stack, crn_walk *walk)
{
    stack->fresh_count = 0;
    crn_unwind_refresh(&stack->memory);
    for (;;) {
        crn_unwind_code code;
        if (is_known(stack, walk->slot, walk->at.pc, walk->at.frame))
            return CRN_END_KNOWN;
        if (CRN_UNLIKELY(walk->at.pc <= 1)) /* 1 is no return address: no call is before it */
            return walk->at.pc ? CRN_END_NOTHING : CRN_END_OUTERMOST;
        crn_fresh *fresh = next_fresh(stack);
        if (CRN_UNLIKELY(!fresh) || CRN_UNLIKELY(!look(crn_unwind_address(&walk->at), &code)))
            return CRN_END_NO_MEMORY;
        fresh->slot = walk->slot;
        fresh->pc = walk->at.pc;
        fresh->base = walk->at.frame;
        fresh->saved_at = 0;
        fresh->distance = 0;
        fresh->block = code.tag;
        fresh->uses_base = code.rule.kind == CRN_UNWIND_FRAME ||
                           code.rule.kind == CRN_UNWIND_FRAME_STORED ||
                           code.rule.saved == CRN_UNWIND_AT_FRAME;
        if (CRN_LIKELY(step_usual(stack, walk, &code.rule, fresh))) {
            if (!fresh->uses_base && walk->simple)
                fresh->distance = (uint32_t)(walk->slot - fresh->slot);
            continue;
        }
        crn_ending ending = step_unusual(stack, walk, &code.rule, fresh);
        if (ending != CRN_END_KNOWN)
            return ending;
    }
}
