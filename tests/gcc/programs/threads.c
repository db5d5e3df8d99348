/* SPDX-License-Identifier: MIT
 *
 * Threads that end in each possible way.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "noipa.h"

static int cleaned;
static pthread_key_t key;
static sem_t deep_enough;

KEPT int leaf(int n)
{
    return n + 1;
}

KEPT void clean(void *data)
{
    (void)data;
    __atomic_fetch_add(&cleaned, leaf(0), __ATOMIC_RELAXED);
}

KEPT void destroy(void *data)
{
    (void)data;
    __atomic_fetch_add(&cleaned, leaf(9), __ATOMIC_RELAXED);
}

KEPT int descend(int n, int how)
{
    int result;
    pthread_cleanup_push(clean, NULL);
    if (n == 0 && how == 1)
        pthread_exit((void *)(intptr_t)5);
    if (n == 0 && how == 2) {
        sem_post(&deep_enough);
        for (;;)
            pause();
    }
    result = n == 0 ? 1 : descend(n - 1, how) + 1;
    OPAQUE(result);
    pthread_cleanup_pop(1);
    return result;
}

KEPT void *body(void *how)
{
    pthread_setspecific(key, how);
    return (void *)(intptr_t)descend(10, (int)(intptr_t)how);
}

KEPT int after_threads(int n)
{
    return n;
}

int main(void)
{
    pthread_key_create(&key, destroy);
    sem_init(&deep_enough, 0, 0);
    intptr_t sum = 0;
    for (int i = 0; i < 9; i++) {
        pthread_t thread;
        void *result;
        pthread_create(&thread, NULL, body, (void *)(intptr_t)(i % 3));
        if (i % 3 == 2) {
            sem_wait(&deep_enough);
            pthread_cancel(thread);
        }
        pthread_join(thread, &result);
        sum += result == PTHREAD_CANCELED ? 1000 : (intptr_t)result;
        sum += after_threads(i);
    }
    printf("%ld %d\n", (long)sum, cleaned);
    return 0;
}
