/* SPDX-License-Identifier: MIT
 *
 * The signal handler: unwinds the interrupted stack and writes it to the thread's ring.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "sample.h"

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

/* Sets the registers to those of the interrupted frame, by their numbers in DWARF. */
static void read_registers(const ucontext_t *context, uintptr_t registers[CRN_UNWIND_REGISTERS])
{
#if defined(__x86_64__)
    static const uint8_t numbers[CRN_UNWIND_REGISTERS] = {
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
        REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    for (size_t i = 0; i < CRN_UNWIND_REGISTERS; i++)
        registers[i] = (uintptr_t)context->uc_mcontext.gregs[numbers[i]];
#else
    (void)context;
    (void)registers;
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
    uintptr_t registers[CRN_UNWIND_REGISTERS] = {0};
    read_registers(context, registers);
    crn_unwind_walk walk = {.memory = &thread->memory,
                            .registers = registers,
                            .addresses = thread->ring,
                            .most = CRN_FRAMES_MOST,
                            .mask = mask,
                            .at = at + CRN_HEAD_WORDS};
    uint64_t began = crn_sample_clock(CLOCK_MONOTONIC);
    uint64_t cpu = crn_sample_clock(CLOCK_THREAD_CPUTIME_ID);
    size_t count = crn_unwind_stack(&walk, interrupted_frame(context));
    thread->ring[at & mask] = (uint64_t)count << 1 | walk.complete;
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
