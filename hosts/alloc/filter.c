/* SPDX-License-Identifier: MIT
 *
 * Quick test for allocations that were not counted: a bit for each hash of an address, and a
 * counter of the counted allocations with that hash. With sampling, nearly all frees need no more
 * than this test. Without sampling, all bits are set.
 */
#include <string.h>

#include "alloc.h"

uint64_t crn_filter[1 << (CRN_FILTER_BITS - 6)];
static uint32_t counts[1 << CRN_FILTER_BITS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void crn_filter_lock(void)
{
    pthread_mutex_lock(&lock);
}

void crn_filter_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void crn_filter_all(void)
{
    memset(crn_filter, 0xff, sizeof crn_filter);
}

void crn_filter_add(const void *block)
{
    uint64_t hash = crn_filter_hash(block);
    pthread_mutex_lock(&lock);
    if (counts[hash]++ == 0)
        __atomic_or_fetch(&crn_filter[hash >> 6], (uint64_t)1 << (hash & 63), __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}

void crn_filter_remove(const void *block)
{
    uint64_t hash = crn_filter_hash(block);
    pthread_mutex_lock(&lock);
    if (counts[hash] && --counts[hash] == 0)
        __atomic_and_fetch(&crn_filter[hash >> 6], ~((uint64_t)1 << (hash & 63)), __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}
