/* SPDX-License-Identifier: MIT
 *
 * locks.h - declarations that the parts of libcairn-locks share: `cairn run --locks` preloads it,
 * and it records the program's mutexes, condition variables and semaphores as loose spans
 * (cairn/host.h) of the threads that use them, in the process's own profile.
 *
 * A mutex NAME has a span NAME while a thread holds it and NAME.wait while a thread waits for it. A
 * condition variable has NAME from the begin of a wait to the signal, with an edge to the span
 * NAME.signal. A semaphore has NAME with an edge to the NAME.post that it took, also where it did
 * not have to wait. NAME.elsewhere is a wait that nobody recorded ended: a timeout, or another
 * process. Notes (lock.NAME, condition.NAME, semaphore.NAME) tell `cairn whatif` what they are.
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

enum {
    CRN_LOCKS_MOST = 512, /* of all kinds; others are not recorded */
    CRN_POSTS_MOST = 256  /* posts of a semaphore that were not taken yet */
};

typedef struct crn_posts crn_posts;

/* A mutex, condition variable or semaphore of the program. Never freed: another one at the same
 * address is taken for the same. */
typedef struct crn_lock {
    const void *address; /* atomic; NULL: free */
    bool ready;          /* atomic: all below is set */
    crn_lock_kind kind;
    cairn_block held, wait;  /* a mutex's; of the others `held` is a wait, `wait` one elsewhere */
    cairn_block waking;      /* a signal or post */
    uint64_t released;       /* of a mutex: when it was last unlocked; its holder's */
    uint32_t waiters;        /* of a condition variable: atomic */
    uint64_t signalled;      /* of a condition variable: when last; atomic */
    cairn_span signalled_by; /* the span of that; atomic */
    crn_posts *posts;        /* of a semaphore */
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

/* Returns them; looks them up the first time. Opens no profile, takes no lock that is recorded. */
const crn_real *crn_locks_real(void);

/* ---- table.c ---- */

/* Returns the entry of a lock, made at its first use; NULL if it is not recorded. */
crn_lock *crn_lock_of(const void *address, crn_lock_kind kind);

/* Returns the entry if there is one. */
crn_lock *crn_lock_known(const void *address);

/* ---- record.c: what the calling thread does ---- */

/* Returns the thread's strand if a call from that address is to be recorded; otherwise NULL. */
cairn_strand *crn_locks_strand(const void *caller);

/* Returns true while the thread records, so that what Cairn itself locks is left alone. */
bool crn_locks_busy(bool busy);

/* The thread has a mutex, for which it waited since then (0: it did not). */
void crn_record_taken(cairn_strand *strand, crn_lock *mutex, uint64_t since);

/* The thread is about to give a mutex up. Returns false if its taking was not recorded. */
bool crn_record_given(cairn_strand *strand, crn_lock *mutex);

/* A wait that began then has ended; `signalled`: not by a timeout. */
void crn_record_waited(cairn_strand *strand, const crn_lock *condition, const crn_lock *mutex,
                       uint64_t since, bool signalled);

/* The thread is about to wake those who wait. */
void crn_record_signal(cairn_strand *strand, crn_lock *condition);

/* A semaphore begins, with that value; is about to be posted; and was taken, since when. `strand`
 * may be NULL. */
void crn_record_value(crn_lock *semaphore, unsigned value);
void crn_record_post(cairn_strand *strand, crn_lock *semaphore);
void crn_record_took(cairn_strand *strand, crn_lock *semaphore, uint64_t since);

#endif
