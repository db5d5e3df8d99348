/* SPDX-License-Identifier: MIT
 *
 * Handlers of pthread_atfork that run between Cairn's own, because they were registered before any
 * constructor. They call functions for the first time, and so does a signal handler that
 * interrupts them.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "noipa.h"

static volatile sig_atomic_t sum;

#define MANY(number)                                                                               \
    static inline int inlined_##number(int n)                                                      \
    {                                                                                              \
        return n + sum;                                                                            \
    }                                                                                              \
    KEPT int late_##number(int n)                                                                  \
    {                                                                                              \
        sum += inlined_##number(n);                                                                \
        return n + number;                                                                         \
    }                                                                                              \
    KEPT int handled_##number(int n)                                                               \
    {                                                                                              \
        int below = late_##number(n);                                                              \
        OPAQUE(below);                                                                             \
        return below + 1;                                                                          \
    }

MANY(1)
MANY(2)
MANY(3)

static int (*volatile next)(int n);

/* Called by the signal handler, and then by the fork handler itself. */
KEPT void handle(int number)
{
    sum += next(number);
}

#define NOT_COUNTED __attribute__((no_instrument_function))

NOT_COUNTED static void come_between(int (*own)(int n))
{
    next = own;
    raise(SIGUSR1);
    sum += own(1);
}

NOT_COUNTED static void prepare(void)
{
    come_between(handled_1);
}

NOT_COUNTED static void in_parent(void)
{
    come_between(handled_2);
}

NOT_COUNTED static void in_child(void)
{
    come_between(handled_3);
}

NOT_COUNTED static void come_first(int count, char **words, char **environment)
{
    (void)count;
    (void)words;
    (void)environment;
    pthread_atfork(prepare, in_parent, in_child);
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(int, char **,
                                                                            char **) = come_first;

KEPT int after_fork(int n)
{
    sum = n;
    return n + 1;
}

int main(void)
{
    signal(SIGUSR1, handle);
    int status = 0, seen = 0;
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0)
            exit(after_fork(i));
        seen += after_fork(i);
        waitpid(child, &status, 0);
        seen += WEXITSTATUS(status);
    }
    printf("%d\n", seen);
}
