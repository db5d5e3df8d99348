/* SPDX-License-Identifier: MIT
 *
 * memory.h - allocation through one place, so that tests can make the Nth one fail.
 *
 * The runtime uses the try functions and copes with NULL. The tool uses the others,
 * which end the process with a message: a report has nothing better to do.
 */
#ifndef CRN_BASE_MEMORY_H
#define CRN_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From now on memory is malloc's, not the pool's (pool.h): for a process in which nothing else
 * runs. Before anything is allocated. */
void crn_memory_from_malloc(void);

/* NULL when there is no memory. Zeroed. The try functions leave errno alone. */
void *crn_try_calloc(size_t count, size_t size);
/* As realloc; NULL leaves `memory` as it was. */
void *crn_try_realloc(void *memory, size_t count, size_t size);
void crn_free(void *memory);

/* Whether so many bytes are the same. Not memcmp's name: what a library calls for the first time is
 * looked up then, on a kilobyte of the stack that is there, which may be a signal's and small. All
 * else that finds a context has been called when a profile is opened. */
bool crn_is_same(const void *one, const void *other, size_t size);

/* A zeroed table of `size` bytes, for tables that double. A large one goes back to the system
 * when it is freed: malloc would keep the outgrown ones, which are as much again. NULL when
 * there is no memory. */
void *crn_try_table(size_t size);
void crn_free_table(void *table, size_t size);

/* Zeroed memory that takes room where it is written to, for tables of which little is used; it
 * begins at a page. NULL when there is no address space. */
void *crn_try_sparse(size_t size);
/* The same, but that it stays zero: who writes to it is ended. */
void *crn_try_zeros(size_t size);
void crn_free_sparse(void *memory, size_t size);

/* Never NULL. crn_calloc's memory is zeroed. */
void *crn_calloc(size_t count, size_t size);
void *crn_realloc(void *memory, size_t count, size_t size);
char *crn_strdup(const char *text);

/* For tests: the try functions fail from the `nth` call on (1 is the next); 0 never. */
void crn_memory_fail_at(uint64_t nth);

#endif
