/* SPDX-License-Identifier: MIT
 *
 * Takes the strand from its thread while the runtime works on it, and gives it back.
 *
 * The other files of libcairn-gcc call this one; it calls none of them but follow.c, when a thread
 * begins. While a strand is held the thread has none: events in a signal handler, or in a malloc
 * of the program that the runtime calls, are not recorded, rather than seeing a stack that is being
 * moved.
 *
 * A jump out of a signal handler would leave that state for good, with locks held. So programs
 * that can jump (they have called setjmp) get signals only afterwards.
 */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime.h"

bool crn_site_jumps;

static __thread bool busy __attribute__((tls_model("initial-exec")));

/* Signal mask before (the kernel's set: the C library's is 16 times as large), and errno. Belongs
 * to the busy thread: no handler gets here meanwhile. */
static __thread struct {
    bool blocked;
    uint64_t before;
    int error;
} held __attribute__((tls_model("initial-exec")));

/* Blocks all signals except synchronous ones and the one by which the C library makes all threads
 * change their user id. That one never jumps, and is waited for: a thread of Cairn's that starts
 * here would block it for good. */
static bool block_signals(uint64_t *before)
{
    enum {
        IMMEDIATE = 1 << (SIGSEGV - 1) | 1 << (SIGBUS - 1) | 1 << (SIGFPE - 1) | 1 << (SIGILL - 1) |
                    1 << (SIGTRAP - 1)
    };
    const uint64_t setxid = (uint64_t)1 << (33 - 1); /* has no name in any header */
    uint64_t all = ~(IMMEDIATE | setxid);
    return syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, before, sizeof all) == 0;
}

cairn_strand *crn_site_hold(void)
{
    if (busy || !cairn_priv_thread_strand)
        return NULL;
    int error = errno;
    uint64_t before = 0;
    bool blocked = __atomic_load_n(&crn_site_jumps, __ATOMIC_RELAXED) && block_signals(&before);
    cairn_strand *strand = cairn_priv_thread_strand;
    busy = true;
    cairn_priv_thread_strand = NULL;
    __asm__ volatile("" ::: "memory");
    held.blocked = blocked;
    held.before = before;
    held.error = error;
    return strand;
}

void crn_site_release(cairn_strand *strand)
{
    int error = held.error;
    bool blocked = held.blocked;
    uint64_t before = held.before;
    __asm__ volatile("" ::: "memory");
    cairn_priv_thread_strand = strand;
    busy = false;
    __asm__ volatile("" ::: "memory");
    if (blocked)
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
    errno = error;
}

void crn_site_begin_thread(void)
{
    if (busy)
        return;
    busy = true;
    cairn_strand *strand = cairn_thread_strand();
    if (strand)
        crn_site_follow(strand);
    busy = false;
}

/* Defined here because statically linked programs always contain this file. */
__attribute__((constructor(102))) static void begin_main(void)
{
    int saved = errno;
    crn_site_begin_thread();
    errno = saved;
}
