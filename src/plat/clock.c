/* SPDX-License-Identifier: MIT */
#include "plat/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__) && __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>

/* Asks glibc: asking the processor takes microseconds on a virtual machine. */
bool crn_clock_has_tsc(void)
{
    return CPU_FEATURE_PRESENT(INVARIANT_TSC);
}
#elif defined(__x86_64__)
#include <cpuid.h>

bool crn_clock_has_tsc(void)
{
    enum { POWER_MANAGEMENT = 0x80000007, INVARIANT_TSC = 1 << 8 };
    unsigned a, b, c, d;
    return __get_cpuid(POWER_MANAGEMENT, &a, &b, &c, &d) && (d & INVARIANT_TSC);
}
#else
bool crn_clock_has_tsc(void)
{
    return false;
}
#endif

static uint64_t nanoseconds(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t crn_clock_monotonic(void)
{
    return nanoseconds(CLOCK_MONOTONIC);
}

uint64_t crn_clock_realtime(void)
{
    return nanoseconds(CLOCK_REALTIME);
}

/* Parses 32 hexadecimal digits with hyphens between groups. */
void crn_clock_boot(uint64_t boot[2])
{
    char text[64];
    int saved = errno, digits = 0;
    boot[0] = boot[1] = 0;
    int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, text, sizeof text) : 0;
    if (file >= 0)
        close(file);
    for (ssize_t i = 0; i < length && digits < 32; i++) {
        const char *digit = strchr("0123456789abcdef", text[i]);
        if (digit && text[i]) {
            uint64_t *half = &boot[digits++ / 16];
            *half = *half << 4 | (uint64_t)(digit - "0123456789abcdef");
        }
    }
    if (digits < 32)
        boot[0] = boot[1] = 0;
    errno = saved;
}
