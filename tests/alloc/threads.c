/* SPDX-License-Identifier: MIT
 *
 * Programs whose threads begin or end in unusual ways. Argument: the program; see the table at the
 * end.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "accounts.h"

enum { STACK = 8 << 20 }; /* bytes: libc keeps stacks of ended threads, 40 MiB at most */

static long ended; /* threads; atomic */

APART static held by_malloc(size_t size)
{
    return account_made(__func__, malloc(size), size);
}

static void release(held *held)
{
    account_gone(held);
    free(held->block);
}

APART static void start_thread(void *(*run)(void *), void *data)
{
    pthread_attr_t attributes;
    pthread_t id;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK);
    int error;
    while ((error = pthread_create(&id, &attributes, run, data)) == EAGAIN)
        usleep(1000);
    MUST(error == 0);
    pthread_attr_destroy(&attributes);
}

static void wait_for_threads(long count)
{
    while (__atomic_load_n(&ended, __ATOMIC_ACQUIRE) < count)
        usleep(1000);
}

/* ---- the beginning ---- */

/* libc holds the thread's lock while it allocates in here. */
static void *ask_for_stack(void *data)
{
    pthread_attr_t attributes;
    MUST(pthread_getattr_np(pthread_self(), &attributes) == 0);
    pthread_attr_destroy(&attributes);
    held own = by_malloc(40);
    release(&own);
    return data;
}

static void asks_for_stack(void)
{
    enum { TIMES = 20 };
    for (int i = 0; i < TIMES; i++) {
        pthread_t id;
        MUST(pthread_create(&id, NULL, ask_for_stack, NULL) == 0);
        pthread_join(id, NULL);
    }
}

/* ---- the end ---- */

static void *allocate(void *data)
{
    held own = by_malloc(100);
    release(&own);
    __atomic_add_fetch(&ended, 1, __ATOMIC_RELEASE);
    return data;
}

/* Each ending thread frees the oldest stacks of others, after its own key destructors have run. */
static void detached(void)
{
    enum { THREADS = 60 };
    for (int i = 0; i < THREADS; i++)
        start_thread(allocate, NULL);
    wait_for_threads(THREADS);
    usleep(100000);
    printf("this line was buffered");
}

static void many_detached(void)
{
    enum { THREADS = 4000 };
    for (int i = 0; i < THREADS; i++) {
        start_thread(allocate, NULL);
        wait_for_threads(i);
    }
    wait_for_threads(THREADS);
    usleep(100000);
    printf("this line was buffered");
}

/* ---- threads that only free ---- */

enum { FREED_ALONE = 1000 };

static held slots[FREED_ALONE];

static void *only_free(void *data)
{
    for (int i = 0; i < FREED_ALONE; i++)
        release(&slots[i]);
    __atomic_add_fetch(&ended, 1, __ATOMIC_RELEASE);
    return data;
}

static void only_frees(void)
{
    enum { TIMES = 20 };
    for (int times = 1; times <= TIMES; times++) {
        for (int i = 0; i < FREED_ALONE; i++)
            slots[i] = by_malloc(16 + (size_t)i);
        start_thread(only_free, NULL);
        wait_for_threads(times);
    }
}

/* The child goes on with the lane that threads share. It has no accounts. */
static void only_frees_and_forks(void)
{
    only_frees();
    pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) {
        ended = 0;
        only_frees();
        exit(0);
    }
    int status;
    MUST(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv)
{
    static const account_program programs[] = {{"asks_for_stack", asks_for_stack},
                                               {"detached", detached},
                                               {"many_detached", many_detached},
                                               {"only_frees", only_frees},
                                               {"only_frees_and_forks", only_frees_and_forks}};
    return account_main(programs, sizeof programs / sizeof *programs, argc, argv);
}
