/* SPDX-License-Identifier: MIT */
#include "plat/futex.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "plat/clock.h"

/* The system call itself: a host may define the C library's syscall(), which then looks for the
 * C library's own. */
static void futex(const uint32_t *word, int operation, uint32_t value, const struct timespec *until)
{
#if defined(__x86_64__) && defined(__LP64__)
    long result;
    register const struct timespec *time __asm__("r10") = until;
    register const void *second __asm__("r8") = NULL;
    register unsigned mask __asm__("r9") = FUTEX_BITSET_MATCH_ANY;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"((long)SYS_futex), "D"(word), "S"((long)operation), "d"(value), "r"(time),
                       "r"(second), "r"(mask)
                     : "rcx", "r11", "memory");
#else
    int saved = errno;
    syscall(SYS_futex, word, operation, value, until, NULL, FUTEX_BITSET_MATCH_ANY);
    errno = saved;
#endif
}

void crn_futex_wait(const uint32_t *word, uint32_t value, uint64_t until, bool shared)
{
    struct timespec time = {.tv_sec = (time_t)(until / 1000000000u),
                            .tv_nsec = (long)(until % 1000000000u)};
    futex(word, FUTEX_WAIT_BITSET | (shared ? 0 : FUTEX_PRIVATE_FLAG), value, until ? &time : NULL);
}

void crn_futex_sleep(uint64_t ns)
{
    const uint32_t none = 0; /* nobody wakes it */
    crn_futex_wait(&none, none, crn_clock_monotonic() + ns, false);
}

void crn_futex_wake(const uint32_t *word)
{
    futex(word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL);
}

void crn_futex_wake_all(const uint32_t *word)
{
    futex(word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, NULL);
}

void crn_futex_lock_await(crn_futex_lock *lock)
{
    while (__atomic_exchange_n(&lock->state, CRN_FUTEX_AWAITED, __ATOMIC_ACQUIRE) != CRN_FUTEX_FREE)
        crn_futex_wait(&lock->state, CRN_FUTEX_AWAITED, 0, false);
}

/* A thread that gives up leaves the state as it is: the holder then wakes nobody, in vain. */
bool crn_futex_lock_take_until(crn_futex_lock *lock, uint64_t until)
{
    if (crn_futex_lock_try(lock))
        return true;
    while (__atomic_exchange_n(&lock->state, CRN_FUTEX_AWAITED, __ATOMIC_ACQUIRE) !=
           CRN_FUTEX_FREE) {
        if (crn_clock_monotonic() >= until)
            return false;
        crn_futex_wait(&lock->state, CRN_FUTEX_AWAITED, until, false);
    }
    return true;
}
