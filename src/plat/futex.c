/* SPDX-License-Identifier: MIT */
#include "plat/futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { FREE, HELD, AWAITED };

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

void crn_futex_wake(const uint32_t *word)
{
    futex(word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL);
}

void crn_futex_lock_take(crn_futex_lock *lock)
{
    uint32_t state = FREE;
    if (__atomic_compare_exchange_n(&lock->state, &state, HELD, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED))
        return;
    while (__atomic_exchange_n(&lock->state, AWAITED, __ATOMIC_ACQUIRE) != FREE)
        crn_futex_wait(&lock->state, AWAITED, 0, false);
}

void crn_futex_lock_give(crn_futex_lock *lock)
{
    if (__atomic_exchange_n(&lock->state, FREE, __ATOMIC_RELEASE) == AWAITED)
        crn_futex_wake(&lock->state);
}
