/* SPDX-License-Identifier: MIT
 *
 * Table of live allocations by address, in three levels; the lower two are mapped on first use. The
 * thread that allocates writes the entry before the program gets the address. The thread that frees
 * takes it before the real free. So only the allocation's owner uses the entry.
 *
 * Allocations of glibc are at least 32 bytes apart (its smallest chunk): each 32 bytes of heap have
 * an entry of 16 bytes.
 */
#include "alloc.h"

_Static_assert(sizeof(crn_live) == 16, "half of a granule");

crn_live_middle *crn_live_top[1 << CRN_LIVE_TOP];

/* Maps memory for `*slot`, unless another thread has done it meanwhile. */
static void *make(void **slot, size_t size)
{
    void *pages = crn_pages(size), *there = NULL;
    if (!pages ||
        __atomic_compare_exchange_n(slot, &there, pages, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return pages;
    crn_pages_free(pages, size);
    return there;
}

crn_live *crn_live_make(const void *block)
{
    uintptr_t leaf = (uintptr_t)block >> (CRN_LIVE_GRANULE + CRN_LIVE_LEAF);
    uintptr_t top = leaf >> CRN_LIVE_MIDDLE;
    if (top >> CRN_LIVE_TOP)
        return NULL;
    crn_live_middle *middle = __atomic_load_n(&crn_live_top[top], __ATOMIC_ACQUIRE);
    if (!middle && !(middle = make((void **)&crn_live_top[top], sizeof *middle)))
        return NULL;
    crn_live **slot = &middle->leaves[leaf & ((1 << CRN_LIVE_MIDDLE) - 1)];
    if (!__atomic_load_n(slot, __ATOMIC_ACQUIRE) &&
        !make((void **)slot, sizeof(crn_live) << CRN_LIVE_LEAF))
        return NULL;
    return crn_live_find(block);
}
