/* SPDX-License-Identifier: MIT
 *
 * backoff.h - pauses between attempts: they double up to a limit, and are longer by a random part,
 * so that many senders do not come back at the same moment.
 */
#ifndef CRN_FLEET_BACKOFF_H
#define CRN_FLEET_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

typedef struct crn_backoff {
    uint64_t end, wait; /* ms: when to give up; the next pause */
    uint32_t random;
} crn_backoff;

crn_backoff crn_backoff_begin(unsigned retry_s);
/* Pauses; returns false if it is time to give up. */
bool crn_backoff_pause(crn_backoff *backoff);

#endif
