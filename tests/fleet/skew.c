/* SPDX-License-Identifier: MIT
 *
 * Preloaded, makes a process believe in a clock that is wrong by SKEW seconds. CLOCK_MONOTONIC is right,
 * as it is on a machine whose clock is set.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))

VISIBLE int clock_gettime(clockid_t clock, struct timespec *moment)
{
    const char *skew = getenv("SKEW");
    int status = (int)syscall(SYS_clock_gettime, clock, moment);
    if (status == 0 && clock == CLOCK_REALTIME && skew)
        moment->tv_sec += strtol(skew, NULL, 10);
    return status;
}

VISIBLE time_t time(time_t *to)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (to)
        *to = now.tv_sec;
    return now.tv_sec;
}

VISIBLE int gettimeofday(struct timeval *restrict to, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    *to = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}
