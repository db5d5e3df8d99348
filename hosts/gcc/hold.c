/* SPDX-License-Identifier: MIT
 *
 * Takes the strand from its thread while the runtime works on it, and gives it back.
 *
 * The other files of libcairn-gcc call this one; it calls only follow.c, when a thread begins, and
 * signals.c, before main. While a strand is *held*, its thread has none. So events in a signal
 * handler, or in a malloc of the program that the runtime calls, are not recorded; otherwise they
 * would find a stack that is being changed.
 *
 * A jump out of a signal handler would leave the strand held for good, and locks too. So a signal
 * that arrives meanwhile waits (signals.c). Where signals cannot wait, and the program has called
 * setjmp, strands are held with signals blocked, which costs two system calls.
 */
#include <errno.h>

#include "runtime.h"

bool crn_site_blocks;
uint32_t crn_site_period;
void (*crn_site_follow_period)(void);
bool crn_site_defers;

/* If signals are blocked, so is asynchronous cancellation (cancel.c). */
void crn_site_begin_hold(void)
{
    uint64_t before;
    bool blocked =
        __atomic_load_n(&crn_site_blocks, __ATOMIC_RELAXED) && crn_site_block_signals(&before);
    bool deferred = blocked && crn_site_defer_cancellation();
    crn_site_held.busy = true;
    __asm__ volatile("" ::: "memory");
    if (blocked) {
        crn_site_held.before = before;
        crn_site_held.deferred = deferred;
        crn_site_held.blocked = true;
    }
}

/* From where `busy` is set, signals wait. So there it reads the strand, which a handler that
 * followed the end of a period may have taken away, and looks once more for that end: a handler
 * that ran before may have been entered in the period, and not left in it. What the handler has
 * interrupted would count below it. (A call that the inline caches answer does not come here, and
 * may count once below the handler.) */
cairn_strand *crn_site_hold(void)
{
    if (crn_site_held.busy)
        return NULL;
    if (__builtin_expect(crn_site_is_behind(), 0) && !cairn_priv_process_is_unseen())
        crn_site_follow_period();
    if (!cairn_priv_thread_strand)
        return NULL;
    if (__builtin_expect(cairn_priv_process_is_unseen(), 0)) {
        cairn_priv_process_begin_unseen();
        return NULL;
    }
    int error = errno;
    crn_site_begin_hold();
    cairn_strand *strand = cairn_priv_thread_strand;
    cairn_priv_thread_strand = NULL;
    __asm__ volatile("" ::: "memory");
    crn_site_held.error = error;
    if (__builtin_expect(strand && !crn_site_is_behind(), 1))
        return strand;
    crn_site_release(strand);
    return NULL;
}

void (*crn_site_follow_row)(cairn_priv_strand *strand);

void crn_site_release(cairn_strand *strand)
{
    int error = crn_site_held.error;
    if (crn_site_follow_row && strand)
        crn_site_follow_row((cairn_priv_strand *)strand);
    __asm__ volatile("" ::: "memory");
    cairn_priv_thread_strand = strand;
    crn_site_end_hold();
    errno = error;
}

void crn_site_begin_thread(void)
{
    if (crn_site_held.busy)
        return;
    crn_site_held.busy = true;
    __asm__ volatile("" ::: "memory");
    cairn_strand *strand = cairn_thread_strand();
    bool switched = __atomic_load_n(&crn_site_period, __ATOMIC_RELAXED); /* then allocations are
                                                                              not recorded */
    if (strand && !switched)
        crn_site_follow(strand);
    if (strand && crn_site_follow_row) {
        cairn_priv_tree_forget(cairn_strand_lane(strand)); /* cached rows are relative to a thread,
                                                              perhaps the lane's previous one */
        crn_site_follow_row((cairn_priv_strand *)strand);
    }
    crn_site_end_hold();
}

/* Begins the first thread. Defined here, because statically linked programs always contain this
 * file. */
__attribute__((constructor(102))) static void begin_main(void)
{
    int saved = errno;
    crn_site_defers = crn_site_defers_signals();
#ifndef CRN_STATIC
    crn_site_hide_thread(false);
#endif
    crn_site_begin_thread();
    errno = saved;
}
