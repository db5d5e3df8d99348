/* SPDX-License-Identifier: MIT
 *
 * Preloaded, gives a process other clocks. SKEW: by so many seconds the time of day is wrong, while
 * CLOCK_MONOTONIC is right, as on a machine whose clock is set. SPEED: CLOCK_MONOTONIC runs so many
 * times as fast, and pauses are as much shorter, so that a minute of waiting is over in seconds.
 */
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))

static const long SECOND = 1000000000; /* in nanoseconds */

static long number_of(const char *variable, long missing)
{
    const char *text = getenv(variable);
    return text ? strtol(text, NULL, 10) : missing;
}

VISIBLE int clock_gettime(clockid_t clock, struct timespec *moment)
{
    int status = (int)syscall(SYS_clock_gettime, clock, moment);
    if (status == 0 && clock == CLOCK_REALTIME)
        moment->tv_sec += number_of("SKEW", 0);
    if (status == 0 && (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW)) {
        long speed = number_of("SPEED", 1), ns = moment->tv_nsec * speed;
        *moment = (struct timespec){moment->tv_sec * speed + ns / SECOND, ns % SECOND};
    }
    return status;
}

VISIBLE int nanosleep(const struct timespec *pause, struct timespec *left)
{
    long ns = (pause->tv_sec * SECOND + pause->tv_nsec) / number_of("SPEED", 1);
    struct timespec shorter = {ns / SECOND, ns % SECOND};
    return (int)syscall(SYS_nanosleep, &shorter, left);
}

VISIBLE int poll(struct pollfd *files, nfds_t count, int ms)
{
    return (int)syscall(SYS_poll, files, count, ms > 0 ? 1 + ms / (int)number_of("SPEED", 1) : ms);
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
