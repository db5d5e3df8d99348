/* SPDX-License-Identifier: MIT
 *
 * loss.h - captures whose file cannot be written through its mappings any more: somebody truncated
 * it, its file system has no space for a block that it must copy, or a memory control group refuses
 * a page. Touching such a page raises SIGBUS.
 *
 * A capture is then *lost*: all its mappings become private memory, zeroed. So whoever reads a
 * field there may find 0 at any time. Nothing reaches the file any more.
 */
#ifndef CRN_CAPTURE_LOSS_H
#define CRN_CAPTURE_LOSS_H

#include "capture/writer.h"

/* Reserves address space for the capture's file. NULL if there is none. */
char *crn_capture_reserve(crn_capture *capture, uint64_t size);

/* Maps bytes of the file `place` bytes behind the base of a reservation. */
bool crn_capture_map(char *base, uint64_t place, int file, uint64_t offset, uint64_t size);

/* The reservation belongs to the capture's struct at another address. */
void crn_capture_pass_on(char *base, crn_capture *to);

/* Unmaps and releases; `base` may be NULL. */
void crn_capture_release(char *base, uint64_t size);

/* Makes the capture a lost one, and says so in the file if its header is still there. Signal
 * safe. */
void crn_capture_lose(crn_capture *capture);

static inline bool crn_capture_is_lost(const crn_capture *capture)
{
    return __atomic_load_n(&capture->lost, __ATOMIC_ACQUIRE);
}

/* Call when an access to `address` raised SIGBUS. If the address is in a mapping of a capture's
 * file, loses the capture and returns true: the access can be repeated. Signal safe. */
bool crn_capture_catch(const void *address);

/* Call in a child of fork. */
void crn_capture_catch_in_child(void);

#endif
