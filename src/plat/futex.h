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

/* Wakes one waiter. Preserves errno. Signal safe. */
void crn_futex_wake(const uint32_t *word);

/* A lock. 0: free; 1: held; 2: held, and threads may wait. */
typedef struct crn_futex_lock {
    uint32_t state;
} crn_futex_lock;

void crn_futex_lock_take(crn_futex_lock *lock);
void crn_futex_lock_give(crn_futex_lock *lock);

#endif
