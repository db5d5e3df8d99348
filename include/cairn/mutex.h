/* SPDX-License-Identifier: MIT
 *
 * mutex.h - a mutex whose holders and waiters are recorded, so that `cairn whatif` can model it.
 *
 *     static cairn_mutex scene = CAIRN_MUTEX("scene");
 *
 *     void update(void)
 *     {
 *         CAIRN_LOCK(&scene);          until the end of the C scope
 *         ...
 *     }
 *
 * records a span "scene" while a thread holds the mutex, and a span "scene.wait" before it if the
 * thread must wait, in the process's own profile (process.h). Without a profile the mutex costs a
 * pthread_mutex_t and a few predictable branches.
 *
 * Locking and unlocking must nest with the thread's scopes. C++ has cairn::mutex in cairn.hpp.
 * Functions return what pthread_mutex_lock and the like return: 0 or an error number. Thread: any.
 * Not signal safe.
 */
#ifndef CAIRN_MUTEX_H
#define CAIRN_MUTEX_H

#include <pthread.h>

#include "scope.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cairn_mutex {
    pthread_mutex_t mutex;
    cairn_place hold, wait;
    uint32_t noted;    /* `names` (hot.h) of the profile whose note names this mutex; 0: not noted
                          yet */
    cairn_scope scope; /* scope of the thread that holds the mutex */
} cairn_mutex;

/* Initialiser; `name` is a string literal. Mutexes with equal names count as one lock in `cairn
 * whatif`, so give each its own. */
#define CAIRN_MUTEX(name)                                                                          \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER, CAIRN_PLACE_WORD(name), CAIRN_PLACE_WORD(name ".wait"), 0,      \
        {                                                                                          \
            NULL, 0, NULL                                                                          \
        }                                                                                          \
    }

/* Locks the mutex. */
CAIRN_PRIV_API int cairn_mutex_lock(cairn_mutex *mutex);

/* Locks the mutex; returns EBUSY at once if a thread holds it. */
CAIRN_PRIV_API int cairn_mutex_trylock(cairn_mutex *mutex);

/* Unlocks the mutex; ends scopes that were opened while it was locked and are still open. Thread:
 * the one that holds the mutex. */
CAIRN_PRIV_API int cairn_mutex_unlock(cairn_mutex *mutex);

/* Waits like pthread_cond_wait, with the mutex unlocked. The mutex's span ends before the wait, and
 * another begins after it, unless the thread does not hold the mutex then, because of an error. The
 * wait is not recorded: put a span around the call, and use cairn_span_waits_for. Thread: the one
 * that holds the mutex. */
CAIRN_PRIV_API int cairn_mutex_wait(cairn_mutex *mutex, pthread_cond_t *condition);

CAIRN_PRIV_INLINE void cairn_priv_mutex_end(cairn_mutex **mutex)
{
    cairn_mutex_unlock(*mutex);
    CAIRN_PRIV_NO_JUMP();
}

CAIRN_PRIV_INLINE cairn_mutex *cairn_priv_mutex_begin(cairn_mutex *mutex)
{
    cairn_mutex_lock(mutex);
    return mutex;
}

/* CAIRN_LOCK(&mutex): holds the mutex up to the end of the enclosing C scope. */
#define CAIRN_LOCK(mutex) CAIRN_PRIV_LOCK(__COUNTER__, mutex)
#define CAIRN_PRIV_LOCK(number, mutex) CAIRN_PRIV_LOCK_OF(number, mutex)
#define CAIRN_PRIV_LOCK_OF(number, mutex)                                                          \
    __attribute__((cleanup(cairn_priv_mutex_end), unused)) cairn_mutex *cairn_priv_lock_##number = \
        cairn_priv_mutex_begin(mutex)

#ifdef CAIRN_DISABLE
CAIRN_PRIV_INLINE int cairn_mutex_lock(cairn_mutex *mutex)
{
    return pthread_mutex_lock(&mutex->mutex);
}

CAIRN_PRIV_INLINE int cairn_mutex_trylock(cairn_mutex *mutex)
{
    return pthread_mutex_trylock(&mutex->mutex);
}

CAIRN_PRIV_INLINE int cairn_mutex_unlock(cairn_mutex *mutex)
{
    return pthread_mutex_unlock(&mutex->mutex);
}

CAIRN_PRIV_INLINE int cairn_mutex_wait(cairn_mutex *mutex, pthread_cond_t *condition)
{
    return pthread_cond_wait(condition, &mutex->mutex);
}
#endif

#ifdef __cplusplus
}
#endif

#endif
