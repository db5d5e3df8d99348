/* SPDX-License-Identifier: MIT
 *
 * helper.h - a thread of a profile's own, which does something now and then. Where all threads of
 * the program have ended one by one, the process ends with the last of all: so helpers end then,
 * too.
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
    pthread_t keeper; /* of one that has left the program's files: it has them, and ends later */
    pthread_mutex_t lock; /* until it has been started */
    sem_t wake;
    void *(*run)(void *);
    void *data;
    sigset_t mask;      /* of who started it */
    uint64_t next_look; /* whether the program is over: CLOCK_MONOTONIC, ns */
    bool running, kept;
    bool stop;  /* atomic */
    bool apart; /* it has left the program's files */
} crn_helper;

/* Starts `run(data)` on a thread that none of the program's signals come to. If it is to be
 * `apart`, what it opens takes no number from the program's files, where the system can do that;
 * another thread keeps these then, for what the program does at its end. */
bool crn_helper_start(crn_helper *helper, const char *name, bool apart, void *(*run)(void *),
                      void *data);

/* For the thread: waits until this moment of CLOCK_MONOTONIC, ns, or until it is woken. False when
 * it is to end: it is asked to, or nothing of the program runs any more. */
bool crn_helper_wait(crn_helper *helper, uint64_t until);

/* Has it look at once. Does nothing if it does not run. For signal handlers, too. */
void crn_helper_wake(crn_helper *helper);

/* Asks it to end, and waits for that. Does nothing if it does not run. */
void crn_helper_stop(crn_helper *helper);

/* This is a child of fork: no helper of the parent's runs here. */
void crn_helpers_forget(void);

#endif
