/* SPDX-License-Identifier: MIT
 *
 * longjmp over many frames: out of deep calls, out of signal handlers on the same stack and on an
 * alternate one, and out of callbacks of libc.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "noipa.h"

static jmp_buf outer_place, inner_place;
static sigjmp_buf signal_place;
static volatile int seen;
static volatile int jumping;
static int *volatile nowhere;

STEP(goes_down)
STEP(comes_back)
STEP(in_handler)
STEP(is_landed)
STEP(goes_on)
STEP(after_distance)

/* Actions of the innermost function. */
enum { NOTHING, TO_INNER, TO_OUTER, RAISE, RAISE_AND_JUMP, RAISE_DEEP, FAULT };

KEPT int jumps(int way)
{
    goes_down(way);
    if (way == TO_INNER)
        longjmp(inner_place, 1);
    if (way == TO_OUTER)
        longjmp(outer_place, 2);
    if (way == RAISE || way == RAISE_AND_JUMP || way == RAISE_DEEP) {
        jumping = way;
        raise(SIGUSR1);
    }
    if (way == FAULT)
        *nowhere = 1;
    return comes_back(way);
}

#define FRAME(name, next)                                                                          \
    KEPT int name(int way)                                                                         \
    {                                                                                              \
        int sum = goes_down(way);                                                                  \
        sum += next(way);                                                                          \
        return sum + comes_back(way);                                                              \
    }

FRAME(third, jumps)
FRAME(second, third)
FRAME(first, second)

KEPT int deeper(int depth, int way)
{
    int sum = goes_down(way);
    sum += depth == 0 ? first(way) : deeper(depth - 1, way);
    return sum + comes_back(way);
}

KEPT int lands(int way)
{
    volatile int sum = goes_down(way);
    int value = setjmp(inner_place);
    if (value == 0)
        sum += deeper(2, way);
    else
        sum += is_landed(value);
    return sum + goes_on(way);
}

KEPT int lands_outside(int way)
{
    volatile int sum = 0;
    int value = setjmp(outer_place);
    if (value == 0)
        sum += lands(way);
    else
        sum += is_landed(value);
    return sum + goes_on(way);
}

/* Jumps to the same setjmp many times. */
KEPT int lands_again(int times)
{
    volatile int sum = 0, i = 0;
    int value = setjmp(inner_place);
    sum += goes_on(value);
    if (i < times) {
        i++;
        sum += i % 2 ? second(TO_INNER) : deeper(i, TO_INNER);
    }
    return sum + is_landed(value);
}

KEPT int handler_frame(int number)
{
    int sum = goes_down(number);
    siglongjmp(signal_place, sum);
    return sum;
}

KEPT void handle(int number)
{
    in_handler(number);
    int way = jumping;
    jumping = NOTHING;
    if (way == RAISE_AND_JUMP || number == SIGSEGV)
        siglongjmp(signal_place, number);
    if (way == RAISE_DEEP)
        handler_frame(number);
    in_handler(number);
}

KEPT int lands_from_signal(int way)
{
    volatile int sum = goes_down(way);
    int value = sigsetjmp(signal_place, 1);
    if (value == 0)
        sum += deeper(2, way);
    else
        sum += is_landed(1);
    return sum + goes_on(way);
}

KEPT int compare(const void *left, const void *right)
{
    second(TO_INNER);
    return left < right;
}

KEPT int over_libc(int way)
{
    int numbers[] = {3, 1, 2};
    if (setjmp(inner_place) == 0)
        qsort(numbers, 3, sizeof *numbers, compare);
    else
        is_landed(way);
    return goes_on(way);
}

/* Lands, then leaves by a tail call. */
KEPT int lands_and_leaves(int way)
{
    if (setjmp(inner_place) == 0)
        second(way);
    return goes_on(way);
}

static char other_stack[1 << 16];

KEPT int all_ways(void)
{
    int sum = 0;
    int (*const places[])(int) = {lands_outside, over_libc, lands_and_leaves};
    for (int place = 0; place < 3; place++)
        for (int way = NOTHING; way <= TO_OUTER - (place != 0); way++)
            sum += places[place](way) + after_distance(way);
    sum += lands_again(4) + after_distance(1);
    for (int way = RAISE; way <= FAULT; way++)
        sum += lands_from_signal(way) + after_distance(way);
    return sum;
}

int main(void)
{
    struct sigaction action = {.sa_handler = handle};
    stack_t other = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGSEGV, &action, NULL);
    int sum = all_ways();
    sigaltstack(&other, NULL);
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sum += all_ways();
    printf("%d %d\n", sum, seen);
}
