/* SPDX-License-Identifier: MIT
 *
 * The signal handler: unwinds the interrupted stack and writes it to the thread's ring.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "sample.h"

enum { WORD = sizeof(uintptr_t) };

/* A rule that is not cached is parsed here, which takes a microsecond or two; the collector caches
 * it when it meets the address. */
static crn_unwind_rule rule_of(uintptr_t address)
{
    crn_unwind_code code;
    return crn_unwind_recall(address, &code) ? code.rule : crn_unwind_rule_find(address);
}

/* Steps by the chain of frame pointers, for code without tables: compiled at run time, or written
 * in assembler. */
static bool step_chain(crn_unwind_memory *memory, crn_unwind_frame *frame)
{
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
static bool find_frame_pointer(crn_unwind_memory *memory, crn_unwind_frame *frame)
{
    enum { SEARCHED = 8192, FAR = 1 << 20 };
    for (uintptr_t at = frame->stack; at < frame->stack + SEARCHED; at += WORD) {
        uintptr_t saved, back;
        if (!crn_unwind_read(memory, at, &saved) || !crn_unwind_read(memory, at + WORD, &back))
            return false;
        if (saved > at && saved < at + FAR && back > CRN_UNWIND_PAGE &&
            rule_of(back - 1).kind != CRN_UNWIND_NOTHING) {
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

/* Returns false at the end of the walk, and sets `*complete` if that is the outermost frame. */
static bool step(crn_unwind_memory *memory, crn_unwind_frame *frame, bool find_frame,
                 bool *complete)
{
    uintptr_t slot, saved_at;
    crn_unwind_rule rule = rule_of(crn_unwind_address(frame));
    if (rule.kind == CRN_UNWIND_OUTERMOST ||
        (rule.kind == CRN_UNWIND_NOTHING && crn_unwind_is_entry(frame->stack))) {
        *complete = true;
        return false;
    }
    if (needs_frame(&rule) && !frame->frame) {
        if (!find_frame) {
            *complete = true; /* a chain of frame pointers ends with 0 */
            return false;
        }
        if (!find_frame_pointer(memory, frame))
            return false;
    }
    if (rule.kind == CRN_UNWIND_NOTHING)
        return step_chain(memory, frame);
    return crn_unwind_step(&rule, memory, frame, &slot, &saved_at);
}

size_t crn_sample_walk(crn_unwind_memory *memory, crn_unwind_frame frame, bool find_frame,
                       uint64_t *addresses, size_t most, uint64_t mask, uint64_t at, bool *complete)
{
    size_t count = 0;
    *complete = false;
    crn_unwind_refresh(memory);
    while (count < most) {
        if (frame.pc == 0) {
            *complete = true;
            break;
        }
        addresses[(at + count++) & mask] = crn_unwind_address(&frame);
        if (!step(memory, &frame, find_frame, complete))
            break;
    }
    return count;
}

static crn_unwind_frame interrupted_frame(const ucontext_t *context)
{
#if defined(__x86_64__)
    const greg_t *registers = context->uc_mcontext.gregs;
    return (crn_unwind_frame){.pc = (uintptr_t)registers[REG_RIP],
                              .stack = (uintptr_t)registers[REG_RSP],
                              .frame = (uintptr_t)registers[REG_RBP],
                              .interrupted = true};
#elif defined(__aarch64__)
    return (crn_unwind_frame){.pc = context->uc_mcontext.pc,
                              .stack = context->uc_mcontext.sp,
                              .frame = context->uc_mcontext.regs[29],
                              .interrupted = true};
#else
    (void)context;
    return (crn_unwind_frame){.pc = 0};
#endif
}

static void record(crn_sampled *thread, const ucontext_t *context)
{
    const uint64_t mask = CRN_RING_WORDS - 1;
    uint64_t at = thread->written;
    uint64_t used = at - __atomic_load_n(&thread->read, __ATOMIC_ACQUIRE);
    if (CRN_RING_WORDS - used < CRN_HEAD_WORDS + CRN_FRAMES_MOST) {
        __atomic_add_fetch(&thread->lost, 1, __ATOMIC_RELAXED);
        return;
    }
    if (!thread->bounds_known) { /* once: it takes some system calls */
        crn_unwind_stack_of_thread(&thread->memory.low, &thread->memory.high);
        thread->memory.copy = thread->copy;
        thread->bounds_known = true;
    }
    bool complete;
    uint64_t began = crn_sample_clock(CLOCK_MONOTONIC);
    uint64_t cpu = crn_sample_clock(CLOCK_THREAD_CPUTIME_ID);
    size_t count = crn_sample_walk(&thread->memory, interrupted_frame(context), false, thread->ring,
                                   CRN_FRAMES_MOST, mask, at + CRN_HEAD_WORDS, &complete);
    thread->ring[at & mask] = (uint64_t)count << 1 | complete;
    thread->ring[(at + 1) & mask] = cpu;
    thread->ring[(at + 2) & mask] = crn_sample_clock(CLOCK_MONOTONIC) - began;
    __atomic_store_n(&thread->written, at + CRN_HEAD_WORDS + count, __ATOMIC_RELEASE);
}

static void handle(int number, siginfo_t *info, void *context)
{
    (void)number;
    int saved = errno;
    if (info->si_code == SI_TIMER && info->si_value.sival_ptr)
        record(info->si_value.sival_ptr, context);
    errno = saved;
}

bool crn_sample_handle(int number)
{
    /* On the alternate stack, if the thread has one: its own may be small. */
    struct sigaction action = {.sa_sigaction = handle,
                               .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigfillset(&action.sa_mask);
    extern int __sigaction(int number, const struct sigaction *new, struct sigaction *old);
    return __sigaction(number, &action, NULL) == 0;
}
