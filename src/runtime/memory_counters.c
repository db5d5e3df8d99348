/* SPDX-License-Identifier: MIT
 *
 * Live bytes and the rate of allocation as counters over time.
 */
#include <cairn/alloc.h>
#include <cairn/span.h>

#include "runtime/runtime.h"

enum { LEAST_NS = 1000000 /* ns between two values, at least */ };

void cairn_priv_memory_begin(cairn_profile *profile)
{
    crn_memory_counters *memory = &profile->memory;
    if (!profile->spans || __atomic_exchange_n(&memory->begun, true, __ATOMIC_RELAXED))
        return;
    memory->live = cairn_key_add(profile, "live bytes");
    memory->rate = cairn_key_add(profile, "allocation rate");
    memory->at = crn_clock_monotonic();
    __atomic_store_n(&memory->known, true, __ATOMIC_RELEASE);
}

/* `allocated` can shrink, because threads add their parts at different times. */
static void show(cairn_strand *strand, crn_memory_counters *memory, uint64_t now, uint64_t live,
                 uint64_t allocated)
{
    const double second = 1e9;
    uint64_t more = allocated > memory->allocated ? allocated - memory->allocated : 0;
    cairn_counter_set(strand, memory->live, (double)live);
    cairn_counter_set(strand, memory->rate, (double)more * second / (double)(now - memory->at));
    memory->allocated = allocated;
    __atomic_store_n(&memory->at, now, __ATOMIC_RELAXED);
}

void cairn_priv_memory_show(cairn_strand *strand, uint64_t live, uint64_t allocated)
{
    if (!strand)
        return;
    crn_memory_counters *memory = &crn_lane_of(strand)->profile->memory;
    if (!__atomic_load_n(&memory->known, __ATOMIC_ACQUIRE))
        return;
    uint64_t now = crn_clock_monotonic();
    if (now < __atomic_load_n(&memory->at, __ATOMIC_RELAXED) + LEAST_NS ||
        __atomic_exchange_n(&memory->busy, true, __ATOMIC_ACQUIRE))
        return;
    if (now >= memory->at + LEAST_NS)
        show(strand, memory, now, live, allocated);
    __atomic_store_n(&memory->busy, false, __ATOMIC_RELEASE);
}
