/* SPDX-License-Identifier: MIT
 *
 * Threads that are cancelled at any moment: in Enter, in Leave, while contexts are made.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>

#include "wander.h"

enum { THREADS = 150 };

KEPT void *body(void *argument)
{
    unsigned way = (unsigned)(uintptr_t)argument;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;)
        wander(way++, 12);
    return NULL;
}

KEPT int after_thread(int n)
{
    return n;
}

int main(void)
{
    int ended = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_t thread;
        void *result;
        progress = 0;
        pthread_create(&thread, NULL, body, (void *)(uintptr_t)(i * 1000));
        while (progress <= i * 7 % 60 * 64)
            sched_yield();
        pthread_cancel(thread);
        pthread_join(thread, &result);
        ended += after_thread(result == PTHREAD_CANCELED);
    }
    printf("%d\n", ended);
    return 0;
}
