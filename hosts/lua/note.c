/* SPDX-License-Identifier: MIT
 *
 * note.c - the clock, and notes in the capture.
 */
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "host.h"

uint64_t crn_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
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
