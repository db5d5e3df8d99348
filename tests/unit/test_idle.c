/* SPDX-License-Identifier: MIT
 *
 * test_idle.c - a process without events: its helper threads hardly wake up, and the time of the
 * context that waited or computed is still charged to it.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/cases.h"
#include "support/profiles.h"

static uint64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void pause_for(uint64_t ns)
{
    struct timespec time = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    nanosleep(&time, NULL);
}

static long switches_of(const char *thread)
{
    char path[300], line[200];
    long found = 0;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", thread);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    while (fgets(line, sizeof line, file))
        sscanf(line, "voluntary_ctxt_switches: %ld", &found);
    fclose(file);
    return found;
}

/* Returns the number of times that the other threads of this process have begun to wait. */
static long switches(void)
{
    long sum = 0;
    char own[20];
    snprintf(own, sizeof own, "%d", (int)getpid());
    DIR *threads = opendir("/proc/self/task");
    assert_non_null(threads);
    for (struct dirent *thread; (thread = readdir(threads));)
        if (*thread->d_name != '.' && strcmp(thread->d_name, own) != 0)
            sum += switches_of(thread->d_name);
    closedir(threads);
    return sum;
}

static cairn_options options_of(cairn_wall wall, cairn_cpu cpu, bool spans)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.wall = wall;
    options.cpu = cpu;
    options.spans = spans;
    return options;
}

static void no_event_no_wake_up(void **state)
{
    (void)state;
    const cairn_options options[] = {
        options_of(CAIRN_WALL_SAMPLED, CAIRN_CPU_OFF, false),
        options_of(CAIRN_WALL_SAMPLED, CAIRN_CPU_SAMPLED, true),
        options_of(CAIRN_WALL_EXACT, CAIRN_CPU_OFF, true),
        options_of(CAIRN_WALL_OFF, CAIRN_CPU_OFF, true),
    };
    for (size_t i = 0; i < COUNT(options); i++) {
        setup s = setup_open(&options[i], 2);
        cairn_enter(s.strand, 1);
        pause_for(500000000);
        long before = switches();
        pause_for(1000000000);
        long wake_ups = switches() - before;
        if (wake_ups > 12)
            fail_msg("options %zu: %ld wake-ups a second", i, wake_ups);
        cairn_leave(s.strand);
        setup_close(&s);
    }
}

static void assert_near(uint64_t value, uint64_t expected, uint64_t allowance)
{
    if (value + allowance < expected || value > expected + allowance)
        fail_msg("%llu is not %llu", (unsigned long long)value, (unsigned long long)expected);
}

/* The last round of the sampler may be 125 ms ago when the context ends. */
static void time_of_the_wait_goes_to_it(void **state)
{
    (void)state;
    const cairn_options options = options_of(CAIRN_WALL_SAMPLED, CAIRN_CPU_OFF, false);
    setup s = setup_open(&options, 2);
    for (int i = 0; i < 5; i++) {
        uint64_t before = now(CLOCK_MONOTONIC), wall = cost_at(s.profile, "1").wall;
        cairn_enter(s.strand, 1);
        pause_for(170000000 + (uint64_t)i * 20000000);
        cairn_leave(s.strand);
        cairn_enter(s.strand, 2);
        uint64_t waited = now(CLOCK_MONOTONIC) - before;
        assert_near(cost_at(s.profile, "1").wall - wall, waited, 10000000);
        pause_for(60000000);
        cairn_leave(s.strand);
    }
    setup_close(&s);
}

/* A context that computes for long has no events either. */
static void processor_time_without_events_goes_to_the_context(void **state)
{
    (void)state;
    const cairn_options options = options_of(CAIRN_WALL_OFF, CAIRN_CPU_SAMPLED, false);
    setup s = setup_open(&options, 2);
    cairn_enter(s.strand, 1);
    pause_for(200000000);
    uint64_t before = now(CLOCK_THREAD_CPUTIME_ID), used = 0;
    while (used < 80000000)
        used = now(CLOCK_THREAD_CPUTIME_ID) - before;
    cairn_leave(s.strand);
    cairn_enter(s.strand, 2);
    cost_at(s.profile, "1");
    before = now(CLOCK_THREAD_CPUTIME_ID);
    while (now(CLOCK_THREAD_CPUTIME_ID) - before < 40000000) {
    }
    cairn_leave(s.strand);
    assert_near(cost_at(s.profile, "1").cpu, used, 20000000);
    setup_close(&s);
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
