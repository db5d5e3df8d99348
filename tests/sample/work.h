/* SPDX-License-Identifier: MIT
 *
 * work.h - uses the processor, and reports what a call of the system refused.
 */
#ifndef TESTS_SAMPLE_WORK_H
#define TESTS_SAMPLE_WORK_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../support/clock.h"

static volatile unsigned long sink;
static bool failed;

static void fail(const char *what)
{
    printf("%s: %s\n", what, strerror(errno));
    failed = true;
}

/* Uses the processor for a while, long enough for several samples. */
static void work(uint64_t ms)
{
    for (uint64_t end = own_cpu() + ms * 1000000; own_cpu() < end;)
        for (unsigned long i = 0; i < 10000; i++)
            sink += i;
}

#endif
