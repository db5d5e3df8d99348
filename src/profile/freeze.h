/* SPDX-License-Identifier: MIT
 *
 * freeze.h - makes profiles from the records of a capture or a builder.
 */
#ifndef CRN_PROFILE_FREEZE_H
#define CRN_PROFILE_FREEZE_H

#include "graph/records.h"
#include "profile/model.h"

/* Returns a profile with the root block and the fixed metrics, without contexts and notes. */
crn_profile *crn_profile_new(void);

/* Appends a block and interns its strings. Returns its number. */
uint32_t crn_profile_put_block(crn_profile *profile, const crn_block_info *info);

/* The same for strings that are already interned in the profile's names. */
uint32_t crn_profile_put_named(crn_profile *profile, const crn_block_info *info);

/* Finds or appends a metric. Returns CRN_METRIC_MAX if there are too many. */
uint32_t crn_profile_put_metric(crn_profile *profile, const char *name, const char *unit);

/* Sets the note of this key. */
void crn_profile_put_note(crn_profile *profile, const char *key, const char *value);

/* The same for strings that are already interned in the profile's names. */
void crn_profile_put_known_note(crn_profile *profile, const char *key, const char *value);

/* Adds a warning; takes ownership of `text`. */
void crn_profile_put_warning(crn_profile *profile, char *text);

/* Makes contexts, edges and the first three metrics from records. Blocks that are missing in the
 * profile's table become "[unknown]", CAIRN_BLOCK_FOLDED "[folded]". Wall values are multiplied by
 * `wall_scale` (nanoseconds per unit). */
void crn_profile_put_records(crn_profile *profile, const crn_records *records, double wall_scale);

/* The same in steps, in this order, so that a large capture is not in memory twice: paths and
 * edges; wall (then the links may be freed); calls and ticks (then the hot records may be freed);
 * `previous`. None of them reads records->contexts. */
void crn_profile_put_paths(crn_profile *profile, const crn_records *records);
void crn_profile_put_wall(crn_profile *profile, const crn_records *records, double wall_scale);
void crn_profile_put_counts(crn_profile *profile, const crn_records *records);
void crn_profile_put_previous(crn_profile *profile);

/* Takes ownership of a column of `context_count` values; frees it if all are 0. */
void crn_profile_put_column(crn_profile *profile, uint32_t metric, uint64_t *values);

#endif
