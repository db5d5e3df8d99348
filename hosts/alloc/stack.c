/* SPDX-License-Identifier: MIT
 *
 * Finds the context of a native stack: from cached frames, by cached links, or by unwinding.
 */
#include <string.h>

#include "stack.h"

enum {
    CHECKED_EACH_TIME = 1024 /* frames; the rest of a deeper stack is checked in turns */
};

crn_stack *crn_alloc_stack_new(void)
{
    crn_stack *stack = crn_pages(sizeof *stack);
    if (!stack)
        return NULL;
    stack->memory.copy = stack->copy;
    stack->generation = __atomic_load_n(&crn_unwind_generation, __ATOMIC_RELAXED);
    stack->links = crn_pages(CRN_LINKS * sizeof *stack->links);
    if (stack->links)
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

/* Checks the innermost frames of a deep stack, and some of the others. */
__attribute__((noinline)) static void drop_changed_of_deep(crn_stack *stack, size_t count)
{
    size_t deep = count - CHECKED_EACH_TIME;
    drop_changed_of(stack, deep, count);
    size_t begin = stack->turn < deep ? stack->turn : 0;
    size_t end = deep - begin > CHECKED_EACH_TIME ? begin + CHECKED_EACH_TIME : deep;
    drop_changed_of(stack, begin, end);
    stack->turn = end;
}

/* Drops cached frames that have returned: those with a slot below `slot`, and those whose own or
 * older words have changed. */
static inline void drop_changed(crn_stack *stack, uintptr_t slot)
{
    size_t count = stack->count;
    while (count && stack->frames[count - 1].slot < slot)
        count--;
    stack->count = count;
    if (CRN_LIKELY(count <= CHECKED_EACH_TIME))
        drop_changed_of(stack, 0, count);
    else
        drop_changed_of_deep(stack, count);
}

/* ---- new frames, one by one ---- */

/* Makes space for `more` frames. */
static bool reserve_frames(crn_stack *stack, size_t more)
{
    size_t needed = stack->count + more;
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

/* ---- new frames, by links ---- */

/* Returns the first link of the pair that may have a return address. */
static inline crn_link *pair_of(crn_stack *stack, uintptr_t pc)
{
    return &stack->links[pc * 0x9e3779b97f4a7c15u >> 52 & ~(uint64_t)1];
}

_Static_assert(CRN_LINKS == 1 << (64 - 52), "pair_of keeps 12 bits of a hash");

static void keep_link(crn_stack *stack, const crn_fresh *fresh)
{
    crn_link *pair = pair_of(stack, fresh->pc);
    if (pair[0].pc == fresh->pc || !fresh->distance)
        return;
    pair[1] = pair[0];
    pair[0] = (crn_link){fresh->pc, fresh->distance, fresh->block};
}

/* Returns the link of a return address; NULL if it is not cached. */
static inline const crn_link *link_of(crn_stack *stack, uintptr_t pc)
{
    const crn_link *pair = pair_of(stack, pc);
    if (CRN_LIKELY(pair->pc == pc))
        return pair;
    return pair[1].pc == pc ? pair + 1 : NULL;
}

/* Adds the frames to which the links lead from `slots`, the oldest last, to the `count` first
 * frames of the cache, which has space for them. Returns the context of the youngest; 0 without
 * memory for it. */
static inline cairn_context add_linked(crn_lane *lane, size_t count, const crn_link *const links[],
                                       const uintptr_t slots[], size_t more)
{
    crn_stack *stack = lane->stack;
    crn_frame *frame = &stack->frames[count - 1];
    cairn_context context = frame->context;
    if (stack->based > count)
        stack->based = count;
    stack->count = count;
    for (size_t i = more; i--;) {
        context = crn_alloc_lane_step(lane, context, links[i]->block);
        *++frame = (crn_frame){slots[i], links[i]->pc, context, 0};
    }
    stack->count = CRN_LIKELY(context != 0) ? count + more : count;
    return context;
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
        keep_link(stack, &stack->fresh[i]);
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

/* Follows links from a call up to a cached frame. Cached frames between the two have returned: a
 * slot keeps its value until something overwrites it. Unwinds if a link or space is missing, or if
 * the cached frame needs the frame pointer. */
__attribute__((noinline)) static cairn_context context_of_links(crn_lane *lane,
                                                                const uintptr_t *start)
{
    crn_stack *stack = lane->stack;
    const crn_link *links[CRN_LINKED_FRAMES];
    uintptr_t slots[CRN_LINKED_FRAMES], slot = (uintptr_t)(start + 1);
    size_t count = stack->count;
    for (size_t more = 0; more < CRN_LINKED_FRAMES; more++) {
        while (count && stack->frames[count - 1].slot < slot)
            count--;
        if (CRN_UNLIKELY(count == 0))
            break;
        const crn_frame *known = &stack->frames[count - 1];
        uintptr_t pc = word_at(slot);
        if (known->slot == slot && known->pc == pc && !(known->flags & CRN_FRAME_NEEDS_BASE))
            return add_linked(lane, count, links, slots, more);
        const crn_link *link = link_of(stack, pc);
        if (CRN_UNLIKELY(!link || known->slot == slot || count + more >= stack->capacity))
            break;
        links[more] = link;
        slots[more] = slot;
        slot += link->distance;
    }
    return context_of_walk(lane, start);
}

/* Forgets code that was unloaded: other code may be at the same addresses. */
__attribute__((noinline)) static void forget_code(crn_stack *stack, uint32_t generation)
{
    memset(stack->links, 0, CRN_LINKS * sizeof *stack->links);
    stack->count = 0;
    stack->generation = generation;
}

static inline cairn_context context_of_stack(crn_lane *lane, const uintptr_t *start)
{
    crn_stack *stack = lane->stack;
    uintptr_t slot = (uintptr_t)(start + 1);
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
        return context_of_links(lane, start);
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
