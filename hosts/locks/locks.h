/* SPDX-License-Identifier: MIT
 *
 * locks.h - declarations that the parts of libcairn-locks share. `cairn run --locks` preloads the
 * library. It records the program's mutexes, condition variables and semaphores as loose spans
 * (cairn/host.h) of the threads that use them, in the process's own profile.
 *
 * A mutex NAME has a span NAME while a thread holds it, and NAME.wait while a thread waits for it.
 * A condition variable has NAME from the begin of a wait to the signal, with a wait edge to the
 * span NAME.signal. A semaphore has NAME each time that it is taken, with a wait edge to NAME.post.
 * NAME.elsewhere is a wait that a timeout or another process ended, not a recorded signal or post.
 * Notes (lock.NAME, condition.NAME, semaphore.NAME) tell `cairn whatif` the kinds.
 */
#ifndef CRN_HOSTS_LOCKS_H
#define CRN_HOSTS_LOCKS_H

#include <cairn/host.h>
#include <cairn/process.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum crn_lock_kind { CRN_LOCK_MUTEX, CRN_LOCK_CONDITION, CRN_LOCK_SEMAPHORE } crn_lock_kind;

typedef enum crn_lock_state {
    CRN_LOCK_UNSET,   /* a thread sets the members of the entry */
    CRN_LOCK_SET,     /* the members are set, and do not change */
    CRN_LOCK_IGNORED, /* the lock is not recorded */
} crn_lock_state;

enum {
    CRN_LOCKS_MOST = 512, /* of all kinds; further locks are not recorded */
    CRN_POSTS_MOST = 256  /* posts of a semaphore that were not taken yet */
};

typedef struct crn_posts crn_posts;

/* A mutex, condition variable or semaphore of the program. Never freed: a later lock at the same
 * address is taken for the same lock. */
typedef struct crn_lock {
    const void *address;  /* atomic; NULL: the entry is free */
    crn_lock_state state; /* atomic */
    crn_lock_kind kind;
    cairn_block held, wait; /* NAME, NAME.wait; of other kinds `held` is NAME, a wait, and `wait` is
                               NAME.elsewhere */
    cairn_block waking;     /* NAME.signal or NAME.post */
    uint64_t released;      /* mutex: when it was last unlocked; only the holder uses it */
    uint32_t waiters;       /* condition variable: number of waiting threads; atomic */
    uint64_t signalled;     /* condition variable: time of the last signal; atomic */
    cairn_span signalled_by; /* span of the last signal; atomic */
    crn_posts *posts;        /* semaphore: posts that were not taken; atomic */
} crn_lock;

/* ---- real.c: the functions of libc ---- */

typedef struct crn_real {
    int (*lock)(pthread_mutex_t *mutex);
    int (*trylock)(pthread_mutex_t *mutex);
    int (*timedlock)(pthread_mutex_t *mutex, const struct timespec *until);
    int (*clocklock)(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until);
    int (*unlock)(pthread_mutex_t *mutex);
    int (*wait)(pthread_cond_t *condition, pthread_mutex_t *mutex);
    int (*timedwait)(pthread_cond_t *condition, pthread_mutex_t *mutex,
                     const struct timespec *until);
    int (*clockwait)(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                     const struct timespec *until);
    int (*signal)(pthread_cond_t *condition);
    int (*broadcast)(pthread_cond_t *condition);
    int (*sem_wait)(sem_t *semaphore);
    int (*sem_trywait)(sem_t *semaphore);
    int (*sem_timedwait)(sem_t *semaphore, const struct timespec *until);
    int (*sem_clockwait)(sem_t *semaphore, clockid_t clock, const struct timespec *until);
    int (*sem_post)(sem_t *semaphore);
    int (*sem_init)(sem_t *semaphore, int shared, unsigned value);
} crn_real;

/* Returns libc's functions; the first call looks them up. Opens no profile, takes no recorded
 * lock. */
const crn_real *crn_locks_real(void);

/* ---- table.c ---- */

/* Returns the entry of a lock, made at the first call; NULL if the lock is not recorded. */
crn_lock *crn_lock_of(const void *address, crn_lock_kind kind);

/* Returns the entry of a lock, of any kind; NULL if it has none yet. */
crn_lock *crn_lock_known(const void *address);

/* In a child of fork: gives up the entries that threads of the parent were about to make, so that
 * no thread waits for them, and calls `give_up` with each entry. */
void crn_locks_after_fork(void (*give_up)(crn_lock *lock));

/* Waits a moment for another thread that has a lock of the recording. Turns of a loop begin with 0.
 * Returns false after about 0.3 s: that thread may wait in a signal handler for the caller. Keeps
 * errno. Not a cancellation point. */
bool crn_locks_wait(int turn);

/* ---- record.c: what the calling thread does ---- */

/* Returns the thread's strand if a call from the address `caller` is to be recorded; otherwise
 * NULL. */
cairn_strand *crn_locks_strand(const void *caller);

/* Sets whether the thread is recording: locks that it takes meanwhile are Cairn's, and not
 * recorded. Returns the value before. */
bool crn_locks_busy(bool busy);

/* Records that the thread has got a mutex after a wait since `since`. `since` 0: without a wait. */
void crn_record_taken(cairn_strand *strand, crn_lock *mutex, uint64_t since);

/* Records that the thread is about to release a mutex. Returns false if its span was not
 * recorded. */
bool crn_record_given(cairn_strand *strand, crn_lock *mutex);

/* Records a wait since `since` for a condition, and that the thread has the mutex again.
 * `signalled`: the wait did not end by a timeout. */
void crn_record_waited(cairn_strand *strand, const crn_lock *condition, const crn_lock *mutex,
                       uint64_t since, bool signalled);

/* Records that the thread is about to signal a condition variable. Does nothing if no thread
 * waits. */
void crn_record_signal(cairn_strand *strand, crn_lock *condition);

/* Records a semaphore's value at its first use, unless another thread has. */
void crn_record_first_value(crn_lock *semaphore, unsigned value);

/* Record a semaphore's new value; that it is about to be posted (`strand` may be NULL); that the
 * thread has taken it after a wait since `since`. */
void crn_record_value(crn_lock *semaphore, unsigned value);
void crn_record_post(cairn_strand *strand, crn_lock *semaphore);
void crn_record_took(cairn_strand *strand, crn_lock *semaphore, uint64_t since);

#endif
