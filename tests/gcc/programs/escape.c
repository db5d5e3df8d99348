/* SPDX-License-Identifier: MIT
 *
 * Signal handlers that longjmp out of any code, also while contexts are made.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

#include "wander.h"

enum { JUMPS = 60 };

static sigjmp_buf place;
static volatile sig_atomic_t jumped;

KEPT void handle(int number)
{
    jumped = jumped + 1;
    siglongjmp(place, number);
}

KEPT int after_jump(int n)
{
    return n;
}

int main(void)
{
    struct sigaction action = {.sa_handler = handle};
    struct itimerval soon = {{0, 0}, {0, 500}};
    volatile unsigned way = 1;
    volatile int after = 0;
    sigaction(SIGVTALRM, &action, NULL);
    if (sigsetjmp(place, 1) != 0)
        after_jump(1);
    while (jumped < JUMPS) {
        setitimer(ITIMER_VIRTUAL, &soon, NULL);
        for (int before = jumped; jumped == before;)
            wander(way++, 12);
    }
    for (int i = 0; i < 1000; i++)
        after = after + after_jump(1);
    printf("%d\n", after);
    return 0;
}
