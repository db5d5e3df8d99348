/* SPDX-License-Identifier: MIT
 *
 * helper.h - a thread of a profile's own, which does something now and then.
 */
#ifndef CRN_RUNTIME_HELPER_H
#define CRN_RUNTIME_HELPER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct crn_helper {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool running, stop, woken;
} crn_helper;

/* Starts `run(data)` on a thread that none of the program's signals come to. */
bool crn_helper_start(crn_helper *helper, const char *name, void *(*run)(void *), void *data);

/* For the thread: waits until this moment of CLOCK_MONOTONIC, ns, or until it is woken. False when
 * it is to end. */
bool crn_helper_wait(crn_helper *helper, uint64_t until);

/* Has it look at once. Does nothing if it does not run. */
void crn_helper_wake(crn_helper *helper);

/* Asks it to end, and waits for that. Does nothing if it does not run. */
void crn_helper_stop(crn_helper *helper);

#endif
