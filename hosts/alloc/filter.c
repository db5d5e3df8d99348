/* SPDX-License-Identifier: MIT
 *
 * Quick test for allocations that were not counted: the number of counted allocations in each
 * granule of heap. With sampling, nearly all frees need no more than this test. Neighbours in the
 * heap have neighbouring elements, so the elements in use are few and stay in the cache. Without
 * sampling, no element is 0.
 */
#include <string.h>

#include "alloc.h"

uint8_t crn_filter[1 << 16];
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
    memset(crn_filter, UINT8_MAX, sizeof crn_filter);
}

/* Changes the number of an allocation's granule by 1 or -1, unless it stays at 255. */
static void count(const void *block, int change)
{
    uint8_t *at = crn_filter_at(block);
    pthread_mutex_lock(&lock);
    if (*at != UINT8_MAX)
        __atomic_store_n(at, (uint8_t)(*at + change), __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}

void crn_filter_add(const void *block)
{
    count(block, 1);
}

void crn_filter_remove(const void *block)
{
    count(block, -1);
}
