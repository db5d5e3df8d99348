/* SPDX-License-Identifier: MIT
 *
 * transform.h - simplifies the paths of a profile: takes functions out of them, or makes what a
 * function calls a part of it. (Based on the transforms of the Firefox Profiler.)
 *
 * Costs of contexts that a transform takes away count as self cost of the nearest one above that
 * stays, so sums over the whole profile stay the same, except with CRN_TRANSFORM_FOCUS_FILE.
 * Calls of contexts that are gone are not counted.
 */
#ifndef CRN_PROFILE_TRANSFORM_H
#define CRN_PROFILE_TRANSFORM_H

#include "profile/model.h"

typedef enum crn_transform_kind {
    CRN_TRANSFORM_MERGE,         /* takes the block out of all paths */
    CRN_TRANSFORM_MERGE_FILE,    /* takes all blocks of the file out of all paths */
    CRN_TRANSFORM_COLLAPSE,      /* all that the block calls becomes a part of it */
    CRN_TRANSFORM_COLLAPSE_FILE, /* blocks of the file become a part of a block of the file that
                                    calls them */
    CRN_TRANSFORM_FOCUS_FILE,    /* only what is below blocks of the file; paths begin there */
} crn_transform_kind;

typedef struct crn_transform {
    crn_transform_kind kind;
    uint32_t block; /* a file is given by any of its blocks */
} crn_transform;

/* Names of the kinds, as crn_transform_parse reads them; NULL-terminated. */
extern const char *const crn_transform_names[];

/* Parses "merge:BLOCK", "collapse:BLOCK", "merge-file:FILE" and so on. BLOCK is a reference
 * (reference.h). FILE is the end of a path, or "#12", the file of that block. */
bool crn_transform_parse(const crn_profile *profile, const char *text, crn_transform *transform,
                         crn_error *error);

/* Returns a copy of the profile with all of the transforms, in their order. It has the same blocks
 * with the same numbers. */
crn_profile *crn_profile_transform(const crn_profile *profile, const crn_transform *transforms,
                                   size_t count);

#endif
