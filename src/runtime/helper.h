/* SPDX-License-Identifier: MIT
 *
 * helper.h - a background thread of a profile. If all threads of the program have ended one by
 * one, the process must end with the last of them: helpers then end, too.
 */
#ifndef CRN_RUNTIME_HELPER_H
#define CRN_RUNTIME_HELPER_H

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct crn_helper {
    pthread_t thread;
    pthread_t keeper;     /* keeps the program's files open after this thread has left them; ends
                             later */
    pthread_mutex_t lock; /* held until the thread has been started */
    sem_t wake;
    void *(*run)(void *);
    void *data;
    sigset_t mask;      /* signal mask of the starter */
    uint64_t next_look; /* CLOCK_MONOTONIC, ns: next check whether the program has ended */
    bool running;       /* atomic, for those that wake it while another thread starts it */
    bool kept;
    bool stop;  /* atomic */
    bool apart; /* it has a file table of its own */
} crn_helper;

/* Starts `run(data)` on a thread with all signals blocked. If `apart`, it gets a file table of its
 * own where possible, so that files it opens take no number from the program's; another thread then
 * keeps the program's files for its exit. */
bool crn_helper_start(crn_helper *helper, const char *name, bool apart, void *(*run)(void *),
                      void *data);

/* Called by the thread: waits until that moment of CLOCK_MONOTONIC (ns) or a wake-up. Returns false
 * if the thread must end: it was told to, or the program has ended, which is noticed only here:
 * wait for 0.5 s at most. */
bool crn_helper_wait(crn_helper *helper, uint64_t until);

static inline bool crn_helper_runs(const crn_helper *helper)
{
    return __atomic_load_n(&helper->running, __ATOMIC_ACQUIRE);
}

/* Wakes it, if it runs. Signal safe. */
void crn_helper_wake(crn_helper *helper);

/* Tells it to end and waits for that, if it runs. */
void crn_helper_stop(crn_helper *helper);

/* Forgets the parent's helpers in a child of fork, where they do not exist. */
void crn_helpers_forget(void);

#endif
