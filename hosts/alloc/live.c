/* SPDX-License-Identifier: MIT
 *
 * The table of live blocks, indexed by address: three levels, of which the lower two are mapped
 * when they are first needed. Who allocates a block writes its entry before the program gets it,
 * who frees it takes the entry before the real free: the entry is as private as the block.
 *
 * Two blocks of glibc's malloc are at least 32 bytes apart (its smallest chunk), so that each
 * 32 bytes of heap have an entry of 16.
 */
#include "alloc.h"

_Static_assert(sizeof(crn_live) == 16, "half of a granule");

crn_live_middle *crn_live_top[1 << CRN_LIVE_TOP];

/* Maps what `*slot` is to point to, if nobody else has done so meanwhile. */
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
