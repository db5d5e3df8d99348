/* SPDX-License-Identifier: MIT
 *
 * A mutex whose holders and waiters are spans.
 */
#include <cairn/mutex.h>

#include <errno.h>
#include <stdio.h>

#include "runtime/runtime.h"

enum { KEY_MAX = 1024 };

/* Adds the note that spans of the mutex exclude each other, once for each profile. */
static void note(cairn_mutex *mutex, cairn_strand *strand)
{
    cairn_lane *lane = crn_lane_of(strand);
    uint32_t names = lane->graph.hot.names;
    char key[KEY_MAX];
    if (__atomic_exchange_n(&mutex->noted, names, __ATOMIC_RELAXED) == names)
        return;
    int length = snprintf(key, sizeof key, "lock.%s", mutex->hold.name);
    if (length > 0 && (size_t)length < sizeof key)
        cairn_profile_note(lane->profile, key, mutex->wait.name);
}

static void begin_hold(cairn_mutex *mutex, cairn_strand *strand)
{
    mutex->scope = cairn_scope_begin(strand, &mutex->hold, CAIRN_ITERATION_NONE);
}

/* Forgets the scope as well: a misused mutex that is not held must not end other scopes. */
static void end_hold(cairn_mutex *mutex)
{
    cairn_scope hold = mutex->scope;
    mutex->scope.strand = NULL;
    cairn_scope_end(&hold);
}

int cairn_mutex_lock(cairn_mutex *mutex)
{
    cairn_strand *strand = cairn_thread_strand();
    if (!strand) {
        int failed = pthread_mutex_lock(&mutex->mutex);
        if (!failed)
            mutex->scope.strand = NULL;
        return failed;
    }
    if (__atomic_load_n(&mutex->noted, __ATOMIC_RELAXED) !=
        CAIRN_PRIV_READ(crn_lane_of(strand)->graph.hot.names))
        note(mutex, strand);
    int failed = pthread_mutex_trylock(&mutex->mutex);
    if (failed == EBUSY) {
        cairn_scope wait = cairn_scope_begin(strand, &mutex->wait, CAIRN_ITERATION_NONE);
        failed = pthread_mutex_lock(&mutex->mutex);
        cairn_scope_end(&wait);
    }
    if (!failed)
        begin_hold(mutex, strand);
    return failed;
}

int cairn_mutex_trylock(cairn_mutex *mutex)
{
    cairn_strand *strand = cairn_thread_strand();
    int failed = pthread_mutex_trylock(&mutex->mutex);
    if (failed)
        return failed;
    if (strand)
        note(mutex, strand);
    begin_hold(mutex, strand);
    return 0;
}

int cairn_mutex_unlock(cairn_mutex *mutex)
{
    end_hold(mutex);
    return pthread_mutex_unlock(&mutex->mutex);
}

int cairn_mutex_wait(cairn_mutex *mutex, pthread_cond_t *condition)
{
    end_hold(mutex);
    int failed = pthread_cond_wait(condition, &mutex->mutex);
    if (!failed || failed == EOWNERDEAD) /* else the thread does not hold the mutex */
        begin_hold(mutex, cairn_thread_strand());
    return failed;
}
