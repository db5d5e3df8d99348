/* SPDX-License-Identifier: MIT
 *
 * span_source.h - the spans of a capture, for the commands that are about them; and spans in
 * words.
 */
#ifndef CRN_CLI_SPANS_SPAN_SOURCE_H
#define CRN_CLI_SPANS_SPAN_SOURCE_H

#include "spans/spans.h"

typedef struct crn_span_source {
    const char *path;
    crn_profile *profile;
    crn_trace *trace;
    crn_spans *spans;
    uint32_t open; /* spans that have not ended */
} crn_span_source;

/* Loads them while showing progress. False after an error was said, also where there are none:
 * the command ends with CRN_EXIT_BAD. Either way crn_span_source_close frees all of it. */
bool crn_span_source_open(crn_span_source *source, const char *path);
/* The same of several captures, put together as cairn merge does; `path` is the first one's. */
bool crn_span_source_open_all(crn_span_source *source, char *const *paths, size_t count);
void crn_span_source_close(crn_span_source *source);

/* By span, whether it is of a block with this name: blocks that share it are all meant. To be
 * freed with crn_free. NULL after it was said that there is none. */
uint8_t *crn_span_source_named(const crn_span_source *source, const char *name);

/* By span, whether an SQL expression over the columns of `spans` holds (docs/QUERY.md). To be
 * freed with crn_free. NULL after it was said why not, or that there is none. */
uint8_t *crn_span_source_where(const crn_span_source *source, const char *expression);

const crn_block_info *crn_span_source_block(const crn_span_source *source, uint32_t span);

/* What must be known of all that is shown: spans that were dropped, that have not ended, ... */
void crn_span_source_warn(const crn_span_source *source);

/* ---- in words ---- */

/* A line that is put together; what does not fit is left out. */
typedef struct crn_words {
    char text[8192];
    size_t used;
} crn_words;

/* How many ancestors are named, the nearest: captures may be made to be deep. */
enum { CRN_SPANS_ANCESTORS = 100 };

void crn_words_add(crn_words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "convert_image #3" */
void crn_words_span(crn_words *words, const crn_span_source *source, uint32_t span);
/* "  image=foo.jpg  width=640" */
void crn_words_attributes(crn_words *words, const crn_span_source *source, uint32_t span);
/* "main → foo #3 → convert_image", "→*" where it was handed off. */
void crn_words_path(crn_words *words, const crn_span_source *source, uint32_t span);
bool crn_words_has_handoff(const crn_span_source *source, uint32_t span);

#endif
