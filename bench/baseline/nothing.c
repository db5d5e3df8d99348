/* SPDX-License-Identifier: MIT
 *
 * nothing.c - see nothing.h.
 */
#include "baseline/nothing.h"

void nothing_enter(void *profile, uint32_t block)
{
    (void)profile;
    (void)block;
}

void nothing_replace(void *profile, uint32_t block)
{
    (void)profile;
    (void)block;
}

void nothing_leave(void *profile)
{
    (void)profile;
}

void nothing_tick(void *profile, uint32_t count)
{
    (void)profile;
    (void)count;
}

void nothing(void)
{
}
