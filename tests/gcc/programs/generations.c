/* SPDX-License-Identifier: MIT
 *
 * A child of fork returns through frames that its parent began, and calls a new function in each
 * of them. Its own child does so, too, through frames of both. A child of vfork becomes another
 * program.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "noipa.h"

enum { GENERATIONS = 3 };

static volatile int generation, seen;

#define ONE(place, number)                                                                         \
    KEPT int place##_##number(int n)                                                               \
    {                                                                                              \
        seen += n;                                                                                 \
        return n + 1;                                                                              \
    }

/* Functions that `place` calls after the fork: one for each generation. */
#define STEPS(place)                                                                               \
    ONE(place, 0)                                                                                  \
    ONE(place, 1)                                                                                  \
    ONE(place, 2)                                                                                  \
    static int (*const place##_steps[GENERATIONS])(int) = {place##_0, place##_1, place##_2};

STEPS(forks)
STEPS(bottom)
STEPS(folded)
STEPS(outer)
STEPS(main)

KEPT int shared(int n)
{
    return n + seen;
}

/* In the child the first event is a return; in the grandchild it is a call. */
KEPT int forks(void)
{
    int status = 0, began = generation;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        generation = began + 1;
        if (began == 0)
            return 0;
    } else {
        waitpid(child, &status, 0);
        status = WEXITSTATUS(status);
    }
    status += forks_steps[generation](status);
    return status;
}

/* Forks again in the child, below frames that its parent began. */
KEPT int bottom(int n)
{
    int result = shared(n) + forks();
    if (generation == 1)
        result += forks();
    result += bottom_steps[generation](result) + shared(n);
    return result;
}

KEPT int passes_on(int n)
{
    seen += n;
    return bottom(n);
}

KEPT int folded(int depth)
{
    int below = shared(depth);
    below += depth == 0 ? passes_on(depth) : folded(depth - 1);
    below += folded_steps[generation](below);
    return below + shared(depth);
}

KEPT int outer(int n)
{
    int result = shared(n) + folded(3);
    return result + outer_steps[generation](result) + shared(n);
}

KEPT int becomes(int n)
{
    int result = shared(n);
    execl("/bin/true", "true", (char *)NULL);
    return result + shared(n);
}

KEPT int starts(int n)
{
    int status = 1;
    shared(n);
    pid_t child = vfork();
    if (child == 0)
        _exit(becomes(n));
    waitpid(child, &status, 0);
    return shared(n) + status;
}

KEPT int starts_below(int n)
{
    int below = n == 0 ? starts(n) : starts_below(n - 1);
    OPAQUE(below);
    return below + shared(n);
}

KEPT void *body(void *data)
{
    seen += outer(1);
    seen += main_steps[generation](1);
    if (generation != 0)
        exit(seen & 63);
    return data;
}

int main(int count, char **words)
{
    (void)words;
    if (count > 1) { /* on a thread, which is the only one in its child */
        pthread_t thread;
        pthread_create(&thread, NULL, body, NULL);
        pthread_join(thread, NULL);
    } else {
        seen += starts_below(2);
        seen += outer(1);
        seen += main_steps[generation](1);
        seen += starts_below(1);
    }
    if (generation == 0)
        printf("%d\n", seen);
    return generation == 0 ? 0 : seen & 63;
}
