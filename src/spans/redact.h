/* SPDX-License-Identifier: MIT
 *
 * redact.h - a profile that can be shown to strangers: the same contexts and figures
 * under other names.
 *
 * Each name becomes "f1", "f2", ... and each file "file1.lua", ..., the same one wherever
 * it recurs. Lines and columns stay, as do "[root]", "[folded]" and the names of metrics.
 * Of the notes only those stay that say how was measured and how long it took; command,
 * labels, paths and whatever a host added are dropped. Warnings, which can quote paths,
 * are dropped and counted.
 *
 * Of spans, the texts of attributes become "text1", ..., keys "key1", ..., names of lanes
 * "lane1", ...; iteration numbers and the numbers that attributes hold are figures, and stay.
 * When and where their processes ran is dropped, and with it what would join the spans to those
 * of captures that are merged later, or to logs: ids, and what asked for them from elsewhere.
 */
#ifndef CRN_SPANS_REDACT_H
#define CRN_SPANS_REDACT_H

#include "spans/trace.h"

/* Which pseudonym stands for what. Carrying one map on to the next capture keeps the
 * names the same, so that redacted captures can be compared. */
typedef struct crn_redact_map crn_redact_map;

crn_redact_map *crn_redact_map_new(void);
void crn_redact_map_free(crn_redact_map *map);

/* Names and files that match this shell pattern (fnmatch) are kept as they are. */
void crn_redact_map_keep(crn_redact_map *map, const char *pattern);

/* Reads and writes the map as lines "pseudonym<TAB>name". To read a file that does not
 * exist is no error: the map stays empty. */
bool crn_redact_map_read(crn_redact_map *map, const char *path, crn_error *error);
bool crn_redact_map_write(const crn_redact_map *map, const char *path, crn_error *error);

/* The redacted profile, a new one. `map` may be NULL: each call begins at f1. */
crn_profile *crn_redact(const crn_profile *profile, crn_redact_map *map);

/* Redacts the spans of `profile`, in place, which are then of `redacted`, the profile that
 * crn_redact made of it with the same map. */
void crn_redact_trace(crn_trace *trace, const crn_profile *profile, const crn_profile *redacted,
                      crn_redact_map *map);

#endif
