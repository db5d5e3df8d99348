/* SPDX-License-Identifier: MIT
 *
 * The thread that says when samples of wall time are due. It reads and writes nothing of
 * a profile's figures: it stores the time and asks the owner of each lane to look. The
 * context cannot change before the owner's next event, so what the owner then charges is
 * the context that was current at that time. docs/SAMPLING.md derives what that is worth.
 */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "runtime/runtime.h"

enum {
    HEARTBEAT_NS = 100000000, /* for a calibration when nothing is sampled */
    STACK_SIZE = 256 * 1024
};

static void ask(cairn_profile *profile)
{
    if (crn_profile_mode(profile) == CRN_MODE_OFF)
        return;
    uint64_t now = crn_clock_now(profile->tsc);
    cairn_lane *lane = __atomic_load_n(&profile->lanes, __ATOMIC_ACQUIRE);
    for (; lane; lane = lane->next) {
        cairn_strand *running = __atomic_load_n(&lane->running, __ATOMIC_ACQUIRE);
        if (!running)
            continue;
        __atomic_store_n(&lane->due, now, __ATOMIC_RELAXED);
        crn_strand_arm(running);
    }
}

static void advance(struct timespec *time, uint64_t ns)
{
    uint64_t total = (uint64_t)time->tv_nsec + ns;
    time->tv_sec += (time_t)(total / 1000000000u);
    time->tv_nsec = (long)(total % 1000000000u);
}

/* The time to the next sample: a half to one and a half of the period, so that a program that
 * has a period of its own is not always met in the same place. Any generator will do. */
static uint64_t gap(uint64_t period, uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return period / 2 + (uint64_t)((unsigned __int128)*random * period >> 64);
}

static void *run(void *data)
{
    cairn_profile *profile = data;
    crn_sampler *sampler = &profile->sampler;
    bool samples = profile->wall == CAIRN_WALL_SAMPLED;
    uint64_t random = profile->seed;
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    pthread_mutex_lock(&sampler->lock);
    while (!sampler->stop) {
        advance(&next, samples ? gap(profile->wall_period_ns, &random) : HEARTBEAT_NS);
        while (!sampler->stop &&
               pthread_cond_timedwait(&sampler->wake, &sampler->lock, &next) != ETIMEDOUT)
            ;
        if (sampler->stop)
            break;
        if (samples)
            ask(profile);
        crn_profile_moment(profile);
        struct timespec now; /* after a suspension, samples are not made up for */
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec > next.tv_sec)
            next = now;
    }
    pthread_mutex_unlock(&sampler->lock);
    return NULL;
}

/* The program's signals are not for this thread. */
static int start_thread(cairn_profile *profile)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = pthread_create(&profile->sampler.thread, &attributes, run, profile);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

cairn_error crn_sampler_start(cairn_profile *profile)
{
    crn_sampler *sampler = &profile->sampler;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&sampler->lock, NULL);
    pthread_cond_init(&sampler->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sampler->running = start_thread(profile) == 0;
    if (sampler->running) {
        pthread_setname_np(sampler->thread, "cairn");
        return CAIRN_OK;
    }
    pthread_cond_destroy(&sampler->wake);
    pthread_mutex_destroy(&sampler->lock);
    return CAIRN_E_THREAD;
}

void crn_sampler_stop(cairn_profile *profile)
{
    crn_sampler *sampler = &profile->sampler;
    if (!sampler->running)
        return;
    pthread_mutex_lock(&sampler->lock);
    sampler->stop = true;
    pthread_cond_signal(&sampler->wake);
    pthread_mutex_unlock(&sampler->lock);
    pthread_join(sampler->thread, NULL);
    pthread_cond_destroy(&sampler->wake);
    pthread_mutex_destroy(&sampler->lock);
    sampler->running = false;
}
