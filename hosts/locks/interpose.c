/* SPDX-License-Identifier: MIT
 *
 * Interposed functions of libc. Each returns the result of libc's function, with its errno. To
 * record whether a thread waits for a mutex, those that lock one call pthread_mutex_trylock first,
 * and libc's function only if the mutex is busy.
 */
#include <errno.h>

#include "locks.h"

#define EXPORT __attribute__((visibility("default")))
#define CALLER __builtin_extract_return_addr(__builtin_return_address(0))

/* Returns the entry of a lock. Locks that Cairn takes meanwhile are not recorded. */
static crn_lock *lock_of(const void *address, crn_lock_kind kind)
{
    int saved = errno;
    bool before = crn_locks_busy(true);
    crn_lock *lock = crn_lock_of(address, kind);
    crn_locks_busy(before);
    errno = saved;
    return lock;
}

/* Executes `call`, which records. Locks that Cairn takes meanwhile are not recorded; errno is
 * kept. */
#define RECORD(call)                                                                               \
    do {                                                                                           \
        int saved_errno = errno;                                                                   \
        bool was_busy = crn_locks_busy(true);                                                      \
        call;                                                                                      \
        crn_locks_busy(was_busy);                                                                  \
        errno = saved_errno;                                                                       \
    } while (0)

/* ---- mutexes ---- */

/* The body of a function that locks a mutex: by trylock, or by `call` (libc's function) if the
 * mutex is busy. */
#define LOCKS(mutex, call)                                                                         \
    const crn_real *real = crn_locks_real();                                                       \
    cairn_strand *strand = crn_locks_strand(CALLER);                                               \
    crn_lock *lock = strand ? lock_of(mutex, CRN_LOCK_MUTEX) : NULL;                               \
    uint64_t since = 0;                                                                            \
    if (!lock)                                                                                     \
        return call;                                                                               \
    int result = real->trylock(mutex);                                                             \
    if (result == EBUSY) {                                                                         \
        since = cairn_priv_loose_now(strand);                                                      \
        result = call;                                                                             \
    }                                                                                              \
    if (result == 0 || result == EOWNERDEAD)                                                       \
        RECORD(crn_record_taken(strand, lock, since));                                             \
    return result

EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    LOCKS(mutex, real->lock(mutex));
}

EXPORT int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
    LOCKS(mutex, real->timedlock(mutex, until));
}

EXPORT int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
                                   const struct timespec *until)
{
    LOCKS(mutex, real->clocklock(mutex, clock, until));
}

EXPORT int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    cairn_strand *strand = crn_locks_strand(CALLER);
    crn_lock *lock = strand ? lock_of(mutex, CRN_LOCK_MUTEX) : NULL;
    int result = crn_locks_real()->trylock(mutex);
    if (lock && (result == 0 || result == EOWNERDEAD))
        RECORD(crn_record_taken(strand, lock, 0));
    return result;
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    cairn_strand *strand = crn_locks_strand(CALLER);
    crn_lock *lock = strand ? crn_lock_known(mutex) : NULL;
    if (lock)
        RECORD(crn_record_given(strand, lock));
    return crn_locks_real()->unlock(mutex);
}

/* ---- condition variables ---- */

/* Counts off a thread whose wait has ended, also if it was cancelled while it waited. */
static void end_wait(uint32_t **waiters)
{
    __atomic_sub_fetch(*waiters, 1, __ATOMIC_RELAXED);
}

/* The body of a function that waits for a condition by `call`. If the thread is cancelled in
 * `call`, it holds the mutex again, which is not recorded. */
#define WAITS(condition, mutex, call)                                                              \
    const crn_real *real = crn_locks_real();                                                       \
    cairn_strand *strand = crn_locks_strand(CALLER);                                               \
    crn_lock *its = strand ? lock_of(condition, CRN_LOCK_CONDITION) : NULL;                        \
    crn_lock *lock = its ? crn_lock_known(mutex) : NULL;                                           \
    bool held = false;                                                                             \
    if (lock)                                                                                      \
        RECORD(held = crn_record_given(strand, lock));                                             \
    if (!held)                                                                                     \
        return call;                                                                               \
    uint64_t since = cairn_priv_loose_now(strand);                                                 \
    __atomic_add_fetch(&its->waiters, 1, __ATOMIC_RELAXED);                                        \
    __attribute__((cleanup(end_wait), unused)) uint32_t *waiters = &its->waiters;                  \
    int result = call;                                                                             \
    RECORD(crn_record_waited(strand, its, lock, since, result == 0));                              \
    return result

EXPORT int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    WAITS(condition, mutex, real->wait(condition, mutex));
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                  const struct timespec *until)
{
    WAITS(condition, mutex, real->timedwait(condition, mutex, until));
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                  clockid_t clock, const struct timespec *until)
{
    WAITS(condition, mutex, real->clockwait(condition, mutex, clock, until));
}

static void signal_seen(const void *caller, const void *condition)
{
    cairn_strand *strand = crn_locks_strand(caller);
    crn_lock *its = strand ? crn_lock_known(condition) : NULL;
    if (its && its->kind == CRN_LOCK_CONDITION)
        RECORD(crn_record_signal(strand, its));
}

EXPORT int pthread_cond_signal(pthread_cond_t *condition)
{
    signal_seen(CALLER, condition);
    return crn_locks_real()->signal(condition);
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *condition)
{
    signal_seen(CALLER, condition);
    return crn_locks_real()->broadcast(condition);
}

/* ---- semaphores ---- */

/* Notes the value that a semaphore has when it is seen first. `its` may be NULL. */
static void begin_value(crn_lock *its, sem_t *semaphore)
{
    int value = 0;
    if (its && !__atomic_load_n(&its->posts, __ATOMIC_ACQUIRE) &&
        sem_getvalue(semaphore, &value) == 0)
        RECORD(crn_record_first_value(its, value > 0 ? (unsigned)value : 0));
}

/* The body of a function that takes a semaphore by `call`. Records the wait only if `call` got the
 * semaphore. */
#define TAKES(semaphore, call)                                                                     \
    const crn_real *real = crn_locks_real();                                                       \
    cairn_strand *strand = crn_locks_strand(CALLER);                                               \
    crn_lock *its = strand ? lock_of(semaphore, CRN_LOCK_SEMAPHORE) : NULL;                        \
    if (!its)                                                                                      \
        return call;                                                                               \
    begin_value(its, semaphore);                                                                   \
    uint64_t since = cairn_priv_loose_now(strand);                                                 \
    int result = call;                                                                             \
    if (result == 0)                                                                               \
        RECORD(crn_record_took(strand, its, since));                                               \
    return result

EXPORT int sem_wait(sem_t *semaphore)
{
    TAKES(semaphore, real->sem_wait(semaphore));
}

EXPORT int sem_trywait(sem_t *semaphore)
{
    TAKES(semaphore, real->sem_trywait(semaphore));
}

EXPORT int sem_timedwait(sem_t *semaphore, const struct timespec *until)
{
    TAKES(semaphore, real->sem_timedwait(semaphore, until));
}

EXPORT int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *until)
{
    TAKES(semaphore, real->sem_clockwait(semaphore, clock, until));
}

EXPORT int sem_post(sem_t *semaphore)
{
    cairn_strand *strand = crn_locks_strand(CALLER);
    crn_lock *its = strand ? lock_of(semaphore, CRN_LOCK_SEMAPHORE) : NULL;
    begin_value(its, semaphore);
    if (its)
        RECORD(crn_record_post(strand, its));
    return crn_locks_real()->sem_post(semaphore);
}

EXPORT int sem_init(sem_t *semaphore, int shared, unsigned value)
{
    int result = crn_locks_real()->sem_init(semaphore, shared, value);
    crn_lock *its = result == 0 ? crn_lock_known(semaphore) : NULL;
    if (its && its->kind == CRN_LOCK_SEMAPHORE && its->posts)
        RECORD(crn_record_value(its, value));
    return result;
}
