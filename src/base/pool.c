/* SPDX-License-Identifier: MIT */
#include "base/pool.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

/* Header of an allocation. Allocations up to LARGE are never unmapped, so a thread that loses the
 * race for one may still read its header. */
typedef struct head {
    uint64_t size;     /* in bytes, header included */
    struct head *next; /* next free allocation in the list; atomic */
} head;

enum {
    LEAST = 32,
    STEPS = 4,       /* size classes between two powers of two */
    LARGE = 1 << 13, /* larger allocations are mapped on their own, so that outgrown tables do not
                        stay in lists */
    CLASSES = 9 * STEPS,
    POPULATED = 1 << 15, /* bytes */
    CHUNK = 1 << 16,     /* bytes and alignment of a chunk, from which allocations are cut */
    PAGE = 4096,
    ADDRESS_BITS = 48
};

static const uint64_t MOST = (uint64_t)1 << (ADDRESS_BITS - 1);

/* Lists of free allocations, by size class. The lower ADDRESS_BITS of each word are the address of
 * the first allocation. The upper bits count changes of the list, so that compare-and-exchange
 * fails if the list changed but has the same first allocation again (ABA). */
static uint64_t lists[CLASSES]; /* atomic */

static int power_of(uint64_t size)
{
    return 63 - __builtin_clzll(size); /* 63 is the number of the highest bit */
}

/* Rounds a size up to a size class, which is a multiple of 16, the alignment of malloc. */
static uint64_t rounded(uint64_t size)
{
    if (size <= LEAST)
        return LEAST;
    uint64_t step = size > LARGE ? PAGE : (uint64_t)1 << power_of(size - 1) >> 2;
    step = step < sizeof(head) ? sizeof(head) : step;
    return (size + step - 1) / step * step;
}

static uint64_t *list_of(uint64_t size)
{
    int power = power_of(size), first = power_of(LEAST);
    return &lists[(power - first) * STEPS + (int)(size >> (power - 2) & (STEPS - 1))];
}

static head *block_of(uint64_t first)
{
    return (head *)(uintptr_t)(first & (((uint64_t)1 << ADDRESS_BITS) - 1));
}

static uint64_t changed(uint64_t first, const head *block)
{
    return ((first >> ADDRESS_BITS) + 1) << ADDRESS_BITS | (uintptr_t)block;
}

static void put(uint64_t *list, head *block)
{
    uint64_t first = __atomic_load_n(list, __ATOMIC_RELAXED);
    do {
        __atomic_store_n(&block->next, block_of(first), __ATOMIC_RELAXED);
    } while (!__atomic_compare_exchange_n(list, &first, changed(first, block), true,
                                          __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

static head *take(uint64_t *list)
{
    uint64_t first = __atomic_load_n(list, __ATOMIC_ACQUIRE);
    head *next;
    do {
        if (!block_of(first))
            return NULL;
        next = __atomic_load_n(&block_of(first)->next, __ATOMIC_RELAXED);
    } while (!__atomic_compare_exchange_n(list, &first, changed(first, next), true,
                                          __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE));
    return block_of(first);
}

/* Maps pages. Up to POPULATED bytes are made present at once, which costs less than a fault a page.
 */
static head *map(uint64_t size)
{
    int populate = size <= POPULATED ? MAP_POPULATE : 0;
    void *pages =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | populate, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

/* Returns the first chunk, which is part of the library's .bss, so that a short process needs no
 * system call for it. Returns NULL at later calls. */
static head *first_chunk(void)
{
    static char space[2 * CHUNK];
    static bool taken; /* atomic */
    if (__atomic_exchange_n(&taken, true, __ATOMIC_RELAXED))
        return NULL;
    return (head *)(void *)(space + -(uintptr_t)space % CHUNK);
}

static head *map_chunk(void)
{
    head *first = first_chunk();
    if (first)
        return first;
    char *pages = (char *)map(2 * (uint64_t)CHUNK);
    if (!pages)
        return NULL;
    uint64_t before = -(uintptr_t)pages % CHUNK;
    if (before)
        munmap(pages, before);
    munmap(pages + before + CHUNK, CHUNK - before);
    return (head *)(void *)(pages + before);
}

/* Address of the unused rest of the current chunk; atomic. The chunk ends at the next multiple of
 * CHUNK; if the address itself is one, nothing is left. Chunks in use are never unmapped, so no
 * value repeats (no ABA). */
static uint64_t frontier;

static head *cut(uint64_t size)
{
    uint64_t at = __atomic_load_n(&frontier, __ATOMIC_ACQUIRE); /* acquires the pages from the
                                                                   thread that mapped them */
    for (;;) {
        bool fits = at % CHUNK && CHUNK - at % CHUNK >= size;
        head *block = fits ? (head *)(uintptr_t)at : map_chunk();
        if (!block || __atomic_compare_exchange_n(&frontier, &at, (uintptr_t)block + size, false,
                                                  __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return block;
        if (!fits)
            munmap(block, CHUNK);
    }
}

void *crn_pool_get(size_t wanted)
{
    if (wanted > MOST)
        return NULL;
    uint64_t size = rounded(wanted + sizeof(head));
    bool large = size > LARGE;
    head *block = large ? map(size) : take(list_of(size));
    if (!block && !large)
        block = cut(size);
    if (!block)
        return NULL;
    block->size = size;
    return large ? block + 1 : memset(block + 1, 0, size - sizeof *block);
}

void crn_pool_give(void *memory)
{
    if (!memory)
        return;
    head *block = (head *)memory - 1;
    if (block->size > LARGE)
        munmap(block, block->size);
    else
        put(list_of(block->size), block);
}

/* The thread sanitizer does not know mremap: it mistakes moved memory for the memory that was at
 * the new address before. */
#ifdef __SANITIZE_THREAD__
enum { MOVES_PAGES = false };
#else
enum { MOVES_PAGES = true };
#endif

static void *remap(head *block, size_t wanted)
{
    uint64_t size = rounded(wanted + sizeof *block);
    block = mremap(block, block->size, size, MREMAP_MAYMOVE);
    if (block == MAP_FAILED)
        return NULL;
    block->size = size;
    return block + 1;
}

void *crn_pool_resize(void *memory, size_t wanted)
{
    if (!memory)
        return crn_pool_get(wanted);
    head *block = (head *)memory - 1;
    uint64_t room = block->size - sizeof *block;
    if (wanted <= room && (wanted >= room / 2 || block->size <= LARGE))
        return memory;
    if (MOVES_PAGES && block->size > LARGE && wanted > LARGE && wanted <= MOST)
        return remap(block, wanted);
    void *other = crn_pool_get(wanted);
    if (!other)
        return NULL;
    memcpy(other, memory, wanted < room ? wanted : room);
    crn_pool_give(memory);
    return other;
}
