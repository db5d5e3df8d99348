/* SPDX-License-Identifier: MIT
 *
 * Finds the context of a native stack: from cached frames, from cached segments, or by unwinding.
 */
#include <string.h>

#include "stack.h"

enum {
    CHECKED_EACH_TIME = 1024, /* frames; the rest of a deeper stack is checked in turns */
    TRIES = 3
};

crn_stack *crn_alloc_stack_new(void)
{
    crn_stack *stack = crn_pages(sizeof *stack);
    if (!stack)
        return NULL;
    stack->memory.copy = stack->copy;
    stack->segments = crn_pages(CRN_SEGMENTS * sizeof *stack->segments);
    if (stack->segments)
        return stack;
    crn_pages_free(stack, sizeof *stack);
    return NULL;
}

void crn_alloc_stack_begin(crn_stack *stack)
{
    stack->count = 0;
    crn_unwind_stack_of_thread(&stack->memory.low, &stack->memory.high);
}

void crn_alloc_stack_begin_unknown(crn_stack *stack)
{
    stack->count = 0;
    stack->memory.low = stack->memory.high = 0;
}

void crn_alloc_stack_forget(crn_stack *stack)
{
    stack->count = 0;
}

bool crn_alloc_stack_holds(const crn_stack *stack, uintptr_t address)
{
    return address >= stack->memory.low && address < stack->memory.high;
}

static inline uintptr_t word_at(uintptr_t place)
{
    return *(const volatile uintptr_t *)place;
}

/* ---- unchanged frames ---- */

/* Returns the index of the first frame whose return address has changed; `to` if none has. */
static inline size_t first_changed(const crn_frame *frames, size_t from, size_t to)
{
    for (; to - from >= 4; from += 4) {
        const crn_frame *f = &frames[from];
        if ((word_at(f[0].slot) ^ f[0].pc) | (word_at(f[1].slot) ^ f[1].pc) |
            (word_at(f[2].slot) ^ f[2].pc) | (word_at(f[3].slot) ^ f[3].pc))
            break;
    }
    while (from < to && word_at(frames[from].slot) == frames[from].pc)
        from++;
    return from;
}

/* Returns the index of the first frame whose saved frame pointer has changed; `to` if none has. */
__attribute__((noinline)) static size_t first_saved_changed(const crn_stack *stack, size_t from,
                                                            size_t to)
{
    for (; from < to; from++)
        if ((stack->frames[from].flags & CRN_FRAME_HAS_SAVED) &&
            word_at(stack->bases[from].saved_at) != stack->bases[from].saved)
            break;
    return from;
}

static inline void drop_changed_of(crn_stack *stack, size_t from, size_t to)
{
    size_t kept = first_changed(stack->frames, from, to);
    if (stack->based > from)
        kept = first_saved_changed(stack, from, kept);
    if (kept < to)
        stack->count = kept;
}

/* Drops cached frames that have returned: those with a slot below `slot`, and those whose own or
 * older words have changed. */
static inline void drop_changed(crn_stack *stack, uintptr_t slot)
{
    size_t count = stack->count;
    while (count && stack->frames[count - 1].slot < slot)
        count--;
    stack->count = count;
    if (CRN_LIKELY(count <= CHECKED_EACH_TIME)) {
        drop_changed_of(stack, 0, count);
        return;
    }
    size_t deep = count - CHECKED_EACH_TIME;
    drop_changed_of(stack, deep, count);
    size_t begin = stack->turn < deep ? stack->turn : 0;
    size_t end = deep - begin > CHECKED_EACH_TIME ? begin + CHECKED_EACH_TIME : deep;
    drop_changed_of(stack, begin, end);
    stack->turn = end;
}

/* ---- new frames, one by one ---- */

/* Makes space for `more` frames and a segment. */
static bool reserve_frames(crn_stack *stack, size_t more)
{
    size_t needed = stack->count + more + CRN_SEGMENT_FRAMES;
    size_t capacity = stack->capacity ? stack->capacity : CRN_FRAMES_FIRST;
    if (needed <= stack->capacity)
        return true;
    while (capacity < needed)
        capacity *= 2;
    crn_frame *frames =
        crn_pages_grow(stack->frames, stack->capacity * sizeof *frames, capacity * sizeof *frames);
    if (frames)
        stack->frames = frames;
    crn_frame_base *bases =
        crn_pages_grow(stack->bases, stack->capacity * sizeof *bases, capacity * sizeof *bases);
    if (bases)
        stack->bases = bases;
    if (!frames || !bases)
        return false;
    stack->capacity = capacity;
    return true;
}

static inline void remember(crn_stack *stack, const crn_fresh *fresh, cairn_context context)
{
    size_t count = stack->count++;
    bool caller_needs = count && (stack->frames[count - 1].flags & CRN_FRAME_NEEDS_BASE);
    uint32_t flags = 0;
    if (fresh->uses_base || (caller_needs && !fresh->saved_at))
        flags |= CRN_FRAME_NEEDS_BASE;
    if (fresh->saved_at && caller_needs)
        flags |= CRN_FRAME_HAS_SAVED;
    stack->frames[count] = (crn_frame){fresh->slot, fresh->pc, context, flags};
    if (CRN_LIKELY(!flags))
        return;
    stack->bases[count] = (crn_frame_base){fresh->base, fresh->saved_at,
                                           caller_needs ? stack->bases[count - 1].base : 0};
    stack->based = count + 1;
}

/* ---- new frames, by segments ---- */

static inline crn_hint *hint_of(crn_stack *stack, uintptr_t pc)
{
    return &stack->hints[pc * 0x9e3779b97f4a7c15u >> 56];
}

/* Returns the cached segment for a call. The caller's return address `next` is part of the hash,
 * because functions such as operator new are called from many places. */
static inline crn_segment *segment_of(crn_stack *stack, uintptr_t pc, uintptr_t next,
                                      uintptr_t caller_pc, uintptr_t distance)
{
    uint64_t hash = (pc + next * 3 + caller_pc * 31 + (distance << 32)) * 0x9e3779b97f4a7c15u;
    return &stack->segments[hash >> 53];
}

_Static_assert(CRN_HINTS == 1 << 8 && CRN_SEGMENTS == 1 << 11,
               "hint_of keeps 8 bits of a hash, segment_of 11");

/* Caches the frames that were unwound as a segment, unless one was found by the frame pointer: then
 * the return addresses alone do not tell where the slots are. */
static void keep_segment(crn_stack *stack)
{
    const crn_frame *caller = &stack->frames[stack->count - 1];
    const crn_fresh *call = stack->fresh;
    size_t count = stack->fresh_count;
    if (count == 0 || count > CRN_SEGMENT_FRAMES || caller->flags ||
        caller->slot - call->slot > UINT32_MAX)
        return;
    for (size_t i = 0; i < count; i++)
        if (call[i].uses_base)
            return;
    uintptr_t next = count > 1 ? call[1].pc : caller->pc;
    uintptr_t distance = caller->slot - call->slot;
    *hint_of(stack, call->pc) =
        (crn_hint){call->pc, count > 1 ? call[1].slot - call->slot : distance};
    crn_segment *segment = segment_of(stack, call->pc, next, caller->pc, distance);
    segment->pc = call->pc;
    segment->caller_pc = caller->pc;
    segment->distance = (uint32_t)distance;
    segment->count = (uint32_t)count;
    segment->caller = 0;
    for (size_t i = 0; i < CRN_SEGMENT_FRAMES; i++) {
        const crn_fresh *fresh = &call[i < count ? count - 1 - i : 0];
        segment->pcs[i] = fresh->pc;
        segment->offsets[i] = (uint32_t)(fresh->slot - call->slot);
        segment->blocks[i] = fresh->block;
    }
}

/* Returns 0 if half of a segment's return addresses, from index `from` on, are in their places. */
static inline uintptr_t changes_of(const crn_segment *segment, uintptr_t slot, size_t from)
{
    uintptr_t changes = 0;
    for (size_t i = from; i < from + CRN_SEGMENT_FRAMES / 2; i++)
        changes |= word_at(slot + segment->offsets[i]) ^ segment->pcs[i];
    return changes;
}

/* Sets the contexts of a segment's frames, which the context `caller` leads to. */
__attribute__((noinline)) static void step_segment(crn_lane *lane, crn_segment *segment,
                                                   cairn_context caller)
{
    cairn_context context = caller;
    for (uint32_t i = 0; i < segment->count; i++)
        segment->contexts[i] = context = crn_alloc_lane_step(lane, context, segment->blocks[i]);
    segment->caller = caller;
}

/* Writes half of a segment's frames, the unused ones too. */
static inline void put_half(crn_frame *frames, const crn_segment *segment, uintptr_t slot,
                            size_t from)
{
    for (size_t i = from; i < from + CRN_SEGMENT_FRAMES / 2; i++)
        frames[i] =
            (crn_frame){slot + segment->offsets[i], segment->pcs[i], segment->contexts[i], 0};
}

/* Returns the context of the call if the frames that are younger than the one at index `caller_at`
 * are a cached segment; else 0. */
static inline cairn_context context_of_segment(crn_lane *lane, size_t caller_at, uintptr_t slot,
                                               uintptr_t pc, uintptr_t next)
{
    crn_stack *stack = lane->stack;
    const crn_frame *caller = &stack->frames[caller_at];
    uintptr_t distance = caller->slot - slot;
    crn_segment *segment = segment_of(stack, pc, next, caller->pc, distance);
    if (((segment->pc ^ pc) | (segment->caller_pc ^ caller->pc) | (segment->distance ^ distance) |
         caller->flags) != 0 ||
        changes_of(segment, slot, 0))
        return 0;
    uint32_t count = segment->count;
    bool long_one = count > CRN_SEGMENT_FRAMES / 2;
    if (long_one && changes_of(segment, slot, CRN_SEGMENT_FRAMES / 2))
        return 0;
    if (segment->caller != caller->context)
        step_segment(lane, segment, caller->context);
    crn_frame *frames = &stack->frames[caller_at + 1];
    put_half(frames, segment, slot, 0);
    if (long_one)
        put_half(frames, segment, slot, CRN_SEGMENT_FRAMES / 2);
    stack->count = caller_at + 1 + count;
    if (stack->based > caller_at + 1)
        stack->based = caller_at + 1;
    return segment->contexts[count - 1];
}

/* Tries segments from the youngest cached frame and a few older ones, because a frame that has
 * returned is unchanged until something overwrites it. */
static inline cairn_context context_of_segments(crn_lane *lane, uintptr_t slot, uintptr_t pc)
{
    crn_stack *stack = lane->stack;
    const crn_hint *hint = hint_of(stack, pc);
    size_t count = stack->count;
    if (CRN_UNLIKELY(hint->pc != pc) || count + CRN_SEGMENT_FRAMES > stack->capacity)
        return 0;
    uintptr_t next = word_at(slot + hint->distance);
    for (size_t i = 1; i <= TRIES && i <= count; i++) {
        cairn_context context = context_of_segment(lane, count - i, slot, pc, next);
        if (CRN_LIKELY(context != 0))
            return context;
    }
    return 0;
}

/* ---- the context ---- */

static cairn_context context_of_fresh(crn_lane *lane, crn_ending ending, cairn_context context,
                                      bool keep)
{
    crn_stack *stack = lane->stack;
    if (ending == CRN_END_NOTHING)
        context = crn_alloc_lane_step(lane, context, crn_code_nothing());
    for (size_t i = stack->fresh_count; i--;) {
        context = crn_alloc_lane_step(lane, context, stack->fresh[i].block);
        if (CRN_LIKELY(keep))
            remember(stack, &stack->fresh[i], context);
    }
    return context;
}

/* Returns a walk from the caller of the function whose frame address is `start`: there are the
 * caller's frame pointer and then the return address. */
static inline crn_walk walk_from(const uintptr_t *start)
{
    return (crn_walk){.at = {start[1], (uintptr_t)(start + 2), start[0], false},
                      .slot = (uintptr_t)(start + 1)};
}

__attribute__((noinline)) static cairn_context context_of_walk(crn_lane *lane,
                                                               const uintptr_t *start)
{
    crn_stack *stack = lane->stack;
    crn_walk walk = walk_from(start);
    walk.simple = crn_alloc_stack_holds(stack, walk.slot);
    crn_ending ending = crn_walk_up(stack, &walk);
    cairn_context context = CAIRN_CONTEXT_ROOT;
    if (ending == CRN_END_NO_MEMORY)
        return 0;
    if (CRN_LIKELY(ending == CRN_END_KNOWN)) {
        context = stack->frames[stack->count - 1].context;
        keep_segment(stack);
    } else {
        stack->count = 0;
    }
    if (stack->based > stack->count)
        stack->based = stack->count;
    bool keep = walk.simple && reserve_frames(stack, stack->fresh_count);
    context = context_of_fresh(lane, ending, context, keep);
    if (CRN_UNLIKELY(!keep))
        stack->count = 0;
    return context;
}

/* Forgets code that was unloaded: other code may be at the same addresses. */
static void forget_code(crn_stack *stack, uint32_t generation)
{
    memset(stack->segments, 0, CRN_SEGMENTS * sizeof *stack->segments);
    memset(stack->hints, 0, sizeof stack->hints);
    stack->count = 0;
    stack->generation = generation;
}

static inline cairn_context context_of_stack(crn_lane *lane, const uintptr_t *start)
{
    crn_stack *stack = lane->stack;
    uintptr_t slot = (uintptr_t)(start + 1), pc = start[1];
    uint32_t generation = __atomic_load_n(&crn_unwind_generation, __ATOMIC_RELAXED);
    if (CRN_UNLIKELY(generation != stack->generation))
        forget_code(stack, generation);
    if (CRN_UNLIKELY(!crn_alloc_stack_holds(stack, slot)))
        stack->count = 0;
    drop_changed(stack, slot);
    if (CRN_LIKELY(stack->count != 0)) {
        const crn_frame *youngest = &stack->frames[stack->count - 1];
        if (youngest->slot == slot && !(youngest->flags & CRN_FRAME_NEEDS_BASE))
            return youngest->context;
        cairn_context context = context_of_segments(lane, slot, pc);
        if (CRN_LIKELY(context != 0))
            return context;
    }
    return context_of_walk(lane, start);
}

#ifdef CRN_ALLOC_CHECK
/* Reference implementation for tests: unwinds every stack completely and traps if the contexts
 * differ. */
cairn_context crn_alloc_stack_context(crn_lane *lane, const uintptr_t *start)
{
    crn_stack *stack = lane->stack;
    cairn_context context = context_of_stack(lane, start);
    size_t count = stack->count;
    crn_walk walk = walk_from(start);
    stack->count = 0;
    crn_ending ending = crn_walk_up(stack, &walk);
    if (context_of_fresh(lane, ending, CAIRN_CONTEXT_ROOT, false) != context)
        __builtin_trap();
    stack->count = count;
    return context;
}
#else
cairn_context crn_alloc_stack_context(crn_lane *lane, const uintptr_t *start)
{
    return context_of_stack(lane, start);
}
#endif
