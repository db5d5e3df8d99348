/* SPDX-License-Identifier: MIT
 *
 * Spends three parts of its time in one function and one in another, which is inlined, on two
 * threads.
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "noipa.h"

static double spent(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

KEPT void burn_much(double until)
{
    while (spent() < until)
        for (volatile int i = 0; i < 1000000; i++)
            ;
}

static inline __attribute__((always_inline)) void burn_inlined(double until)
{
    for (;;) {
        for (volatile int i = 0; i < 1000000; i++)
            ;
        if (spent() >= until)
            return;
    }
}

KEPT void *work(void *data)
{
    double begin = spent();
    burn_much(begin + 0.3);
    burn_inlined(begin + 0.4);
    return data;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    work(NULL);
    pthread_join(thread, NULL);
    puts("done");
    return 0;
}
