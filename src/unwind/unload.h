/* SPDX-License-Identifier: MIT
 *
 * unload.h - code that is being unloaded while another thread, which reads unwinding tables in
 * place, waits.
 */
#ifndef CRN_UNWIND_UNLOAD_H
#define CRN_UNWIND_UNLOAD_H

#include <stdbool.h>
#include <stdint.h>

/* The longest wait since the last dlclose has begun, ns: destructors may take long. */
enum { CRN_UNLOAD_NS = 100000000 };

/* The calls of dlclose that have begun and not ended. */
typedef struct crn_unloads {
    uint64_t until; /* CLOCK_MONOTONIC, ns: nobody waits longer; atomic */
    uint32_t count; /* atomic */
} crn_unloads;

/* `now`: CLOCK_MONOTONIC, ns. Signal safe. */
static inline void crn_unloads_begin(crn_unloads *unloads, uint64_t now)
{
    __atomic_store_n(&unloads->until, now + CRN_UNLOAD_NS, __ATOMIC_RELEASE);
    __atomic_add_fetch(&unloads->count, 1, __ATOMIC_SEQ_CST);
}

/* Does nothing in a child of fork that was made meanwhile, and set the struct to zeros. */
static inline void crn_unloads_end(crn_unloads *unloads)
{
    uint32_t count = __atomic_load_n(&unloads->count, __ATOMIC_RELAXED);
    while (count && !__atomic_compare_exchange_n(&unloads->count, &count, count - 1, false,
                                                 __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
}

/* Returns true if tables must not be read. Signal safe. */
static inline bool crn_unloads_go_on(const crn_unloads *unloads, uint64_t now)
{
    return __atomic_load_n(&unloads->count, __ATOMIC_SEQ_CST) &&
           now < __atomic_load_n(&unloads->until, __ATOMIC_ACQUIRE);
}

#endif
