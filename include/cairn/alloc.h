/* SPDX-License-Identifier: MIT
 *
 * alloc.h - charges a program's allocations to the contexts of its strands.
 *
 * For programs that use libcairn themselves and link libcairn-alloc (pkg-config cairn-alloc),
 * which interposes malloc, calloc, realloc, free and related functions, and thus new and delete.
 * Programs that do not use libcairn can be profiled as they are, by native stack: `cairn run
 * --alloc`.
 *
 *     cairn_strand *strand = cairn_strand_open(lane);
 *     cairn_alloc_follow(strand);
 *     ...                              allocations of this thread are charged to strand's contexts
 *     cairn_alloc_follow(NULL);
 *     cairn_profile_close(profile);
 *
 * Metrics: "alloc bytes", "alloc objects", "freed bytes" and "freed objects" are charged to the
 * context that allocated; live memory is allocated minus freed. "peak bytes" are the bytes that
 * were live when the total over all followed threads was highest (within 1 %). Bytes are requested
 * bytes. realloc frees the old allocation and makes a new one in the context that calls it.
 * docs/ALLOC.md has the details.
 */
#ifndef CAIRN_ALLOC_H
#define CAIRN_ALLOC_H

#include "cairn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The part of a lane that belongs to libcairn-alloc. libcairn calls `closed` before it frees the
 * lane, perhaps in a child of fork and with locks held. */
typedef struct cairn_priv_follower {
    void (*closed)(struct cairn_priv_follower *follower);
} cairn_priv_follower;

/* Functions of the program's own libcairn, passed to libcairn-alloc. */
typedef struct cairn_priv_alloc_calls {
    size_t size; /* sizeof this struct, which allows members to be added */
    cairn_lane *(*strand_lane)(const cairn_strand *strand);
    cairn_profile *(*lane_profile)(const cairn_lane *lane);
    cairn_context (*strand_context)(const cairn_strand *strand);
    uint64_t *(*context_counters)(cairn_lane *lane, cairn_metric metric, cairn_context context);
    void (*context_charge)(cairn_lane *lane, cairn_context context, cairn_metric metric,
                           uint64_t amount);
    cairn_metric (*metric_add)(cairn_profile *profile, const char *name, const char *unit);
    const uint64_t *(*generation)(const cairn_profile *profile);
    const uint64_t *(*changes)(const cairn_profile *profile);
    cairn_priv_follower **(*lane_follower)(cairn_lane *lane);
    uint64_t (*catch_up)(cairn_lane *lane);
    void (*memory_begin)(cairn_profile *profile);
    void (*memory_show)(cairn_strand *strand, uint64_t live, uint64_t allocated);
    cairn_error (*profile_note)(cairn_profile *profile, const char *key, const char *value);
} cairn_priv_alloc_calls;

/* Record the counters "live bytes" and "allocation rate" (bytes a second) of a profile. Call begin
 * once. show takes the bytes that are live now and those allocated so far; it records at most one
 * call a millisecond, with the strand's current span. show allocates nothing and takes no lock, but
 * reads the clock: call it once in many allocations. Thread: the strand's. */
CAIRN_API void cairn_priv_memory_begin(cairn_profile *profile);
CAIRN_API void cairn_priv_memory_show(cairn_strand *strand, uint64_t live, uint64_t allocated);

/* cairn_priv_generation returns the address of the profile's generation, which a reset increments.
 * cairn_priv_changes returns the address of a number that a reset, and each switch of recording,
 * increments. Read both numbers atomically, and not after the profile is closed. Thread: any;
 * signal safe. */
CAIRN_API const uint64_t *cairn_priv_generation(const cairn_profile *profile);
CAIRN_API const uint64_t *cairn_priv_changes(const cairn_profile *profile);
/* Returns the address of the lane's pointer to its follower. The pointer is NULL at first. Thread:
 * the lane's. */
CAIRN_API cairn_priv_follower **cairn_priv_lane_follower(cairn_lane *lane);
/* Carries out a pending reset of the lane. Returns the generation. Thread: the lane's; not signal
 * safe. */
CAIRN_API uint64_t cairn_priv_catch_up(cairn_lane *lane);

/* cairn_alloc_follow, in libcairn-alloc. */
CAIRN_API bool cairn_priv_alloc_follow(cairn_strand *strand, const cairn_priv_alloc_calls *calls);

/* Charges this thread's allocations to the current context of `strand`, on the strand's own lane,
 * until another call; NULL ends the charging. Changing to another strand of the same lane is cheap,
 * and so is following a lane again. All threads must end the charging before the profile is closed.
 *
 * A free by another thread is charged when this thread next allocates or ends the charging; a free
 * after that, when any thread next follows the lane. Until then the memory counts as live. While
 * recording is off, no allocation is charged; frees of those that were charged before are charged
 * when recording is on again. The environment variable CAIRN_ALLOC samples allocations as `cairn
 * run --alloc` does; without the variable all are counted.
 *
 * Returns false if allocations cannot be followed: the program has its own malloc, or there is no
 * memory. Thread: the lane's. If the lane moves to another thread, pass NULL on the old thread
 * first. Not signal safe. */
CAIRN_PRIV_INLINE bool cairn_alloc_follow(cairn_strand *strand)
{
    static const cairn_priv_alloc_calls calls = {
        sizeof calls,           cairn_strand_lane,
        cairn_lane_profile,     cairn_strand_context,
        cairn_context_counters, cairn_context_charge,
        cairn_metric_add,       cairn_priv_generation,
        cairn_priv_changes,     cairn_priv_lane_follower,
        cairn_priv_catch_up,    cairn_priv_memory_begin,
        cairn_priv_memory_show, cairn_profile_note,
    };
    return cairn_priv_alloc_follow(strand, &calls);
}

#ifdef __cplusplus
}
#endif

#endif
