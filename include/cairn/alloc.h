/* SPDX-License-Identifier: MIT
 *
 * alloc.h - what a program allocates, charged to what runs on its strands.
 *
 * For programs that use libcairn themselves and link libcairn-alloc (pkg-config cairn-alloc), which
 * stands before malloc, calloc, realloc, free and their kin, and so sees new and delete, too. A
 * program that does not use libcairn is followed as it is, by its native stacks: `cairn run
 * --alloc`.
 *
 *     cairn_strand *strand = cairn_strand_open(lane);
 *     cairn_alloc_follow(strand);
 *     ...                              what this thread allocates goes to strand's contexts
 *     cairn_alloc_follow(NULL);
 *     cairn_profile_close(profile);
 *
 * The profile gets these metrics: "alloc bytes", "alloc objects", "freed bytes", "freed objects",
 * all of them charged to the context that allocated, so that what lives at the end is their
 * difference; and "peak bytes", what lived when most of all that is followed in the process did
 * (to within 1 %). Bytes are those that were asked for. realloc frees the old block and allocates
 * the new one, in the context that calls it. docs/ALLOC.md says more.
 */
#ifndef CAIRN_ALLOC_H
#define CAIRN_ALLOC_H

#include "cairn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The program's own libcairn, whichever it has linked. */
typedef struct cairn_priv_alloc_calls {
    size_t size; /* of the struct: more may be added */
    cairn_lane *(*strand_lane)(const cairn_strand *strand);
    cairn_profile *(*lane_profile)(const cairn_lane *lane);
    cairn_context (*strand_context)(const cairn_strand *strand);
    uint64_t *(*context_counters)(cairn_lane *lane, cairn_metric metric, cairn_context context);
    void (*context_charge)(cairn_lane *lane, cairn_context context, cairn_metric metric,
                           uint64_t amount);
    cairn_metric (*metric_add)(cairn_profile *profile, const char *name, const char *unit);
    const uint64_t *(*generation)(const cairn_profile *profile);
    uint64_t (*catch_up)(cairn_lane *lane);
} cairn_priv_alloc_calls;

/* Where it is written how often the profile's figures have begun anew (cairn_profile_reset); to be
 * read atomically, until the profile is closed. Thread: any; signal safe. */
CAIRN_API const uint64_t *cairn_priv_generation(const cairn_profile *profile);
/* Makes the lane's figures 0 if they are of before a reset; how often that has been done by now.
 * Thread: the lane's; not signal safe. */
CAIRN_API uint64_t cairn_priv_catch_up(cairn_lane *lane);

CAIRN_API bool cairn_priv_alloc_follow(cairn_strand *strand, const cairn_priv_alloc_calls *calls);

/* From now on what this thread allocates is charged to the context that runs on `strand`, in the
 * strand's own lane; NULL ends that. Going to another strand of the same lane is cheap.
 *
 * Thread: the lane's; a lane that moves to another thread is to be followed there, after NULL
 * here. Not signal safe. All threads must have ended it before the profile is closed. Blocks that
 * are freed by another thread are charged when this one allocates or frees again, or ends it; those
 * that are freed after that count as live. By the environment variable CAIRN_ALLOC blocks are
 * sampled, as `cairn run --alloc` has it; without it all are counted.
 *
 * False if the program's blocks cannot be followed: it has a malloc of its own, or there is no
 * memory. */
CAIRN_PRIV_INLINE bool cairn_alloc_follow(cairn_strand *strand)
{
    static const cairn_priv_alloc_calls calls = {
        sizeof calls,         cairn_strand_lane,      cairn_lane_profile,
        cairn_strand_context, cairn_context_counters, cairn_context_charge,
        cairn_metric_add,     cairn_priv_generation,  cairn_priv_catch_up,
    };
    return cairn_priv_alloc_follow(strand, &calls);
}

#ifdef __cplusplus
}
#endif

#endif
