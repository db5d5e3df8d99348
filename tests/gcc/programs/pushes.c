/* SPDX-License-Identifier: MIT
 *
 * Single-steps functions that push their frames: a SIGTRAP handler, which calls functions that
 * save callers and push frames, runs after each instruction.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <x86intrin.h>

#include "noipa.h"

enum { STEP = 0x100, WARM = 3, TIMES = 8 };

static volatile int seen, trapped, warming;

KEPT int trap_leaf(int n)
{
    trapped = n;
    return n + 1;
}

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

/* The first rounds raise the signal at a few places only, until all contexts of the handler
 * exist. */
static inline void begin_steps(void)
{
    if (warming)
        raise(SIGTRAP);
    else
        __writeeflags(__readeflags() | STEP);
}

static inline void end_steps(void)
{
    if (warming)
        raise(SIGTRAP);
    else
        __writeeflags(__readeflags() & ~(unsigned long long)STEP);
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
