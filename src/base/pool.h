/* SPDX-License-Identifier: MIT
 *
 * pool.h - an allocator independent of the program's malloc.
 *
 * The runtime runs wherever the program does: inside a malloc that is itself profiled, or in a
 * signal handler that interrupted one. So it maps its memory itself. No function here takes a lock:
 * a signal handler may interrupt a function and call it again, and a fork leaves nothing locked.
 */
#ifndef CRN_BASE_POOL_H
#define CRN_BASE_POOL_H

#include <stddef.h>

/* Like calloc, realloc and free. A freed allocation of up to 8 KB is kept for later allocations of
 * its size class and never returned to the system. Thread: any. Signal safe, but changes errno. */
void *crn_pool_get(size_t size);
void *crn_pool_resize(void *memory, size_t size);
void crn_pool_give(void *memory);

#endif
