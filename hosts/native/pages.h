/* SPDX-License-Identifier: MIT
 *
 * pages.h - memory from mmap, for libraries that run inside malloc. Zeroed; errno is kept.
 */
#ifndef CRN_NATIVE_PAGES_H
#define CRN_NATIVE_PAGES_H

#include <stddef.h>

/* Both return NULL without memory; `pages` then stay as they are. `pages` may be NULL. */
void *crn_pages(size_t size);
void *crn_pages_grow(void *pages, size_t size, size_t larger);
void crn_pages_free(void *pages, size_t size);

#endif
