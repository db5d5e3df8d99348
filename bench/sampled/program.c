/* SPDX-License-Identifier: MIT
 *
 * The program that bench/sampled/run samples: a fixed amount of work below 30 frames, or threads
 * that sleep. It says how much processor time it used, and how long it ran.
 *
 * usage: program [-t THREADS] TURNS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define NEVER_INLINE __attribute__((noinline))
#else
#define NEVER_INLINE __attribute__((noinline, noipa))
#endif

enum { DEPTH = 26 }; /* with main, those before it and the loop: 30 frames */

static volatile unsigned long sink;

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

NEVER_INLINE static void loop(unsigned long turns)
{
    for (unsigned long i = 0; i < turns; i++)
        sink += i;
}

NEVER_INLINE static int deep(int depth, unsigned long turns)
{
    if (depth == 0)
        loop(turns);
    else
        deep(depth - 1, turns);
    return (int)sink + depth; /* no tail call */
}

static void *sleeper(void *data)
{
    for (;;)
        pause();
    return data;
}

int main(int count, char **arguments)
{
    int threads = count > 3 && strcmp(arguments[1], "-t") == 0 ? atoi(arguments[2]) : 0;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    for (int i = 0; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &small, sleeper, NULL) != 0)
            return 1;
    }
    double began = seconds(CLOCK_MONOTONIC), used = seconds(CLOCK_PROCESS_CPUTIME_ID);
    deep(DEPTH, strtoul(arguments[count - 1], NULL, 10));
    setvbuf(stdout, NULL, _IOLBF, 0); /* the line marks the end of the work */
    printf("%.6f %.6f\n", seconds(CLOCK_PROCESS_CPUTIME_ID) - used,
           seconds(CLOCK_MONOTONIC) - began);
    return 0;
}
