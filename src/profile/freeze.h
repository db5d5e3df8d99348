/* SPDX-License-Identifier: MIT
 *
 * freeze.h - how profiles are made: from a capture's records, or from a builder's.
 */
#ifndef CRN_PROFILE_FREEZE_H
#define CRN_PROFILE_FREEZE_H

#include "graph/records.h"
#include "profile/model.h"

/* A profile without blocks, contexts, notes; "calls", "ticks" and "wall" are defined. */
crn_profile *crn_profile_new(void);

/* Appends a block; strings are interned. Block 0, the root, is there from the start. */
uint32_t crn_profile_put_block(crn_profile *profile, const crn_block_info *info);

/* As crn_profile_put_block, where its texts are of the profile's names. */
uint32_t crn_profile_put_named(crn_profile *profile, const crn_block_info *info);

/* Finds or appends a metric. CRN_METRIC_MAX when there are too many. */
uint32_t crn_profile_put_metric(crn_profile *profile, const char *name, const char *unit);

/* Sets the note with this key. */
void crn_profile_put_note(crn_profile *profile, const char *key, const char *value);

/* As crn_profile_put_note, where both are of the profile's names. */
void crn_profile_put_known_note(crn_profile *profile, const char *key, const char *value);

/* Adds a warning; takes ownership of `text`. */
void crn_profile_put_warning(crn_profile *profile, char *text);

/* Makes contexts, edges and the first three metrics from the records. Blocks that are not
 * in the profile's table become "[unknown]", CAIRN_BLOCK_FOLDED "[folded]". Wall is
 * multiplied by `wall_scale` (nanoseconds per unit). */
void crn_profile_put_records(crn_profile *profile, const crn_records *records, double wall_scale);

/* The same in steps, one after the other, so that a large capture need not be in memory twice:
 * paths and edges; wall, after which the links may be freed; calls and ticks, after which the hot
 * records may; and what paths say about each other. None of them reads records->contexts. */
void crn_profile_put_paths(crn_profile *profile, const crn_records *records);
void crn_profile_put_wall(crn_profile *profile, const crn_records *records, double wall_scale);
void crn_profile_put_counts(crn_profile *profile, const crn_records *records);
void crn_profile_put_previous(crn_profile *profile);

/* Takes over a column of `context_count` values; freed if all are 0. */
void crn_profile_put_column(crn_profile *profile, uint32_t metric, uint64_t *values);

#endif
