/* SPDX-License-Identifier: MIT
 *
 * timer.c - samples the stack HZ times a second. A timer's signal arms a hook on the current
 * coroutine; at its next event, at most an instruction or a C function later, the hook walks the
 * stack, charges the time since the last sample to it, and removes itself.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "host.h"

/* The host that is sampled; one in a process. */
static crn_host *volatile sampled;

static void on_signal(int number)
{
    (void)number;
    crn_host *host = sampled;
    if (!host)
        return;
    host->sampler->signals++;
    crn_coroutine *armed = host->sampler->armed;
    if (armed) {
        /* The last signal may have come while the hook was being set to something else. */
        if (armed == host->running)
            crn_hook_arm_again(armed);
        return;
    }
    int error = errno;
    if (crn_now_ns() >= host->sampler->rest_until_ns) {
        crn_coroutine *coroutine = host->running;
        if (coroutine->L) {
            host->sampler->armed = coroutine;
            crn_hook_arm(coroutine);
        }
    }
    errno = error;
}

void crn_sampler_move(crn_host *host, crn_coroutine *from, crn_coroutine *to)
{
    crn_sampler *sampler = host->sampler;
    if (!sampler || sampler->armed != from || from == to)
        return;
    crn_hook_install(host, from);
    sampler->armed = to;
    crn_hook_arm(to);
}

bool crn_sampler_open(crn_host *host)
{
    crn_sampler *sampler = calloc(1, sizeof *sampler);
    if (!sampler)
        return false;
    host->sampler = sampler;
    sampler->samples = cairn_metric_add(host->profile, "samples", "count");
    sampler->last_ns = crn_now_ns();

    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    sampled = host;
    if (sigaction(SIGPROF, &action, NULL) != 0)
        return false;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
    event._sigev_un._tid = gettid();
    if (timer_create(CLOCK_MONOTONIC, &event, &sampler->timer) != 0)
        return false;
    long nanoseconds = 1000000000L / host->period;
    struct itimerspec period = {{nanoseconds / 1000000000, nanoseconds % 1000000000},
                                {nanoseconds / 1000000000, nanoseconds % 1000000000}};
    sampler->ticking = true;
    /* Wall time is sampled, although not by the runtime. */
    crn_host_note(host, "wall", "sampled");
    crn_host_note(host, "sample_period_ns", "%ld", nanoseconds);
    return timer_settime(sampler->timer, 0, &period, NULL) == 0;
}

void crn_sampler_close(crn_host *host)
{
    crn_sampler *sampler = host->sampler;
    if (!sampler)
        return;
    if (sampler->ticking)
        timer_delete(sampler->timer);
    sampled = NULL;
    signal(SIGPROF, SIG_IGN); /* one may still be pending */
    /* Charges the time after the last sample to [root]. */
    cairn_sample(host->main_record->strand, NULL, 0, CAIRN_METRIC_WALL,
                 crn_now_ns() - sampler->last_ns);
    crn_host_note(host, "samples", "%llu", (unsigned long long)sampler->count);
}
