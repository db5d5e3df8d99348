/* SPDX-License-Identifier: MIT
 *
 * redact.h - replaces the names in a capture, so that it can be shared. Contexts and figures stay.
 *
 * Block names become "f1", "f2", ... and files "file1.lua", ...; equal names get equal pseudonyms.
 * Lines, columns, "[root]", "[folded]" and the names of metrics stay. Of the notes only those about
 * the measurement stay; command, labels, paths and a host's own notes are dropped. Warnings can
 * quote paths: they are dropped and counted.
 *
 * In spans, texts of attributes become "text1", ..., keys "key1", ..., lane names "lane1", ....
 * Iteration numbers and numeric attributes stay, as they are figures. When and where processes ran,
 * ids and remote parents are dropped, because they could be matched with other captures or with
 * logs.
 */
#ifndef CRN_SPANS_REDACT_H
#define CRN_SPANS_REDACT_H

#include "spans/trace.h"

/* The map from names to pseudonyms. Captures redacted with one map can be compared. */
typedef struct crn_redact_map crn_redact_map;

crn_redact_map *crn_redact_map_new(void);
void crn_redact_map_free(crn_redact_map *map);

/* Lets all names, files, keys and texts that match the shell pattern (fnmatch) stay. */
void crn_redact_map_keep(crn_redact_map *map, const char *pattern);

/* Read and write the map as lines "pseudonym<TAB>name". Reading a file that does not exist succeeds
 * and leaves the map empty. */
bool crn_redact_map_read(crn_redact_map *map, const char *path, crn_error *error);
bool crn_redact_map_write(const crn_redact_map *map, const char *path, crn_error *error);

/* Returns a redacted copy. If `map` is NULL, uses a new map. */
crn_profile *crn_redact(const crn_profile *profile, crn_redact_map *map);

/* Redacts the spans of `profile` in place. Afterwards their blocks are those of `redacted`, which
 * crn_redact made of `profile` with the same map. */
void crn_redact_trace(crn_trace *trace, const crn_profile *profile, const crn_profile *redacted,
                      crn_redact_map *map);

#endif
