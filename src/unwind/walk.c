/* SPDX-License-Identifier: MIT
 *
 * Walks a whole stack: by rules, and by frame pointers where there are none.
 */
#include "unwind/unwind.h"

enum { WORD = sizeof(uintptr_t) };

/* Returns the address where the tables of the code are, 0 if it has none. */
static uintptr_t table_address(const crn_unwind_walk *walk, uintptr_t address)
{
    return walk->local ? walk->local(walk->data, address) : address;
}

/* A rule that is not cached is parsed here, which takes a microsecond or two. */
static crn_unwind_rule rule_of(const crn_unwind_walk *walk, uintptr_t address)
{
    crn_unwind_code code;
    uintptr_t place = table_address(walk, address);
    if (!place)
        return (crn_unwind_rule){.kind = CRN_UNWIND_NOTHING};
    return crn_unwind_recall(place, &code) ? code.rule : crn_unwind_rule_find(place);
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

/* Looks for the frame pointer that a function saved in its prologue: a pair of a higher address of
 * the stack and a return address. */
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

/* Returns true if the frame has no caller, by the code that it runs. */
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

/* Returns true for code of a file without tables, as Go's compiler writes it: its chain of frame
 * pointers ends with 0. */
static bool ends_chain(const crn_unwind_walk *walk, const crn_unwind_frame *frame)
{
    crn_unwind_module module;
    return frame->frame == 0 &&
           crn_unwind_module_find(table_address(walk, crn_unwind_address(frame)), &module) &&
           !module.index;
}

/* Returns false at the end of the walk. */
static bool step(crn_unwind_walk *walk, crn_unwind_frame *frame)
{
    uintptr_t slot, saved_at;
    crn_unwind_rule rule = rule_of(walk, crn_unwind_address(frame));
    if (is_outermost(walk, frame, &rule)) {
        walk->complete = true;
        return false;
    }
    if (needs_frame(&rule) && !frame->frame) {
        if (!walk->find_frame) {
            walk->complete = true; /* a chain of frame pointers ends with 0 */
            return false;
        }
        if (!find_frame_pointer(walk, frame))
            return false;
    }
    if (rule.kind == CRN_UNWIND_NOTHING) {
        walk->complete = ends_chain(walk, frame);
        return !walk->complete && step_chain(walk, frame);
    }
    return crn_unwind_step(&rule, walk->memory, frame, &slot, &saved_at);
}

size_t crn_unwind_stack(crn_unwind_walk *walk, crn_unwind_frame frame)
{
    size_t count = 0;
    walk->complete = false;
    crn_unwind_refresh(walk->memory);
    while (count < walk->most) {
        if (frame.pc == 0) {
            walk->complete = true;
            break;
        }
        walk->addresses[(walk->at + count++) & walk->mask] = crn_unwind_address(&frame);
        if (!step(walk, &frame))
            break;
    }
    return count;
}
