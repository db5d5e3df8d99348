/* SPDX-License-Identifier: MIT
 *
 * futex.h - a lock and a wake-up that need nothing of the C library's threads. The C library locks
 * its own mutexes without atomic instructions while it knows of one thread alone, so a thread that
 * it does not know (hidden_thread.h) must not use them.
 */
#ifndef CRN_PLAT_FUTEX_H
#define CRN_PLAT_FUTEX_H

#include <stdbool.h>
#include <stdint.h>

/* Waits while the word has `value`, at most until `until` (CLOCK_MONOTONIC, ns; 0: without limit).
 * May return early. Preserves errno. `shared`: the kernel wakes the waiter, as at a thread's end.
 */
void crn_futex_wait(const uint32_t *word, uint32_t value, uint64_t until, bool shared);

/* Sleeps for that time. Is no cancellation point. Preserves errno. */
void crn_futex_sleep(uint64_t ns);

/* Wake one waiter, and all. Preserve errno. Signal safe. */
void crn_futex_wake(const uint32_t *word);
void crn_futex_wake_all(const uint32_t *word);

enum { CRN_FUTEX_FREE, CRN_FUTEX_HELD, CRN_FUTEX_AWAITED /* held, and threads may wait */ };

/* A lock. A thread that waits for none runs inline code alone: src/unwind is not built with
 * sanitizers, as it runs before they begin. */
typedef struct crn_futex_lock {
    uint32_t state;
} crn_futex_lock;

/* Waits for the lock and takes it. */
void crn_futex_lock_await(crn_futex_lock *lock);

static inline bool crn_futex_lock_try(crn_futex_lock *lock)
{
    uint32_t state = CRN_FUTEX_FREE;
    return __atomic_compare_exchange_n(&lock->state, &state, CRN_FUTEX_HELD, false,
                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline void crn_futex_lock_take(crn_futex_lock *lock)
{
    if (!crn_futex_lock_try(lock))
        crn_futex_lock_await(lock);
}

/* Waits for the lock, at most until `until` (CLOCK_MONOTONIC, ns). Returns true if it has it. */
bool crn_futex_lock_take_until(crn_futex_lock *lock, uint64_t until);

static inline void crn_futex_lock_give(crn_futex_lock *lock)
{
    if (__atomic_exchange_n(&lock->state, CRN_FUTEX_FREE, __ATOMIC_RELEASE) == CRN_FUTEX_AWAITED)
        crn_futex_wake(&lock->state);
}

#endif
