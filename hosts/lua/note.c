/* SPDX-License-Identifier: MIT
 *
 * note.c - clocks, and notes in the capture.
 */
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "host.h"

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t crn_now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

uint64_t crn_used_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void crn_host_note(crn_host *host, const char *key, const char *format, ...)
{
    char value[512];
    va_list arguments;
    va_start(arguments, format);
    /* clang 14 loses sight of va_start where it inlines this function.
     * NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    cairn_profile_note(host->profile, key, value);
}
