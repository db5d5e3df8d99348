/* SPDX-License-Identifier: MIT */
#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/pool.h"

/* Sanitizers find leaks and double frees only in memory from malloc. */
#if defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif
#if defined SANITIZED || defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
static bool from_malloc = true;
#else
static bool from_malloc;
#endif

void crn_memory_from_malloc(void)
{
    from_malloc = true;
}

static void *get(size_t size)
{
    return from_malloc ? calloc(1, size) : crn_pool_get(size);
}

static void *resize(void *memory, size_t size)
{
    return from_malloc ? realloc(memory, size) : crn_pool_resize(memory, size);
}

static void give(void *memory)
{
    if (from_malloc)
        free(memory);
    else
        crn_pool_give(memory);
}

/* Number of the call that fails first, counted down; 0: no call fails; 1: each call fails from now
 * on. */
static uint64_t fail_at;

static int fails(void)
{
    uint64_t left = __atomic_load_n(&fail_at, __ATOMIC_RELAXED);
    if (left > 1)
        __atomic_store_n(&fail_at, left - 1, __ATOMIC_RELAXED);
    return left == 1;
}

void crn_memory_fail_at(uint64_t nth)
{
    __atomic_store_n(&fail_at, nth, __ATOMIC_RELAXED);
}

void *crn_try_calloc(size_t count, size_t size)
{
    int saved = errno;
    size_t bytes;
    bool much = __builtin_mul_overflow(count, size, &bytes);
    void *memory = fails() || much ? NULL : get(bytes ? bytes : 1);
    errno = saved;
    return memory;
}

void *crn_try_realloc(void *memory, size_t count, size_t size)
{
    size_t bytes;
    if (fails() || __builtin_mul_overflow(count, size, &bytes))
        return NULL;
    int saved = errno;
    memory = resize(memory, bytes ? bytes : 1);
    errno = saved;
    return memory;
}

/* A pointer, so that memcmp is resolved when the library is loaded; see crn_is_same in memory.h. */
static int (*const volatile compare)(const void *one, const void *other, size_t size) = memcmp;

bool crn_is_same(const void *one, const void *other, size_t size)
{
    return compare(one, other, size) == 0;
}

void crn_free(void *memory)
{
    give(memory);
}

/* Tables of at least this many bytes are mapped on their own; see crn_try_table in memory.h. */
enum { TABLE_LARGE = 512 };

void *crn_try_table(size_t size)
{
    if (size < TABLE_LARGE)
        return crn_try_calloc(size, 1);
    if (fails())
        return NULL;
    int saved = errno;
    void *table =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    errno = saved;
    return table == MAP_FAILED ? NULL : table;
}

void crn_free_table(void *table, size_t size)
{
    if (size < TABLE_LARGE)
        crn_free(table);
    else if (table)
        munmap(table, size);
}

static void *try_pages(size_t size, int protection)
{
    if (fails())
        return NULL;
    int saved = errno;
    void *memory = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    /* Without huge pages a written byte takes one page. A kernel that has none refuses the advice,
     * which does no harm. */
    if (memory == MAP_FAILED)
        memory = NULL;
    else
        madvise(memory, size, MADV_NOHUGEPAGE);
    errno = saved;
    return memory;
}

void *crn_try_sparse(size_t size)
{
    return try_pages(size, PROT_READ | PROT_WRITE);
}

bool crn_zero_in_children(void *sparse, size_t size)
{
    return madvise(sparse, size, MADV_WIPEONFORK) == 0;
}

void *crn_try_zeros(size_t size)
{
    return try_pages(size, PROT_READ);
}

void crn_free_sparse(void *memory, size_t size)
{
    if (memory)
        munmap(memory, size);
}

void crn_memory_ran_out(void)
{
    fputs("cairn: out of memory; close other programs or choose a smaller capture\n", stderr);
    exit(2);
}

static void *checked(void *memory)
{
    if (!memory)
        crn_memory_ran_out();
    return memory;
}

void *crn_calloc(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return checked(NULL);
    return checked(get(bytes ? bytes : 1));
}

void *crn_realloc(void *memory, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return checked(NULL);
    return checked(resize(memory, bytes ? bytes : 1));
}

char *crn_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(crn_calloc(size, 1), text, size);
}

void *crn_copied(const void *items, size_t count, size_t size)
{
    void *copy = crn_calloc(count, size);
    if (count)
        memcpy(copy, items, count * size);
    return copy;
}
