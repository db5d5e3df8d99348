/* SPDX-License-Identifier: MIT
 *
 * Signals at any moment, also inside Enter and Leave. Their number varies, so only what does not
 * depend on it is printed.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

#include "noipa.h"

static volatile sig_atomic_t handled;

KEPT int leaf(int n)
{
    return n + 1;
}

KEPT int in_handler(int n)
{
    int below = n == 0 ? leaf(n) : in_handler(n - 1);
    OPAQUE(below);
    return below + 1;
}

KEPT void handle(int number)
{
    handled = handled + (in_handler(number % 7 + 3) > 0);
}

KEPT long work(int n)
{
    long sum = 0;
    for (int i = 0; i < 3 && n > 0; i++)
        sum += work(n - 1);
    return sum + leaf(n);
}

KEPT int after_storm(int n)
{
    return n;
}

int main(void)
{
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    signal(SIGPROF, handle);
    signal(SIGALRM, handle);
    setitimer(ITIMER_REAL, &often, NULL);
    long sum = 0;
    for (int i = 0; i < 30; i++)
        sum += work(10);
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%ld %d\n", sum, after_storm(handled > 0));
    return 0;
}
