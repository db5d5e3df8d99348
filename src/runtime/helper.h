/* SPDX-License-Identifier: MIT
 *
 * helper.h - helpers: background threads of a profile. A program whose threads end one by one must
 * end with its last thread, so helpers end when all threads of the program have ended.
 */
#ifndef CRN_RUNTIME_HELPER_H
#define CRN_RUNTIME_HELPER_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "plat/futex.h"
#include "plat/hidden_thread.h"

typedef struct crn_helper {
    pthread_t thread;               /* unless `hidden` */
    crn_hidden_thread out_of_sight; /* if `hidden` */
    pthread_t keeper;    /* if `kept`: it has the program's files and ends after the helper */
    crn_futex_lock lock; /* held by the starter until the struct is complete, then by the helper
                            except while it waits */
    uint32_t wakes;      /* number of wake-ups; atomic */
    uint32_t wakes_seen; /* number when crn_helper_wait last returned */
    void *(*run)(void *);
    void *data;
    sigset_t mask;      /* signal mask of the starter. Under lock */
    uint64_t next_look; /* CLOCK_MONOTONIC, ns: when to check next whether the program has ended */
    bool running;       /* atomic: a thread may wake the helper while another starts it */
    bool hidden;        /* the C library does not know the thread */
    pid_t process;      /* if `hidden`: the process that the thread belongs to */
    bool kept;          /* there is a keeper */
    bool stop;          /* the helper must end; atomic */
    bool apart;         /* the helper has a file table of its own */
    int file;           /* if `kept`: file of the program that this table keeps; -1: none */
    bool last;          /* the program's threads have all ended. Under lock */
    bool over;          /* `run` has returned. Under lock */
    bool halted;        /* the thread that called crn_helper_halt has the lock */
    bool detached;      /* nobody joins the thread: crn_helper_let_end */
} crn_helper;

/* Starts `run(data)` on a thread with all signals but SIGBUS blocked. `name` is the thread's name
 * for the kernel. Returns false if no thread can be made. */
bool crn_helper_start(crn_helper *helper, const char *name, void *(*run)(void *), void *data);

/* Does the same, and gives the thread a file table of its own where possible, so that the files it
 * opens take no numbers from the program's. Of the program's files the table has `file` alone; -1:
 * none. A second thread, the keeper, keeps the program's files open until the helper has ended, for
 * the program's exit handlers. */
bool crn_helper_start_apart(crn_helper *helper, const char *name, int file, void *(*run)(void *),
                            void *data);

/* Does the same as crn_helper_start, with a thread that the C library does not know
 * (hidden_thread.h). Only what is allowed on such a thread may run. */
bool crn_helper_start_hidden(crn_helper *helper, const char *name, void *(*run)(void *),
                             void *data);

/* Returns true if the helper is hidden and goes on. False in a child of vfork, which shares the
 * struct, but has no such thread. */
bool crn_helper_is_hidden(const crn_helper *helper);

/* Serializes the replacement of hidden helpers. Signals are blocked meanwhile. */
extern crn_futex_lock crn_helpers_replaced;

/* Sets the signal mask that the starter had before it blocked signals. The program's exit handlers
 * run under it, if they run on the helper. */
void crn_helper_set_mask(crn_helper *helper, const sigset_t *mask);

/* Waits until `until` (CLOCK_MONOTONIC, ns) or a wake-up. Returns false if the thread must end,
 * because of crn_helper_stop or because the program has ended. Only this function notices the
 * program's end, so `until` should be at most 0.5 s away. Thread: the helper. */
bool crn_helper_wait(crn_helper *helper, uint64_t until);

static inline bool crn_helper_runs(const crn_helper *helper)
{
    return __atomic_load_n(&helper->running, __ATOMIC_ACQUIRE);
}

/* Wakes the helper, if it runs. Signal safe. */
void crn_helper_wake(crn_helper *helper);

/* Tells the helper to end and waits for its end, if it runs. */
void crn_helper_stop(crn_helper *helper);

/* Halts the helper until crn_helper_let_end. Waits only until the helper waits: to wait for the end
 * of a thread takes long if other programs use the processors. Returns the number of threads that
 * still exist, of the helper and its keeper; 0 if the helper does not run, its `run` has returned,
 * or it is the calling thread. */
unsigned crn_helper_halt(crn_helper *helper);

/* Tells a halted helper to end, when it next wakes up, and detaches it. crn_helper_stop may still
 * wait for its end. */
void crn_helper_let_end(crn_helper *helper);

/* Sets the number of helper threads to 0 in a child of fork, which has none of the parent's. */
void crn_helpers_forget(void);

#endif
