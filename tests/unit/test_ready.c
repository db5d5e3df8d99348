/* SPDX-License-Identifier: MIT
 *
 * test_ready.c - time in which a thread is ready to run without a core is charged apart from
 * waiting; the kernel's own figure of the thread is the reference.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "profile/profile.h"
#include "support/cases.h"
#include "support/processor.h"
#include "support/profiles.h"
#include "support/scratch.h"

enum { CROWD = 2, PAUSE_NS = 2000000 };

static const uint64_t enough_ns = 300000000;

/* Lets this thread and its children run on one core only. */
static void share_a_core(void)
{
    cpu_set_t allowed;
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    for (int core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &allowed)) {
            CPU_ZERO(&allowed);
            CPU_SET(core, &allowed);
            break;
        }
    assert_int_equal(sched_setaffinity(0, sizeof allowed, &allowed), 0);
}

/* Starts a process that computes until it is killed. */
static pid_t start_rival(void)
{
    pid_t parent = getpid(), rival = fork();
    if (rival)
        return rival;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent) {
    }
    _exit(0);
}

static uint64_t metric_of(const crn_profile *profile, const char *name)
{
    for (uint32_t m = 0; m < profile->metric_count; m++)
        if (strcmp(profile->metrics[m].name, name) == 0)
            return crn_metric_total(profile, m);
    return 0;
}

static void ready_is_apart_from_waiting(void **state)
{
    (void)state;
    pid_t rivals[CROWD];
    char path[SCRATCH_PATH];
    scratch_path(path, "ready.cairn");
    cairn_options options = path_options(path);
    options.wall = CAIRN_WALL_SAMPLED;
    options.cpu = CAIRN_CPU_SAMPLED;
    uint64_t first = waited_for_processor();
    setup s = setup_open(&options, 2); /* its helpers may use any core */
    share_a_core();
    for (int i = 0; i < CROWD; i++)
        rivals[i] = start_rival();
    uint64_t before = waited_for_processor(), waited = 0;
    while (waited < enough_ns) {
        cairn_enter(s.strand, 1);
        for (volatile int i = 0; i < 100000; i++) {
        }
        cairn_leave(s.strand);
        waited = waited_for_processor() - before;
    }
    cairn_enter(s.strand, 2);
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    cairn_leave(s.strand);
    for (int i = 0; i < CROWD; i++) {
        kill(rivals[i], SIGKILL);
        waitpid(rivals[i], NULL, 0);
    }
    setup_close(&s);
    uint64_t most = waited_for_processor() - first;
    crn_error error = {0};
    crn_profile *profile = crn_profile_load(path, &error);
    assert_non_null(profile);
    uint64_t ready = metric_of(profile, "ready"), off = metric_of(profile, "wall");
    off -= metric_of(profile, "cpu");
    /* The metric lacks what the thread waited before the first look and after the last. */
    if (ready > most || ready < waited / 2 || ready > off + off / 20)
        fail_msg("%.3f s ready: the kernel says %.3f to %.3f, off the core %.3f",
                 (double)ready / 1e9, (double)waited / 1e9, (double)most / 1e9, (double)off / 1e9);
    crn_profile_free(profile);
}

/* Returns true if the kernel says how long the thread has waited for a core. A thread that has
 * slept often has waited for some time, if short. */
static bool kernel_says(void)
{
    for (int i = 0; i < 200 && !waited_for_processor(); i++)
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    return waited_for_processor() != 0;
}

int main(void)
{
    if (!kernel_says()) {
        puts("1..0 # SKIP the kernel does not say how long threads wait for a core");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ready_is_apart_from_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
