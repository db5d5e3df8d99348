/* SPDX-License-Identifier: MIT
 *
 * Walks a whole stack by rules, and by frame pointers in code without rules.
 */
#include "unwind/unwind.h"

enum { WORD = sizeof(uintptr_t) };

/* Returns the address under which the code's tables are found; 0 if it has none. */
static uintptr_t table_address(const crn_unwind_walk *walk, uintptr_t address)
{
    return walk->local ? walk->local(walk->data, address) : address;
}

/* Returns the data of an address. Parsing a rule that is not cached takes 1 to 2 µs. A walk of
 * another process then caches the rule. A walk of the own process does not: it may run in a signal
 * handler, which must not take the cache's lock. */
static crn_unwind_code code_of(const crn_unwind_walk *walk, uintptr_t address)
{
    crn_unwind_code code = {.rule = {.kind = CRN_UNWIND_NOTHING}, .carried = CRN_UNWIND_NOT_SAVED};
    uintptr_t place = table_address(walk, address);
    if (!place || crn_unwind_recall(place, &code))
        return code;
    if (walk->local)
        crn_unwind_look(place, &code);
    else
        crn_unwind_code_find(place, &code);
    return code;
}

static crn_unwind_rule rule_of(const crn_unwind_walk *walk, uintptr_t address)
{
    return code_of(walk, address).rule;
}

/* Steps by the chain of frame pointers, for code without tables: compiled at run time, or written
 * in assembler. */
static bool step_chain(crn_unwind_walk *walk, crn_unwind_frame *frame)
{
    crn_unwind_memory *memory = walk->memory;
    uintptr_t saved, back;
    if (frame->frame < frame->stack || frame->frame % WORD ||
        !crn_unwind_read(memory, frame->frame, &saved) ||
        !crn_unwind_read(memory, frame->frame + WORD, &back) || (saved && saved <= frame->frame))
        return false;
    *frame = (crn_unwind_frame){.pc = back, .stack = frame->frame + 2 * WORD, .frame = saved};
    return true;
}

/* Searches the stack for a frame pointer that a function saved in its prologue: a word that is a
 * higher address of the stack, followed by a return address. Sets the frame pointer to the word's
 * address. */
static bool find_frame_pointer(crn_unwind_walk *walk, crn_unwind_frame *frame)
{
    crn_unwind_memory *memory = walk->memory;
    enum { SEARCHED = 8192, FAR = 1 << 20 };
    for (uintptr_t at = frame->stack; at < frame->stack + SEARCHED; at += WORD) {
        uintptr_t saved, back;
        if (!crn_unwind_read(memory, at, &saved) || !crn_unwind_read(memory, at + WORD, &back))
            return false;
        if (saved > at && saved < at + FAR && back > CRN_UNWIND_PAGE &&
            rule_of(walk, back - 1).kind != CRN_UNWIND_NOTHING) {
            frame->frame = at;
            return true;
        }
    }
    return false;
}

static bool needs_frame(const crn_unwind_rule *rule)
{
    return rule->kind == CRN_UNWIND_FRAME || rule->kind == CRN_UNWIND_FRAME_STORED;
}

bool crn_unwind_find_register(const crn_unwind_walk *walk, crn_unwind_frame first, size_t steps,
                              unsigned number, uintptr_t *value)
{
    crn_unwind_frame frame = first;
    bool known = walk->registers != NULL;
    if (known)
        *value = walk->registers[number];
    for (size_t i = 0; i < steps; i++) {
        uintptr_t address = crn_unwind_address(&frame), slot, saved_at;
        crn_unwind_rule rule = rule_of(walk, address);
        int64_t offset;
        if (rule.kind == CRN_UNWIND_SIGNAL ||
            !crn_unwind_step(&rule, walk->memory, &frame, &slot, &saved_at))
            return false;
        if (!crn_unwind_register_saved(table_address(walk, address), number, &offset))
            continue;
        uintptr_t place = frame.stack + (uintptr_t)offset;
        if (i == 0 && place < first.stack) /* popped */
            continue;
        if (!crn_unwind_read(walk->memory, place, value))
            return false;
        known = true;
    }
    return known;
}

/* Converts a rule in terms of another register to an equal one in terms of the stack pointer. The
 * result's kind is CRN_UNWIND_NOTHING if the register's value is not known. */
static crn_unwind_rule by_stack(const crn_unwind_walk *walk, const crn_unwind_rule *rule,
                                const crn_unwind_frame *first, size_t steps, uintptr_t stack)
{
    crn_unwind_rule same = *rule;
    uintptr_t value;
    same.kind = CRN_UNWIND_NOTHING;
    if (!crn_unwind_find_register(walk, *first, steps, rule->kind - CRN_UNWIND_REGISTER, &value))
        return same;
    intptr_t offset = (intptr_t)(value - stack) + rule->offset;
    if (offset > 0 && offset < INT32_MAX)
        same.kind = CRN_UNWIND_STACK;
    same.offset = (int32_t)offset;
    return same;
}

/* Returns true if the frame has no caller, by the rule of its code or, without a rule, by its stack
 * pointer. */
static bool is_outermost(const crn_unwind_walk *walk, const crn_unwind_frame *frame,
                         const crn_unwind_rule *rule)
{
    if (rule->kind != CRN_UNWIND_NOTHING)
        return rule->kind == CRN_UNWIND_OUTERMOST;
    if (!walk->local)
        return crn_unwind_is_entry(frame->stack);
    const uintptr_t near = 256; /* the loader may have pushed some words */
    return walk->entry && frame->stack <= walk->entry + near && frame->stack + near >= walk->entry;
}

/* Returns true at the end of a chain of frame pointers: the frame pointer is 0, in code of a file
 * without tables, as Go's compiler makes them. */
static bool ends_chain(const crn_unwind_walk *walk, const crn_unwind_frame *frame)
{
    crn_unwind_module module;
    return frame->frame == 0 &&
           crn_unwind_module_find(table_address(walk, crn_unwind_address(frame)), &module) &&
           !module.index;
}

/* Finds the carried register in `frame`, after the step from `callee` to it. */
static void carry(crn_unwind_walk *walk, const crn_unwind_code *code,
                  const crn_unwind_frame *callee, const crn_unwind_frame *frame)
{
    uintptr_t place = frame->stack + (uintptr_t)(intptr_t)code->carried;
    if (code->rule.kind == CRN_UNWIND_NOTHING || code->rule.kind == CRN_UNWIND_SIGNAL)
        walk->is_carried = false;
    else if (code->carried != CRN_UNWIND_NOT_SAVED && place >= callee->stack) /* not popped */
        walk->is_carried = crn_unwind_read(walk->memory, place, &walk->carried);
}

/* Steps to the caller of `frame`, which is `steps` callers from the first. Returns false at the end
 * of the walk. */
static bool step(crn_unwind_walk *walk, const crn_unwind_frame *first, size_t steps,
                 crn_unwind_frame *frame)
{
    uintptr_t slot, saved_at;
    const crn_unwind_frame callee = *frame;
    crn_unwind_code code = code_of(walk, crn_unwind_address(frame));
    if (code.rule.kind >= CRN_UNWIND_REGISTER)
        code.rule = by_stack(walk, &code.rule, first, steps, frame->stack);
    if (is_outermost(walk, frame, &code.rule)) {
        walk->complete = true;
        return false;
    }
    if (needs_frame(&code.rule) && !frame->frame) {
        if (!walk->find_frame) {
            walk->complete = true; /* a chain of frame pointers ends with 0 */
            return false;
        }
        if (!find_frame_pointer(walk, frame))
            return false;
    }
    if (code.rule.kind == CRN_UNWIND_NOTHING && ends_chain(walk, frame)) {
        walk->complete = true;
        return false;
    }
    bool stepped = code.rule.kind == CRN_UNWIND_NOTHING
                       ? step_chain(walk, frame)
                       : crn_unwind_step(&code.rule, walk->memory, frame, &slot, &saved_at);
    if (stepped && crn_unwind_carried >= 0)
        carry(walk, &code, &callee, frame);
    return stepped;
}

/* Lets interpreters add the functions that they run in the frame at `address`. */
static size_t add_loops(crn_unwind_walk *walk, uintptr_t address, size_t count)
{
    for (size_t i = 0; i < walk->loop_count; i++)
        if (address - walk->loops[i].start < walk->loops[i].size)
            count = walk->loops[i].before(walk, walk->loops[i].data, count);
    return count;
}

size_t crn_unwind_stack(crn_unwind_walk *walk, crn_unwind_frame frame)
{
    const crn_unwind_frame first = frame;
    size_t count = 0;
    walk->complete = false;
    walk->is_carried = walk->registers && crn_unwind_carried >= 0;
    if (walk->is_carried)
        walk->carried = walk->registers[crn_unwind_carried];
    crn_unwind_refresh(walk->memory);
    for (size_t steps = 0; count < walk->most; steps++) {
        if (frame.pc == 0) {
            walk->complete = true;
            break;
        }
        uintptr_t address = crn_unwind_address(&frame);
        if (address == 0 || address > CRN_UNWIND_ADDRESS_MOST) /* no return address */
            break;
        count = add_loops(walk, address, count);
        if (count < walk->most)
            walk->addresses[(walk->at + count++) & walk->mask] = address;
        if (!step(walk, &first, steps, &frame))
            break;
    }
    return count;
}
