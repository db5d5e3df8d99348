/* SPDX-License-Identifier: MIT
 *
 * Handlers of signals on a stack of their own, above or below the thread's; some return and some
 * jump out.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../../gcc/programs/noipa.h"

enum { ROUNDS = 50, SIZE = 1 << 16 };

static sigjmp_buf place;
static volatile int seen;

KEPT void handle(int number)
{
    (void)number;
    seen++;
}

KEPT void leap(void)
{
    siglongjmp(place, 1);
}

KEPT void jump(int number)
{
    (void)number;
    leap();
}

KEPT void after_each(int n)
{
    OPAQUE(n);
}

KEPT int round_trip(int n)
{
    raise(SIGUSR1);
    OPAQUE(n);
    if (sigsetjmp(place, 1) == 0)
        raise(SIGUSR2);
    OPAQUE(n);
    return n + 1;
}

static void install(void *stack)
{
    stack_t other = {.ss_sp = stack, .ss_size = SIZE};
    if (sigaltstack(&other, NULL) != 0)
        abort();
}

int main(void)
{
    static char low[SIZE];
    struct sigaction action = {.sa_flags = SA_ONSTACK, .sa_handler = handle};
    sigaction(SIGUSR1, &action, NULL);
    action.sa_handler = jump;
    sigaction(SIGUSR2, &action, NULL);
    void *mapped = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int sum = 0;
    for (int i = 0; i < ROUNDS; i++) {
        install(i % 2 ? low : mapped);
        after_each(i);
        sum += round_trip(i);
        after_each(i);
    }
    printf("%d %d\n", sum, seen);
    return 0;
}
