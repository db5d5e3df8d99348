/* SPDX-License-Identifier: MIT
 *
 * test_end.c - locks at the end of a process: others may hold them for a while, or take them again
 * and again.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "runtime/runtime.h"
#include "support/cases.h"
#include "support/clock.h"

typedef struct holder {
    crn_futex_lock lock;
    uint64_t hold_ms;
    atomic_bool holds;
} holder;

static void *hold(void *data)
{
    holder *holder = data;
    crn_futex_lock_take(&holder->lock);
    atomic_store(&holder->holds, true);
    sleep_ms(holder->hold_ms);
    crn_futex_lock_give(&holder->lock);
    return NULL;
}

static bool is_obtainable_from(long hold_ms)
{
    holder holder = {.hold_ms = hold_ms};
    pthread_t thread;
    pthread_create(&thread, NULL, hold, &holder);
    while (!atomic_load(&holder.holds))
        sleep_ms(1);
    bool obtainable = crn_lock_is_obtainable(&holder.lock);
    pthread_join(thread, NULL);
    return obtainable;
}

static void a_lock_that_becomes_free_is_obtainable(void **state)
{
    (void)state;
    assert_true(is_obtainable_from(1));
    assert_true(is_obtainable_from(500));
}

/* Its holder was interrupted by the end of the process. */
static void a_lock_that_stays_locked_is_not(void **state)
{
    (void)state;
    crn_futex_lock lock = {0};
    crn_futex_lock_take(&lock);
    assert_false(crn_lock_is_obtainable(&lock));
    crn_futex_lock_give(&lock);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(a_lock_that_becomes_free_is_obtainable),
        cmocka_unit_test(a_lock_that_stays_locked_is_not),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
