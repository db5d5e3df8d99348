/* SPDX-License-Identifier: MIT */
#include "runtime/helper.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

enum { STACK_SIZE = 256 * 1024 };

static bool start_thread(crn_helper *helper, void *(*run)(void *), void *data)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = pthread_create(&helper->thread, &attributes, run, data);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error == 0;
}

static void forget(crn_helper *helper)
{
    pthread_cond_destroy(&helper->wake);
    pthread_mutex_destroy(&helper->lock);
    helper->running = false;
}

bool crn_helper_start(crn_helper *helper, const char *name, void *(*run)(void *), void *data)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&helper->lock, NULL);
    pthread_cond_init(&helper->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    helper->stop = helper->woken = false;
    helper->running = start_thread(helper, run, data);
    if (helper->running)
        pthread_setname_np(helper->thread, name);
    else
        forget(helper);
    return helper->running;
}

bool crn_helper_wait(crn_helper *helper, uint64_t until)
{
    struct timespec time = {.tv_sec = (time_t)(until / 1000000000u),
                            .tv_nsec = (long)(until % 1000000000u)};
    pthread_mutex_lock(&helper->lock);
    while (!helper->stop && !helper->woken &&
           pthread_cond_timedwait(&helper->wake, &helper->lock, &time) != ETIMEDOUT)
        ;
    bool goes_on = !helper->stop;
    helper->woken = false;
    pthread_mutex_unlock(&helper->lock);
    return goes_on;
}

void crn_helper_wake(crn_helper *helper)
{
    if (!helper->running)
        return;
    pthread_mutex_lock(&helper->lock);
    helper->woken = true;
    pthread_cond_signal(&helper->wake);
    pthread_mutex_unlock(&helper->lock);
}

void crn_helper_stop(crn_helper *helper)
{
    if (!helper->running)
        return;
    pthread_mutex_lock(&helper->lock);
    helper->stop = true;
    pthread_cond_signal(&helper->wake);
    pthread_mutex_unlock(&helper->lock);
    pthread_join(helper->thread, NULL);
    forget(helper);
}
