/* SPDX-License-Identifier: MIT
 *
 * pool.h - memory that does not come from the program's malloc.
 *
 * Cairn is called wherever the program is: in a malloc that the program brings and that is profiled
 * itself, in the midst of what it does to its lists; or in a signal's handler that interrupted one.
 * So what Cairn needs there are pages of its own, and nothing here waits: a handler may come within
 * each function and call it again, and fork leaves nothing locked.
 */
#ifndef CRN_BASE_POOL_H
#define CRN_BASE_POOL_H

#include <stddef.h>

/* As calloc, realloc and free. A block of less than 8 KB that is given back is for others of about
 * its size from then on, and never the system's again. Thread: any. Signal safe, but for errno. */
void *crn_pool_get(size_t size);
void *crn_pool_resize(void *memory, size_t size);
void crn_pool_give(void *memory);

#endif
