/* SPDX-License-Identifier: MIT
 *
 * Single-steps functions that push their frames: a SIGTRAP handler, which calls functions that
 * save callers and push frames, runs after each instruction.
 */
#include <setjmp.h>
#include <stdio.h>

#include "single_step.h"

KEPT int trap_pushes(int n)
{
    if (n == 0)
        return 0;
    int below = trap_pushes(n - 1);
    return below + trap_leaf(n);
}

KEPT void handle_trap(int number)
{
    trap_leaf(number);
    seen += trap_pushes(2) * 0;
}

KEPT int step(int n)
{
    seen += n;
    return n + 1;
}

KEPT int behind(int n)
{
    return seen - n;
}

/* Pushes its frame before the first call. */
KEPT int pushes_late(int n)
{
    if (n == 77)
        return 3;
    int sum = step(n);
    return sum + step(n + 1);
}

/* Pushes its frame on entry, because it calls setjmp. */
KEPT int pushes_guarded(int n)
{
    jmp_buf back;
    end_steps();
    int jumped = setjmp(back);
    return jumped + step(n);
}

#define CALLS(name)                                                                                \
    KEPT int calls_##name(int n)                                                                   \
    {                                                                                              \
        begin_steps();                                                                             \
        int sum = name(n);                                                                         \
        end_steps();                                                                               \
        OPAQUE(sum);                                                                               \
        return sum + behind(n);                                                                    \
    }
CALLS(pushes_late)
CALLS(pushes_guarded)

int main(void)
{
    struct sigaction action = {.sa_handler = handle_trap};
    sigaction(SIGTRAP, &action, NULL);
    int sum = 0;
    for (int i = 0; i < TIMES; i++) {
        warming = i < WARM;
        sum += calls_pushes_late(1) + calls_pushes_guarded(1);
    }
    printf("%d\n", sum);
}
