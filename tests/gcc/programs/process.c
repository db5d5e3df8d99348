/* SPDX-License-Identifier: MIT
 *
 * Events of a whole process: constructors before main, signals, vfork, and exit from a nested
 * call.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "noipa.h"

static int constructed;
static volatile sig_atomic_t handled;

KEPT int leaf(int n)
{
    return n + 1;
}

KEPT __attribute__((constructor)) void construct(void)
{
    constructed = leaf(constructed);
}

KEPT void at_exit(void)
{
    printf("bye %d\n", leaf(1));
    fflush(stdout);
}

KEPT __attribute__((destructor)) void destruct(void)
{
    constructed = leaf(constructed);
}

KEPT void handle(int number)
{
    handled = leaf(handled) + 0 * number;
}

KEPT int raise_inside(int n)
{
    if (n == 0)
        raise(SIGUSR1);
    int below = n == 0 ? 0 : raise_inside(n - 1);
    OPAQUE(below);
    return below + 1;
}

KEPT int in_child(int n)
{
    if (n == 0)
        _exit(3);
    int below = in_child(n - 1);
    OPAQUE(below);
    return below + 1;
}

/* The child of vfork uses its parent's stack, and exits from a nested call. */
KEPT int start(void)
{
    pid_t child = vfork();
    if (child == 0)
        in_child(5);
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

KEPT int after_signal(int n)
{
    return n;
}

KEPT int after_child(int n)
{
    return n;
}

KEPT int leave_for_good(int n)
{
    if (n == 0)
        exit(0);
    int below = leave_for_good(n - 1);
    OPAQUE(below);
    return below + 1;
}

int main(void)
{
    int sum = constructed;
    atexit(at_exit);
    signal(SIGUSR1, handle);
    for (int i = 0; i < 10; i++) {
        sum += raise_inside(i);
        sum += after_signal(i);
        sum += start();
        sum += after_child(i);
    }
    printf("%d %d\n", sum, (int)handled);
    fflush(stdout);
    return leave_for_good(8);
}
