/* SPDX-License-Identifier: MIT
 *
 * samples.h - samples of processor time with their moments, and the paths of functions that ran.
 *
 * Paths form a tree, as many share their callers: each path names the path of its callers, and its
 * last function.
 */
#ifndef CRN_SPANS_SAMPLES_H
#define CRN_SPANS_SAMPLES_H

#include "base/interning.h"

/* The empty path, of samples without known functions. It is the first, and its own caller. */
#define CRN_PATH_NONE ((uint32_t)0)

typedef struct crn_path {
    uint32_t caller; /* path of the callers, a smaller index */
    uint32_t block;  /* of the function, in the profile loaded from the same capture */
} crn_path;

typedef struct crn_sample {
    uint64_t at;  /* ns */
    uint32_t cpu; /* ns of processor time since the thread's last sample */
    uint32_t lane;
    uint32_t path;
} crn_sample;

/* From `at` on, `lane` belongs to `thread`. */
typedef struct crn_thread_change {
    uint64_t at; /* ns */
    uint32_t lane;
    uint32_t thread; /* kernel id; 0: not known */
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

/* State while samples are added; free it with crn_samples_end. */
typedef struct crn_samples_making {
    crn_samples *to;
    crn_interning *numbers; /* path numbers by caller and block */
    uint32_t room, path_room, change_room;
} crn_samples_making;

/* Empties `to` and begins to add to it. */
void crn_samples_begin(crn_samples_making *making, crn_samples *to);
void crn_samples_end(crn_samples_making *making);

/* Returns the path of `block` called from path `caller`. */
uint32_t crn_samples_path(crn_samples_making *making, uint32_t caller, uint32_t block);

/* Adds a sample; ignores it if there are 2^32 - 1 already. */
void crn_samples_add(crn_samples_making *making, const crn_sample *sample);

void crn_samples_change(crn_samples_making *making, const crn_thread_change *change);

/* Adds all samples and changes of `from`. `lane` is added to their lanes. */
void crn_samples_join(crn_samples_making *making, const crn_samples *from, uint32_t lane);

/* Makes a block the outermost caller of all paths. */
void crn_samples_below(crn_samples *samples, uint32_t block);

/* Sorts samples and changes by lane, then by moment. */
void crn_samples_sort(crn_samples *samples);

/* Replaces each block b < count in all paths by blocks[first[b]] to blocks[first[b + 1] - 1], the
 * outermost first. Removes blocks >= count. */
void crn_samples_replace(crn_samples *samples, const uint32_t *first, const uint32_t *blocks,
                         uint32_t count);

#endif
