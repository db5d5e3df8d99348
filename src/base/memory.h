/* SPDX-License-Identifier: MIT
 *
 * memory.h - allocation through one place, so that tests can make the Nth one fail.
 *
 * The runtime uses the functions with `try` in their name and copes with NULL. The tool uses the
 * others, which end the process with a message if memory runs out.
 */
#ifndef CRN_BASE_MEMORY_H
#define CRN_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes the functions below use malloc instead of the pool (pool.h), in processes that run no
 * profiled program. Call it before the first allocation. */
void crn_memory_from_malloc(void);

/* Returns zeroed memory, or NULL without memory. The try functions preserve errno. */
void *crn_try_calloc(size_t count, size_t size);
/* Like realloc. Returns NULL without memory; then `memory` is unchanged. */
void *crn_try_realloc(void *memory, size_t count, size_t size);
void crn_free(void *memory);

/* Returns true if `size` bytes are equal. Replaces memcmp, which the dynamic linker resolves at the
 * first call: that takes about 1 KB of stack, more than a small signal stack may have. (All other
 * functions needed to find a context are called when a profile is opened.) */
bool crn_is_same(const void *one, const void *other, size_t size);

/* Returns a zeroed table of `size` bytes, for tables that grow by doubling. Freeing a large table
 * returns its memory to the system. malloc would keep outgrown tables, which add up to as much
 * memory again. Returns NULL without memory. */
void *crn_try_table(size_t size);
void crn_free_table(void *table, size_t size);

/* Returns zeroed, page-aligned memory of which only written pages take space, for sparsely used
 * tables. Returns NULL without address space. */
void *crn_try_sparse(size_t size);
/* Like crn_try_sparse, but read-only: a write is a segmentation fault. */
void *crn_try_zeros(size_t size);
void crn_free_sparse(void *memory, size_t size);
/* Makes the kernel zero memory of crn_try_sparse in children of fork. Returns false before Linux
 * 4.14. */
bool crn_zero_in_children(void *sparse, size_t size);

/* Allocate or end the process; never return NULL. Memory from crn_calloc is zeroed. */
void *crn_calloc(size_t count, size_t size);
void *crn_realloc(void *memory, size_t count, size_t size);
char *crn_strdup(const char *text);
/* Returns a copy of `count` items of `size` bytes. */
void *crn_copied(const void *items, size_t count, size_t size);

/* Ends the process with a message: memory has run out. */
__attribute__((noreturn)) void crn_memory_ran_out(void);

/* Makes space in `array` for one more element. The array has space for `room` elements, of which
 * `count` are in use; if all are, doubles the space and `room`. Ends the process if `room` is the
 * largest number of its type. */
#define CRN_GROW(array, count, room)                                                               \
    do {                                                                                           \
        if ((count) >= (room)) {                                                                   \
            const __typeof__(room) crn_most = (__typeof__(room))-1;                                \
            if ((room) == crn_most)                                                                \
                crn_memory_ran_out();                                                              \
            (room) = (room) > crn_most / 2 ? crn_most : (room) ? (room)*2 : 64;                    \
            (array) = crn_realloc((void *)(array), (room), sizeof *(array));                       \
        }                                                                                          \
    } while (0)

/* Makes the try functions fail from the `nth` call on, in tests. 1 is the next call; 0: none
 * fails. */
void crn_memory_fail_at(uint64_t nth);

#endif
