/* SPDX-License-Identifier: MIT
 *
 * test_pool.c - allocations of the pool do not overlap, also with other threads and signal
 * handlers that allocate in between.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/pool.h"
#include "support/cases.h"

enum { HELD = 64, ROUNDS = 4000, THREADS = 4, SIZES = 18 };

static uint64_t next_of(uint64_t *state)
{
    return *state = *state * 6364136223846793005u + 1442695040888963407u;
}

static bool is_all(const unsigned char *memory, size_t size, unsigned char value)
{
    for (size_t i = 0; i < size; i++)
        if (memory[i] != value)
            return false;
    return true;
}

typedef struct held {
    unsigned char *memory;
    size_t size;
    unsigned char mark;
} held;

/* Allocations keep their contents; new ones are zero. */
static bool change(held *held, uint64_t *state)
{
    size_t size = (size_t)1 << (next_of(state) >> 33) % SIZES;
    size += (next_of(state) >> 33) % size;
    bool whole = is_all(held->memory, held->size, held->mark);
    if (held->memory && size % 2) {
        held->memory = crn_pool_resize(held->memory, size);
        size_t kept = held->size < size ? held->size : size;
        whole = whole && is_all(held->memory, kept, held->mark);
    } else {
        crn_pool_give(held->memory);
        held->memory = crn_pool_get(size);
        whole = whole && is_all(held->memory, size, 0);
    }
    held->size = size;
    held->mark = (unsigned char)(next_of(state) >> 33);
    memset(held->memory, held->mark, size);
    return whole && (uintptr_t)held->memory % 16 == 0;
}

static void *hold(void *seed)
{
    static const char wrong;
    held all[HELD] = {{0}};
    uint64_t state = (uintptr_t)seed;
    bool whole = true;
    for (int i = 0; i < ROUNDS; i++)
        whole = change(&all[(next_of(&state) >> 33) % HELD], &state) && whole;
    for (int i = 0; i < HELD; i++)
        crn_pool_give(all[i].memory);
    return whole ? NULL : (void *)&wrong;
}

static void threads_share_it(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hold, (void *)(i + 1)), 0);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
}

static held in_handler;
static bool handler_found_wrong;
static volatile sig_atomic_t handled;

static void on_signal(int signal)
{
    static uint64_t state = 7;
    (void)signal;
    handler_found_wrong |= !change(&in_handler, &state);
    handled = handled + 1;
}

typedef struct sender {
    pthread_t whom;
    atomic_bool over;
} sender;

static void *send_signals(void *data)
{
    sender *sender = data;
    while (!sender->over)
        pthread_kill(sender->whom, SIGUSR1);
    return NULL;
}

static void a_handler_asks_in_its_midst(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sender data = {.whom = pthread_self()};
    pthread_t thread;
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    assert_int_equal(pthread_create(&thread, NULL, send_signals, &data), 0);
    void *wrong = hold((void *)9);
    while (!handled)
        sched_yield();
    data.over = true;
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_null(wrong);
    assert_false(handler_found_wrong);
    crn_pool_give(in_handler.memory);
}

static void oversized_requests_are_refused(void **state)
{
    (void)state;
    assert_null(crn_pool_get(SIZE_MAX));
    char *memory = crn_pool_get((size_t)1 << 20);
    assert_non_null(memory);
    assert_null(crn_pool_resize(memory, SIZE_MAX));
    memory[0] = 1; /* it is still there */
    crn_pool_give(memory);
    crn_pool_give(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_it),
        cmocka_unit_test(a_handler_asks_in_its_midst),
        cmocka_unit_test(oversized_requests_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
