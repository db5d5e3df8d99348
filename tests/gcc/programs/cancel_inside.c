/* SPDX-License-Identifier: MIT
 *
 * A thread that is cancelled while the runtime has disabled its cancellation.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wander.h"

#define UNSEEN __attribute__((no_instrument_function))

static pthread_barrier_t barrier;
static _Thread_local int waits; /* for the cancellation */

/* The runtime calls this function in place of the C library's. */
UNSEEN __attribute__((visibility("default"))) int pthread_setcancelstate(int state, int *before)
{
    void *next = dlsym(RTLD_NEXT, "pthread_setcancelstate");
    int (*real)(int, int *);
    memcpy(&real, &next, sizeof real);
    int error = real(state, before);
    if (waits && state == PTHREAD_CANCEL_DISABLE) {
        waits = 0;
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
    }
    return error;
}

UNSEEN static void *body(void *argument)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    if (getenv("CAIRN_SWITCH"))
        raise(SIGUSR2);
    waits = 1;
    for (unsigned way = 0;; way++)
        wander(way, 12);
    return argument;
}

KEPT int after_thread(int n)
{
    return n;
}

UNSEEN int main(void)
{
    pthread_t thread;
    void *result;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, body, NULL);
    pthread_barrier_wait(&barrier);
    pthread_cancel(thread);
    pthread_barrier_wait(&barrier);
    pthread_join(thread, &result);
    for (unsigned way = 0; way < 1000; way++)
        wander(way * 31, 12);
    printf("%d\n", after_thread(result == PTHREAD_CANCELED));
    return 0;
}
