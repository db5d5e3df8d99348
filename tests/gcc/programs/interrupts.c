/* SPDX-License-Identifier: MIT
 *
 * Nested signal handlers, on the same stack and on an alternate one, that call functions while
 * such functions run. The functions raise the signals themselves.
 */
#include <signal.h>
#include <stdio.h>

#include "noipa.h"

static volatile int seen;

STEP(before)
STEP(behind)
STEP(in_handler)
STEP(after_signals)

KEPT int handler_deeper(int n)
{
    int sum = in_handler(n);
    if (n > 0)
        sum += handler_deeper(n - 1);
    return sum + in_handler(n);
}

KEPT void handle_last(int number)
{
    in_handler(1);
    seen += handler_deeper(2);
    in_handler(0 * number);
}

KEPT int raises_last(int n)
{
    int sum = in_handler(n);
    raise(SIGUSR2);
    return sum + in_handler(n);
}

KEPT void handle_first(int number)
{
    in_handler(1);
    seen += raises_last(1);
    raise(SIGUSR2);
    in_handler(0 * number);
}

KEPT int raises(int n)
{
    int sum = before(n);
    raise(SIGUSR1);
    return sum + behind(n);
}

KEPT int second(int n)
{
    int sum = before(n);
    sum += raises(n);
    return sum + behind(n);
}

KEPT int first(int n)
{
    int sum = before(n);
    sum += second(n);
    raise(SIGUSR2);
    return sum + behind(n);
}

KEPT void all(int flags)
{
    void (*const handlers[])(int) = {handle_first, handle_last};
    const int numbers[] = {SIGUSR1, SIGUSR2};
    struct sigaction action = {.sa_flags = flags};
    for (int i = 0; i < 2; i++) {
        action.sa_handler = handlers[i];
        sigaction(numbers[i], &action, NULL);
    }
    for (int i = 0; i < 5; i++) {
        first(i);
        after_signals(i);
    }
}

static char other_stack[1 << 17];

int main(void)
{
    stack_t other = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
    all(0);
    sigaltstack(&other, NULL);
    all(SA_ONSTACK);
    after_signals(1);
    printf("%d\n", seen);
}
