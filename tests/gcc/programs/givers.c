/* SPDX-License-Identifier: MIT
 *
 * Deep recursion that alternates between a function with a frame on the strand's stack (each kind
 * of Enter) and a function that gives its frame back by a tail call. The stack grows only if the
 * tail call checks for space.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>

#include "noipa.h"

enum { DEPTH = 4000 };

static volatile int seen;

KEPT int step(int n)
{
    seen += n;
    return n + 1;
}

#define GIVES(name, next)                                                                          \
    KEPT int next(int n);                                                                          \
    KEPT int name(int n)                                                                           \
    {                                                                                              \
        step(n);                                                                                   \
        return next(n);                                                                            \
    }

GIVES(gives_late, takes_late)
GIVES(gives_guarded, takes_guarded)
GIVES(gives_inlined, takes_inlined)

/* Enters by pushing its frame before the first call. */
KEPT int takes_late(int n)
{
    if (n == 0)
        return 0;
    int below = gives_late(n - 1);
    return below + step(n);
}

/* Calls setjmp. */
KEPT int takes_guarded(int n)
{
    jmp_buf back;
    if (n == 0 || setjmp(back))
        return 0;
    int below = gives_guarded(n - 1);
    OPAQUE(below);
    return below + step(n);
}

/* Inlined: brings its calls into the caller. */
static inline __attribute__((always_inline)) int inner(int n)
{
    int below = gives_late(n);
    OPAQUE(below);
    return below + step(n);
}

KEPT int takes_inlined(int n)
{
    int sum = step(n) + inner(n);
    OPAQUE(sum);
    return n == 0 ? sum : sum + gives_inlined(n - 1) + step(n);
}

KEPT void after_givers(int n)
{
    seen += n;
}

static void *run(void *result)
{
    *(int *)result = takes_late(DEPTH) + takes_guarded(DEPTH) + takes_inlined(100);
    return NULL;
}

int main(void)
{
    int sum = 0, result;
    run(&sum);
    after_givers(1);
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, run, &result);
        pthread_join(thread, NULL);
        sum += result;
        after_givers(i);
    }
    printf("%d\n", sum);
}
