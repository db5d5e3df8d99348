/* SPDX-License-Identifier: MIT
 *
 * freeze.h - makes profiles from the records of a capture or a builder.
 */
#ifndef CRN_PROFILE_FREEZE_H
#define CRN_PROFILE_FREEZE_H

#include <stdarg.h>

#include "graph/records.h"
#include "profile/model.h"

/* Returns a profile with the root block and the fixed metrics, without contexts and notes. */
crn_profile *crn_profile_new(void);

/* Appends a block and interns its strings. Returns its number. */
uint32_t crn_profile_put_block(crn_profile *profile, const crn_block_info *info);

/* Does the same with strings already interned in profile->names. */
uint32_t crn_profile_put_named(crn_profile *profile, const crn_block_info *info);

/* Returns the metric `name`; appends it if missing. Returns CRN_METRIC_MAX if the profile is
 * full. */
uint32_t crn_profile_put_metric(crn_profile *profile, const char *name, const char *unit);

/* Sets the value of the note `key`. */
void crn_profile_put_note(crn_profile *profile, const char *key, const char *value);

/* Does the same with strings already interned in profile->names. */
void crn_profile_put_known_note(crn_profile *profile, const char *key, const char *value);

/* Add a warning, printf-like. */
void crn_warn(crn_profile *profile, const char *format, ...) __attribute__((format(printf, 2, 3)));
void crn_warn_of(crn_profile *profile, const char *format, va_list arguments);

/* Makes contexts, edges, calls, ticks and wall from records. A block that the profile lacks becomes
 * "[unknown]"; CAIRN_BLOCK_FOLDED becomes "[folded]". `wall_scale` is nanoseconds per unit of
 * wall. */
void crn_profile_put_records(crn_profile *profile, const crn_records *records, double wall_scale);

/* Steps of crn_profile_put_records, to call in this order. A large capture is then not in memory
 * twice: the links may be freed after _wall, the hot records after _counts. No step reads
 * records->contexts. */
void crn_profile_put_paths(crn_profile *profile, const crn_records *records);
void crn_profile_put_wall(crn_profile *profile, const crn_records *records, double wall_scale);
void crn_profile_put_counts(crn_profile *profile, const crn_records *records);
void crn_profile_put_previous(crn_profile *profile);

/* Takes ownership of a column of `context_count` values. Frees it if all are 0, except for
 * calls. */
void crn_profile_put_column(crn_profile *profile, uint32_t metric, uint64_t *values);

#endif
