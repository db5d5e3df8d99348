/* SPDX-License-Identifier: MIT
 *
 * Single-steps some functions, with Enter and Leave: a SIGTRAP handler that calls functions runs
 * after each instruction.
 */
#include <signal.h>
#include <stdio.h>

#include "flags.h"
#include "noipa.h"

static volatile int seen, trapped, warming;

STEP(before)
STEP(behind)
STEP(after_steps)

KEPT int trap_leaf(int n)
{
    trapped = n;
    return n + 1;
}

KEPT int trap_deeper(int n)
{
    int below = n == 0 ? trap_leaf(n) : trap_deeper(n - 1) + trap_leaf(n);
    OPAQUE(below);
    return below + 1;
}

KEPT void handle_trap(int number)
{
    trap_leaf(number);
    trap_deeper(3);
    int last = trap_leaf(number);
    OPAQUE(last);
}

/* All contexts of the handler exist before: none may be made inside Enter. */
KEPT int works(int n)
{
    int sum = before(n);
    if (warming)
        raise(SIGTRAP);
    for (int i = 0; i < 2 && n > 0; i++)
        sum += works(n - 1);
    return sum + behind(n);
}

KEPT int calls_only(int n)
{
    if (warming)
        raise(SIGTRAP);
    int below = works(n);
    OPAQUE(below);
    return below + 1;
}

KEPT int goes_by_steps(int depth, int n)
{
    int sum = before(n);
    if (warming)
        raise(SIGTRAP);
    sum += depth > 0 ? goes_by_steps(depth - 1, n) : calls_only(n) + works(n);
    return sum + behind(n);
}

enum { TRAP_FLAG = 0x100 };

KEPT void single_steps(int n)
{
    if (warming)
        raise(SIGTRAP);
    else
        WRITE_FLAGS(READ_FLAGS() | TRAP_FLAG);
    seen += goes_by_steps(2, n);
    WRITE_FLAGS(READ_FLAGS() & ~(unsigned long long)TRAP_FLAG);
}

KEPT void warms_and_steps(int n)
{
    for (int time = 0; time < 4; time++) {
        warming = time < 2;
        single_steps(n);
    }
}

static char other_stack[1 << 17];

int main(void)
{
    stack_t other = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
    struct sigaction action = {.sa_handler = handle_trap};
    sigaction(SIGTRAP, &action, NULL);
    warms_and_steps(1);
    after_steps(1);
    sigaltstack(&other, NULL);
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGTRAP, &action, NULL);
    warms_and_steps(1);
    after_steps(1);
    printf("%d %d\n", seen, trapped > 0);
}
