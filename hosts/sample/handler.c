/* SPDX-License-Identifier: MIT
 *
 * The signal handler: unwinds the interrupted stack and writes it to the thread's ring.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "interpreter.h"
#include "sample.h"

static void lose(crn_sampled *thread)
{
    __atomic_add_fetch(&thread->lost, 1, __ATOMIC_RELAXED);
}

__attribute__((noinline)) static void record(crn_sampled *thread, const ucontext_t *context)
{
    const uint64_t mask = CRN_RING_WORDS - 1;
    uint64_t at = thread->turn->written;
    uint64_t used = at - __atomic_load_n(&thread->turn->read, __ATOMIC_ACQUIRE);
    if (CRN_RING_WORDS - used < CRN_HEAD_WORDS + CRN_FRAMES_MOST) {
        lose(thread);
        return;
    }
    if (!thread->bounds_known) { /* once: it takes some system calls */
        crn_unwind_stack_of_thread(&thread->memory.low, &thread->memory.high);
        thread->memory.copy = thread->copy;
        thread->bounds_known = true;
    }
    uintptr_t registers[CRN_UNWIND_REGISTERS];
    crn_unwind_frame frame = crn_unwind_interrupted(context, registers);
    crn_unwind_memory memory = crn_unwind_above(&thread->memory, frame.stack);
    crn_unwind_walk walk = {.memory = &memory,
                            .registers = registers,
                            .addresses = thread->ring,
                            .most = CRN_FRAMES_MOST,
                            .mask = mask,
                            .at = at + CRN_HEAD_WORDS};
    crn_interpreters interpreters;
    crn_interpreters_prepare(&walk, &interpreters, thread->tid);
    uint64_t began = crn_sample_clock(CLOCK_MONOTONIC);
    uint64_t cpu = crn_sample_clock(CLOCK_THREAD_CPUTIME_ID);
    size_t count = crn_unwind_stack(&walk, frame);
    thread->ring[at & mask] = (uint64_t)count << 1 | walk.complete;
    thread->ring[(at + 1) & mask] = began;
    thread->ring[(at + 2) & mask] = cpu;
    thread->ring[(at + 3) & mask] = crn_sample_clock(CLOCK_MONOTONIC) - began;
    __atomic_store_n(&thread->turn->written, at + CRN_HEAD_WORDS + count, __ATOMIC_RELEASE);
}

#ifdef __x86_64__
/* QEMU's emulation of programs (7.2) begins handlers with a stack that is not aligned. */
#define ALIGNED __attribute__((force_align_arg_pointer))
#else
#define ALIGNED
#endif

ALIGNED static void handle(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    bool own = number == __atomic_load_n(&crn_sample_signal, __ATOMIC_ACQUIRE);
    crn_sampled *thread = own && info->si_code == SI_TIMER ? info->si_value.sival_ptr : NULL;
    if (thread && crn_unwind_has_room(context))
        record(thread, context);
    else if (thread)
        lose(thread);
    errno = saved;
}

bool crn_sample_handle(int number)
{
    /* SA_ONSTACK: on the thread's alternate stack, if there is one: the usual one may be small. */
    struct sigaction action = {.sa_sigaction = handle,
                               .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigfillset(&action.sa_mask);
    extern int __sigaction(int number, const struct sigaction *new, struct sigaction *old);
    return __sigaction(number, &action, NULL) == 0;
}

bool crn_sample_handles(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == handle;
}
