/* SPDX-License-Identifier: MIT
 *
 * loss.h - handles a capture whose file can no longer be written through its mappings: somebody
 * truncated it, its file system lacks space to copy a block, or a memory control group refuses a
 * page. Touching such a page raises SIGBUS.
 *
 * The capture is then *lost*: all its mappings become zeroed private memory, and nothing reaches
 * the file any more. So any field in a mapping can become 0 at any time.
 */
#ifndef CRN_CAPTURE_LOSS_H
#define CRN_CAPTURE_LOSS_H

#include "capture/writer.h"

/* Reserves address space for mappings of the capture's file. Returns NULL if it is exhausted. */
char *crn_capture_reserve(crn_capture *capture, uint64_t size);

/* Reserves address space for the first reservations at once: one system call in place of ten. */
void crn_capture_reserve_spare(crn_capture *capture);

/* Releases the part of that space that no reservation has taken. */
void crn_capture_release_spare(crn_capture *capture);

/* Maps bytes of the file at `place` bytes after the base of a reservation. Returns false on an
 * error. */
bool crn_capture_map(char *base, uint64_t place, int file, uint64_t offset, uint64_t size);

/* Assigns a reservation to `to`: the capture's struct has moved there. */
void crn_capture_pass_on(char *base, crn_capture *to);

/* Unmaps a reservation and releases it; `base` may be NULL. */
void crn_capture_release(char *base, uint64_t size);

/* Loses the capture: replaces its mappings, and notes the loss in the file if the file still has
 * its header. Signal safe. */
void crn_capture_lose(crn_capture *capture);

static inline bool crn_capture_is_lost(const crn_capture *capture)
{
    return __atomic_load_n(&capture->lost, __ATOMIC_ACQUIRE);
}

/* Handles a SIGBUS that an access to `address` raised. If the address is in a mapping of a capture,
 * loses the capture and returns true: the access can be repeated. Signal safe. */
bool crn_capture_catch(const void *address);

/* Forgets the parent's threads that were in one of crn_capture_lose and crn_capture_catch. Call it
 * in a child of fork. */
void crn_capture_catch_in_child(void);

#endif
