/* SPDX-License-Identifier: MIT
 *
 * Preloaded, makes a machine on which each thread waits for a core whenever it has read
 * CLOCK_MONOTONIC: the next reading is a millisecond later. Processor time stays what it is.
 */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *moment) __attribute__((visibility("default")));

int clock_gettime(clockid_t clock, struct timespec *moment)
{
    enum { WAIT_NS = 1000000, SECOND = 1000000000 };
    static long waited;
    int status = (int)syscall(SYS_clock_gettime, clock, moment);
    if (status == 0 && clock == CLOCK_MONOTONIC) {
        long ns = moment->tv_nsec + __atomic_add_fetch(&waited, WAIT_NS, __ATOMIC_RELAXED);
        moment->tv_sec += ns / SECOND;
        moment->tv_nsec = ns % SECOND;
    }
    return status;
}
