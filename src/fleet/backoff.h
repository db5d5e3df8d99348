/* SPDX-License-Identifier: MIT
 *
 * backoff.h - pauses between attempts to send: each is twice the one before, up to a limit, plus a
 * random part, so that many senders do not retry at the same moment.
 */
#ifndef CRN_FLEET_BACKOFF_H
#define CRN_FLEET_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

typedef struct crn_backoff {
    uint64_t end, wait; /* ms: when to give up (CLOCK_MONOTONIC); the least next pause */
    uint32_t random;
} crn_backoff;

/* Begins attempts, which are given up after `retry_s` seconds. */
crn_backoff crn_backoff_begin(unsigned retry_s);
/* Pauses. Returns false without a pause when `end` has come. */
bool crn_backoff_pause(crn_backoff *backoff);

#endif
