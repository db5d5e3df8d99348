/* SPDX-License-Identifier: MIT
 *
 * span_source.h - loads the spans of captures for all commands about spans, and describes spans in
 * words.
 */
#ifndef CRN_CLI_SPANS_SPAN_SOURCE_H
#define CRN_CLI_SPANS_SPAN_SOURCE_H

#include <stdio.h>

#include "spans/spans.h"

typedef struct crn_span_source {
    const char *path;
    crn_profile *profile;
    crn_trace *trace;
    crn_spans *spans;
    uint32_t open; /* number of open spans */
} crn_span_source;

/* Loads spans while showing progress. On an error, or without spans, prints a message and returns
 * false: the command ends with CRN_EXIT_BAD. In any case free all with crn_span_source_close. */
bool crn_span_source_open(crn_span_source *source, const char *path);
/* Does the same for several captures, merged; source->path is the first. */
bool crn_span_source_open_all(crn_span_source *source, char *const *paths, size_t count);
/* Does the same, and merges in the samples beside each capture: beside x.cairn, x.sampled.cairn, if
 * that can be read. */
bool crn_span_source_open_sampled(crn_span_source *source, char *const *paths, size_t count);
void crn_span_source_close(crn_span_source *source);

/* Returns, by span, 1 if its block has this name, which several blocks may have. Free it with
 * crn_free. If no span has it, prints a message and returns NULL. */
uint8_t *crn_span_source_named(const crn_span_source *source, const char *name);

/* Returns, by span, 1 if an SQL expression over the columns of `spans` is true (docs/QUERY.md).
 * Free it with crn_free. On an error, or if no span satisfies it, prints a message and returns
 * NULL. */
uint8_t *crn_span_source_where(const crn_span_source *source, const char *expression);

const crn_block_info *crn_span_source_block(const crn_span_source *source, uint32_t span);

/* Prints warnings about missing data: dropped spans, open spans, ... */
void crn_span_source_warn(FILE *out, const crn_span_source *source);

/* ---- in words ---- */

/* A line being composed; text beyond its size is cut. */
typedef struct crn_words {
    char text[8192];
    size_t used;
} crn_words;

/* Limit on ancestors in a path: hostile captures can be very deep. */
enum { CRN_SPANS_ANCESTORS = 100 };

void crn_words_add(crn_words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends "convert_image #3". */
void crn_words_span(crn_words *words, const crn_span_source *source, uint32_t span);
/* Appends "  image=foo.jpg  width=640". */
void crn_words_attributes(crn_words *words, const crn_span_source *source, uint32_t span);
/* Appends "main → foo #3 → convert_image"; "→*" stands for a hand-off. */
void crn_words_path(crn_words *words, const crn_span_source *source, uint32_t span);
/* Returns true if the span, or an ancestor on its path, was handed off. */
bool crn_words_has_handoff(const crn_span_source *source, uint32_t span);

#endif
