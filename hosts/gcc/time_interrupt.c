/* SPDX-License-Identifier: MIT
 *
 * The signal handler of --profile=time: stores the interrupted address, and with --stack those of
 * the callers, as far as their unwind information is cached.
 */
#include <errno.h>
#include <ucontext.h>

#include <cairn/host.h>

#include "timed.h"

__thread crn_timed *crn_time_self __attribute__((tls_model("initial-exec")));
bool crn_time_stacks, crn_time_sleeps;

/* Walks the stack. Stores the interrupted address plus 1, then return addresses: each, minus 1, is
 * in an instruction of its function. Returns true if the walk met an address that is not cached:
 * the charging thread looks it up. */
static bool walk(const crn_timed *self, const ucontext_t *context, uintptr_t *found, size_t *count)
{
    uintptr_t registers[CRN_UNWIND_REGISTERS];
    crn_unwind_frame frame = crn_unwind_interrupted(context, registers);
    crn_unwind_memory memory = crn_unwind_above(&self->memory, frame.stack);
    *count = 0;
    while (*count < CRN_TIME_DEEPEST) {
        crn_unwind_code code;
        uintptr_t slot, saved;
        found[(*count)++] = crn_unwind_address(&frame) + 1;
        if (!crn_time_stacks)
            return false;
        if (!crn_unwind_recall(crn_unwind_address(&frame), &code))
            return true;
        if (!crn_unwind_step(&code.rule, &memory, &frame, &slot, &saved))
            return false;
        if (frame.pc <= 1) /* 1 is no return address: no call is before it */
            return false;
    }
    return false;
}

static void wake_charging(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&crn_time_sleeps, __ATOMIC_RELAXED) &&
        __atomic_exchange_n(&crn_time_sleeps, false, __ATOMIC_RELAXED))
        cairn_priv_host_thread_wake();
}

/* Puts a sample of `periods` timer periods into the ring, unless it is full. */
__attribute__((noinline)) static void record(crn_timed *self, const ucontext_t *context,
                                             uint64_t periods)
{
    uintptr_t found[CRN_TIME_DEEPEST];
    size_t count;
    bool cut = walk(self, context, found, &count);
    uint64_t at = self->written, read = __atomic_load_n(&self->read, __ATOMIC_ACQUIRE);
    if (at + count + 1 - read > CRN_TIME_WORDS) {
        self->lost = periods;
    } else {
        self->lost = 0;
        self->words[at++ % CRN_TIME_WORDS] = periods << 16 | count | (cut ? CRN_TIME_CUT : 0);
        for (size_t i = 0; i < count; i++)
            self->words[at++ % CRN_TIME_WORDS] = found[i];
        __atomic_store_n(&self->written, at, __ATOMIC_RELEASE);
    }
}

void crn_time_interrupt(int number, siginfo_t *info, void *context)
{
    (void)number;
    crn_timed *self = crn_time_self;
    if (!self || info->si_code != SI_TIMER)
        return;
    int saved = errno;
    uint64_t periods = 1 + (uint64_t)info->si_overrun + self->lost;
    if (crn_unwind_has_room(context))
        record(self, context, periods);
    else
        self->lost = periods;
    wake_charging();
    errno = saved;
}
