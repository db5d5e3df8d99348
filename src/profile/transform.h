/* SPDX-License-Identifier: MIT
 *
 * transform.h - simplifies the paths of a profile: merges functions into their callers, or callees
 * into a function. (Based on the transforms of the Firefox Profiler.)
 *
 * A removed context's costs become self cost of its nearest ancestor that stays, so totals of the
 * profile do not change; only CRN_TRANSFORM_FOCUS_FILE drops costs. Calls of removed contexts are
 * dropped.
 */
#ifndef CRN_PROFILE_TRANSFORM_H
#define CRN_PROFILE_TRANSFORM_H

#include "profile/model.h"

typedef enum crn_transform_kind {
    CRN_TRANSFORM_MERGE,         /* merges the block into its callers */
    CRN_TRANSFORM_MERGE_FILE,    /* merges all blocks of the file into their callers */
    CRN_TRANSFORM_COLLAPSE,      /* merges all that the block calls into it */
    CRN_TRANSFORM_COLLAPSE_FILE, /* merges blocks of the file into callers in the same file */
    CRN_TRANSFORM_FOCUS_FILE,    /* keeps only blocks of the file and what they call; paths begin at
                                    the file's outermost blocks */
} crn_transform_kind;

typedef struct crn_transform {
    crn_transform_kind kind;
    uint32_t block; /* for a file: any of its blocks */
} crn_transform;

/* The names of the kinds for crn_transform_parse; NULL-terminated. */
extern const char *const crn_transform_names[];

/* Parses "merge:BLOCK", "collapse:BLOCK", "merge-file:FILE" and so on. BLOCK is a reference
 * (reference.h). FILE is the end of a path, or "#12", the file of that block. */
bool crn_transform_parse(const crn_profile *profile, const char *text, crn_transform *transform,
                         crn_error *error);

/* Returns a copy with all transforms applied in order. Blocks keep their numbers. */
crn_profile *crn_profile_transform(const crn_profile *profile, const crn_transform *transforms,
                                   size_t count);

/* Returns a copy in which all blocks but those in `kept` (by block) are merged into their callers.
 * Blocks keep their numbers. */
crn_profile *crn_profile_keep_blocks(const crn_profile *profile, const uint8_t *kept);

#endif
