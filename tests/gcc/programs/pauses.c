/* SPDX-License-Identifier: MIT
 *
 * A profile that is disabled, enabled and reset while functions run: between their Enter and their
 * Leave, and at different depths.
 */
#include <setjmp.h>
#include <stdio.h>

#ifdef SPANS
#include <cairn/cairn.h>
#include <cairn/process.h>
#define OFF() cairn_profile_disable(cairn_process_profile())
#define ON() cairn_profile_enable(cairn_process_profile())
#define RESET() cairn_profile_reset(cairn_process_profile())
#else
#define OFF() (void)0
#define ON() (void)0
#define RESET() (void)0
#endif

#include "noipa.h"

static volatile int seen;
static jmp_buf place;

STEP(before)
STEP(while_off)
STEP(behind)
STEP(is_landed)
STEP(after_pause)

/* Disabled and enabled in the same function. */
KEPT int pauses(int n)
{
    int sum = before(n);
    OFF();
    sum += while_off(n);
    ON();
    return sum + behind(n);
}

KEPT int calls_while_off(int n)
{
    int sum = while_off(n);
    sum += n > 0 ? calls_while_off(n - 1) : 0;
    return sum + while_off(n);
}

KEPT int pauses_above(int n)
{
    int sum = before(n);
    OFF();
    sum += calls_while_off(3);
    ON();
    return sum + behind(n);
}

/* Disabled by the innermost call, enabled after it has returned. */
KEPT int stops(int depth)
{
    int sum = before(depth);
    if (depth > 0)
        sum += stops(depth - 1);
    else
        OFF();
    return sum + while_off(depth);
}

KEPT int goes_on(int n)
{
    int sum = before(n);
    sum += stops(3);
    ON();
    return sum + behind(n);
}

/* Functions entered while the profile was disabled do not become callers of those after it. */
KEPT int turns_on(int n)
{
    int sum = while_off(n);
    ON();
    sum += is_landed(n);
    return sum + is_landed(n);
}

KEPT int is_turned_on(int n)
{
    int sum = before(n);
    OFF();
    sum += turns_on(n);
    return sum + behind(n);
}

KEPT int jumps(int n)
{
    int sum = before(n);
    OFF();
    while_off(n);
    longjmp(place, 1);
    return sum + behind(n);
}

KEPT int lands(int n)
{
    if (setjmp(place) == 0)
        return jumps(n) + behind(n);
    while_off(n);
    ON();
    return is_landed(n) + behind(n);
}

KEPT int resets(int depth)
{
    int sum = before(depth);
    if (depth > 0)
        sum += resets(depth - 1);
    else
        RESET();
    return sum + behind(depth);
}

KEPT int leaves_all(int n)
{
    int sum = before(n);
    sum += resets(2);
    return sum + behind(n);
}

int main(void)
{
    int sum = 0;
    sum += pauses(1) + after_pause(1);
    sum += leaves_all(1) + after_pause(1);
    for (int i = 0; i < 3; i++) {
        sum += pauses(i) + after_pause(i);
        sum += pauses_above(i) + after_pause(i);
        sum += goes_on(i) + after_pause(i);
        sum += is_turned_on(i) + after_pause(i);
        sum += lands(i) + after_pause(i);
    }
    printf("%d %d\n", sum, seen);
}
