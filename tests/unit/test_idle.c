/* SPDX-License-Identifier: MIT
 *
 * test_idle.c - a process without events: its helper threads hardly wake up, and the time of the
 * context that waited or computed is still charged to it.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/cases.h"
#include "support/clock.h"
#include "support/processor.h"
#include "support/profiles.h"

/* State of the other threads of this process. */
typedef struct others {
    long switches; /* times that they have begun to wait */
    bool asleep;   /* all of them */
} others;

static void add_thread(others *sum, const char *thread)
{
    char path[300], line[200], state = '?';
    long switches = 0;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", thread);
    FILE *file = fopen(path, "r");
    if (!file)
        return;
    while (fgets(line, sizeof line, file)) {
        sscanf(line, "State: %c", &state);
        sscanf(line, "voluntary_ctxt_switches: %ld", &switches);
    }
    fclose(file);
    sum->switches += switches;
    sum->asleep &= state == 'S';
}

static others others_now(void)
{
    others sum = {.asleep = true};
    char own[20];
    snprintf(own, sizeof own, "%d", (int)getpid());
    DIR *threads = opendir("/proc/self/task");
    assert_non_null(threads);
    for (struct dirent *thread; (thread = readdir(threads));)
        if (*thread->d_name != '.' && strcmp(thread->d_name, own) != 0)
            add_thread(&sum, thread->d_name);
    closedir(threads);
    return sum;
}

/* Returns true if no helper has been awake since `before`, nor waits for a processor. */
static bool slept_since(others before)
{
    others after = others_now();
    return before.asleep && after.asleep && after.switches == before.switches;
}

static cairn_options options_of(cairn_wall wall, cairn_cpu cpu, bool spans)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.wall = wall;
    options.cpu = cpu;
    options.spans = spans;
    options.sample_overhead = 0; /* one period on a busy machine, too */
    return options;
}

static void no_event_no_wake_up(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* the sanitizer has a thread that wakes */
#endif
    const cairn_options options[] = {
        options_of(CAIRN_WALL_SAMPLED, CAIRN_CPU_OFF, false),
        options_of(CAIRN_WALL_SAMPLED, CAIRN_CPU_SAMPLED, true),
        options_of(CAIRN_WALL_EXACT, CAIRN_CPU_OFF, true),
        options_of(CAIRN_WALL_OFF, CAIRN_CPU_OFF, true),
    };
    for (size_t i = 0; i < COUNT(options); i++) {
        setup s = setup_open(&options[i], 2);
        cairn_enter(s.strand, 1);
        sleep_ns(500000000);
        uint64_t begin = now_ns();
        long before = others_now().switches;
        sleep_ns(1000000000);
        long wake_ups = others_now().switches - before;
        double seconds = (double)(now_ns() - begin) / 1e9;
        if ((double)wake_ups > 12 * seconds)
            fail_msg("options %zu: %ld wake-ups in %.2f s", i, wake_ups, seconds);
        cairn_leave(s.strand);
        setup_close(&s);
    }
}

/* The next two cases are about a sampler that sleeps when the context ends. On a busy machine it
 * may be awake, or wait for a processor. Each case is tried until it slept. */
enum { TRIES_MOST = 100 };

static void assert_between(uint64_t value, uint64_t least, uint64_t most, uint64_t allowance)
{
    if (value + allowance < least || value > most + allowance)
        fail_msg("%llu is not from %llu to %llu", (unsigned long long)value,
                 (unsigned long long)least, (unsigned long long)most);
}

/* Waits until the helpers have been awake since `before` and sleep again. */
static void wait_for_round(others before)
{
    others after = others_now();
    for (; !after.asleep || after.switches == before.switches; after = others_now())
        sleep_ns(1000000);
}

/* Returns false if the sampler did not sleep. Its last round may be 125 ms ago when the context
 * ends. The time in context 2 must be charged before the next try, whose context would get it. */
static bool wait_in_context(setup *s, uint64_t ns)
{
    uint64_t wall = cost_at(s->profile, "1").wall, outer = now_ns();
    cairn_enter(s->strand, 1);
    uint64_t inner = now_ns();
    sleep_ns(ns - 30000000);
    others before = others_now();
    sleep_ns(30000000);
    bool slept = slept_since(before);
    inner = now_ns() - inner;
    cairn_leave(s->strand);
    outer = now_ns() - outer;
    before = others_now();
    cairn_enter(s->strand, 2);
    wall = cost_at(s->profile, "1").wall - wall;
    if (slept)
        assert_between(wall, inner, outer, 10000000);
    sleep_ns(60000000);
    wait_for_round(before);
    cairn_leave(s->strand);
    return slept;
}

static void time_of_the_wait_goes_to_it(void **state)
{
    (void)state;
    const cairn_options options = options_of(CAIRN_WALL_SAMPLED, CAIRN_CPU_OFF, false);
    setup s = setup_open(&options, 2);
    int slept = 0;
    for (unsigned i = 0; slept < 5 && i < TRIES_MOST; i++)
        slept += wait_in_context(&s, 170000000 + i % 5 * 20000000);
    assert_int_equal(slept, 5);
    setup_close(&s);
}

/* Uses the processor for a time. Returns the processor time that it took. */
static uint64_t compute_for(uint64_t ns)
{
    uint64_t before = own_cpu(), used = 0;
    while (used < ns)
        used = own_cpu() - before;
    return used;
}

/* Returns false if the sampler did not sleep. */
static bool compute_in_context(uint64_t ns)
{
    const cairn_options options = options_of(CAIRN_WALL_OFF, CAIRN_CPU_SAMPLED, false);
    setup s = setup_open(&options, 2);
    cairn_enter(s.strand, 1);
    uint64_t whole = own_cpu();
    sleep_ns(200000000);
    others before = others_now();
    uint64_t round = now_ns();
    for (long last = before.switches; before.switches == last; before = others_now()) {
        round = now_ns(); /* the last that is before a round; the next is 125 ms later */
        sleep_ns(1000000);
    }
    uint64_t used = compute_for(ns);
    bool slept = slept_since(before);
    whole = own_cpu() - whole;
    cairn_leave(s.strand);
    slept &= now_ns() - round < 110000000;
    cairn_enter(s.strand, 2);
    cost_at(s.profile, "1");
    compute_for(40000000);
    cairn_leave(s.strand);
    if (slept)
        assert_between(cost_at(s.profile, "1").cpu, used, whole, 12000000);
    setup_close(&s);
    return slept;
}

/* A context that computes for long has no events either. Beside many other threads 30 ms of a
 * processor may not come between two rounds of the sampler; half of that still differs from nothing
 * by more than the allowance. Where this thread waited for a processor most of the time, and even
 * that never came, nothing can be said. */
static void processor_time_without_events_goes_to_the_context(void **state)
{
    (void)state;
    uint64_t begin = now_ns(), waited = waited_for_processor(), computed = 0;
    bool slept = false;
    for (unsigned tries = 0; !slept && tries < TRIES_MOST; tries++) {
        uint64_t ns = tries % 2 ? 15000000 : 30000000;
        slept = compute_in_context(ns);
        computed += ns + 40000000;
    }
    waited = waited_for_processor() - waited;
    print_message("# waited for a processor for %.3f of %.3f s\n", (double)waited / 1e9,
                  (double)(now_ns() - begin) / 1e9);
    assert_true(slept || waited > 2 * computed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_event_no_wake_up),
        cmocka_unit_test(time_of_the_wait_goes_to_it),
        cmocka_unit_test(processor_time_without_events_goes_to_the_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
