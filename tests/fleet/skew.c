/* SPDX-License-Identifier: MIT
 *
 * Preloaded, gives a process other clocks. SKEW: by so many seconds the time of day is wrong, while
 * CLOCK_MONOTONIC is right, as on a machine whose clock is set. SPEED: CLOCK_MONOTONIC runs so many
 * times as fast, and pauses are as much shorter, so that a minute of waiting is over in seconds.
 * PAUSES: pauses are over at once, and this file gets the length of each in milliseconds, one a
 * line.
 */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
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

/* Returns true if pauses are over at once. */
static bool note_pause(const struct timespec *pause)
{
    const char *path = getenv("PAUSES");
    FILE *file = path ? fopen(path, "ae") : NULL;
    if (file) {
        fprintf(file, "%ld\n", pause->tv_sec * 1000 + pause->tv_nsec / 1000000);
        fclose(file);
    }
    return file != NULL;
}

VISIBLE int nanosleep(const struct timespec *pause, struct timespec *left)
{
    if (note_pause(pause))
        return 0;
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
