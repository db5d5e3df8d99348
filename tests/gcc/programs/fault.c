/* SPDX-License-Identifier: MIT
 *
 * Signal handlers that jump out of a leaf function, straight to its caller.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "noipa.h"

enum { TIMES = 7 };

static sigjmp_buf place;
static void *buffer[5];
static volatile int caught;

KEPT int read_from(const volatile int *place_of_number)
{
    return *place_of_number;
}

KEPT int read_twice(const volatile int *place_of_number)
{
    return *place_of_number + *place_of_number;
}

KEPT void handle(int number)
{
    caught++;
    siglongjmp(place, number);
}

__attribute__((no_instrument_function)) KEPT void handle_unseen(int number)
{
    caught++;
    siglongjmp(place, number);
}

__attribute__((no_instrument_function)) KEPT void handle_builtin(int number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    caught++;
    __builtin_longjmp(buffer, 1);
}

KEPT int after_fault(int n)
{
    return n;
}

KEPT int inner(int n)
{
    return n + 1;
}

/* Called after each jump: its caller and its callees show that the strand's stack is right
 * again. */
KEPT int after_calls(int n)
{
    return inner(n) + inner(n);
}

KEPT int after_builtin(int n)
{
    return n;
}

static void set(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGSEGV, &action, NULL);
}

KEPT int builtin(const volatile int *nothing)
{
    if (__builtin_setjmp(buffer) == 0)
        return read_from(nothing);
    return inner(3);
}

int main(void)
{
    volatile int sum = 0;
    const volatile int *volatile nothing = NULL;
    for (volatile int i = 0; i < TIMES; i++) {
        set(i % 2 ? handle : handle_unseen);
        if (sigsetjmp(place, 1) == 0)
            sum += i % 3 ? read_from(nothing) : read_twice(nothing);
        else
            sum += after_fault(1);
        sum += after_calls(i);
    }
    set(handle_builtin);
    sum += builtin(nothing);
    sum += after_builtin(1);
    printf("%d %d\n", caught, sum);
    return 0;
}
