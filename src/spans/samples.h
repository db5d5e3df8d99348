/* SPDX-License-Identifier: MIT
 *
 * samples.h - samples of processor time with their moments, and the paths of functions that ran.
 *
 * Paths are a tree, because many have a begin in common: each names its callers' path and its last
 * function.
 */
#ifndef CRN_SPANS_SAMPLES_H
#define CRN_SPANS_SAMPLES_H

#include "base/interning.h"

/* The empty path: it is not known where the thread was. It is the first, and its own caller. */
#define CRN_PATH_NONE ((uint32_t)0)

typedef struct crn_path {
    uint32_t caller; /* path of the callers, a smaller number */
    uint32_t block;  /* of the function, in the profile that was loaded from the same capture */
} crn_path;

typedef struct crn_sample {
    uint64_t at;  /* ns */
    uint32_t cpu; /* processor time since the thread's last sample, ns */
    uint32_t lane;
    uint32_t path;
} crn_sample;

/* From a moment on, a lane is another thread's. */
typedef struct crn_thread_change {
    uint64_t at; /* ns */
    uint32_t lane;
    uint32_t thread; /* the kernel's id; 0: not known */
} crn_thread_change;

typedef struct crn_samples {
    uint32_t count, path_count, change_count; /* path_count: 0 if there are no samples */
    crn_sample *list;                         /* sorted by lane, then by moment */
    crn_path *paths;
    crn_thread_change *changes; /* sorted by lane, then by moment */
} crn_samples;

void crn_samples_free(crn_samples *samples);
crn_samples crn_samples_copy(const crn_samples *samples);

/* ---- making ---- */

/* Zero it; free it with crn_samples_end. */
typedef struct crn_samples_making {
    crn_samples *to;
    crn_interning *numbers; /* of paths, by caller and block */
    uint32_t room, path_room, change_room;
} crn_samples_making;

/* Begins to add to empty samples. */
void crn_samples_begin(crn_samples_making *making, crn_samples *to);
void crn_samples_end(crn_samples_making *making);

/* Returns the path of a function called from the end of another path. */
uint32_t crn_samples_path(crn_samples_making *making, uint32_t caller, uint32_t block);

/* Adds a sample. Ignores it if there are 2^32 - 1. */
void crn_samples_add(crn_samples_making *making, const crn_sample *sample);

void crn_samples_change(crn_samples_making *making, const crn_thread_change *change);

/* Adds all samples and changes of others, whose lanes begin at `lane` here. */
void crn_samples_join(crn_samples_making *making, const crn_samples *from, uint32_t lane);

/* Puts a block in front of all paths, as the caller of what had none. */
void crn_samples_below(crn_samples *samples, uint32_t block);

/* Sorts samples and changes that are sorted by lane by their moments, too. */
void crn_samples_sort(crn_samples *samples);

/* Replaces each block b < count in all paths by blocks[first[b]] to blocks[first[b + 1] - 1], the
 * outermost first; others by nothing. */
void crn_samples_replace(crn_samples *samples, const uint32_t *first, const uint32_t *blocks,
                         uint32_t count);

#endif
