/* SPDX-License-Identifier: MIT */
#include "fleet/backoff.h"

#include <time.h>
#include <unistd.h>

enum { FIRST_MS = 200, LONGEST_MS = 8000 };

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

crn_backoff crn_backoff_begin(unsigned retry_s)
{
    uint64_t now = now_ms();
    return (crn_backoff){.end = now + retry_s * UINT64_C(1000),
                         .wait = FIRST_MS,
                         .random = (uint32_t)now ^ (uint32_t)getpid() * UINT32_C(2654435761)};
}

bool crn_backoff_pause(crn_backoff *backoff)
{
    if (now_ms() >= backoff->end)
        return false;
    backoff->random = backoff->random * 1664525 + 1013904223;
    uint64_t ms = backoff->wait + (backoff->random >> 16) % (backoff->wait / 2);
    struct timespec pause = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    nanosleep(&pause, NULL);
    backoff->wait = backoff->wait * 2 < LONGEST_MS ? backoff->wait * 2 : LONGEST_MS;
    return true;
}
