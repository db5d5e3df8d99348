/* SPDX-License-Identifier: MIT
 *
 * Prints how many bytes of stack a signal handler uses.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "noipa.h"

enum { SIZE = 1 << 16, PAINT = 0xcc };

static volatile int sum;

static inline __attribute__((always_inline)) int inlined(int n)
{
    sum += n;
    return n;
}

KEPT int deep(int n)
{
    int below = n ? deep(n - 1) : inlined(n);
    OPAQUE(below);
    return below + 1;
}

KEPT int other(int n)
{
    return n + inlined(n);
}

KEPT int holds(int n)
{
    return other(inlined(n)) + deep(n);
}

static void handle(int number)
{
    sum += holds(number % 4);
}

int main(void)
{
    unsigned char *memory = malloc(SIZE);
    stack_t own = {.ss_sp = memory, .ss_size = SIZE};
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    memset(memory, PAINT, SIZE);
    sigaltstack(&own, NULL);
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 20; i++)
        raise(SIGUSR1);
    size_t left = 0;
    while (left < SIZE && memory[left] == PAINT)
        left++;
    printf("%zu\n", SIZE - left);
}
