/* SPDX-License-Identifier: MIT
 *
 * test_streams.c - thousands of random and adversarial event streams, played to the library and to
 * the reference. Contexts, calls on every edge and costs must be equal, in the live profile and in
 * its capture. CAIRN_TEST_SEED=N plays stream N alone.
 */
#include <stdlib.h>

#include "support/cases.h"
#include "support/player.h"
#include "support/scratch.h"

/* Seeds count on from case to case, so that no stream is played twice. */
static void play_all(uint64_t first, uint64_t count, size_t limit)
{
    const char *one = getenv("CAIRN_TEST_SEED");
    uint64_t seed = one ? strtoull(one, NULL, 10) : first;
    uint64_t end = one ? seed + 1 : first + scale(count);
    for (; seed < end; seed++)
        assert_true(player_try(seed, limit));
}

static void tiny_streams(void **state)
{
    (void)state;
    play_all(1, 4000, 30);
}

static void short_streams(void **state)
{
    (void)state;
    play_all(1000000, 3000, 1000);
}

static void middling_streams(void **state)
{
    (void)state;
    play_all(2000000, 1500, 10000);
}

static void long_streams(void **state)
{
    (void)state;
    play_all(3000000, 250, 100000);
}

static void many_long_streams(void **state)
{
    (void)state;
    play_all(4000000, 3000, 100000);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(tiny_streams),
        cmocka_unit_test(short_streams),
        cmocka_unit_test(middling_streams),
        cmocka_unit_test(long_streams),
    };
    const struct CMUnitTest long_cases[] = {
        cmocka_unit_test(many_long_streams),
    };
    return scale_is_long() ? cmocka_run_group_tests(long_cases, NULL, NULL)
                           : cmocka_run_group_tests(cases, NULL, NULL);
}
