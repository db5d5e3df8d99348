/* SPDX-License-Identifier: MIT
 *
 * texts.h - SQL derived from a user's text, with the position of each byte in that text.
 */
#ifndef CRN_QUERY_TEXTS_H
#define CRN_QUERY_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct crn_texts {
    char *sql;
    uint32_t *from; /* by byte of `sql` and for its end: position in the original text */
    size_t size, room;
} crn_texts;

/* Returns the first statement of `sql` with its semicolon, cut to `most` + 1 bytes. Makes
 * double-quoted words texts if they are the right side of a comparison or an item of an IN list. In
 * SQL such a word is a column if that exists, otherwise a text; as attributes are columns, its
 * meaning would depend on the capture. Names that are qualified ("s"."name"), called or part of a
 * calculation stay names. Free it with crn_texts_free. */
crn_texts crn_texts_make(const char *sql, size_t most);
void crn_texts_free(crn_texts *texts);

/* ---- composing, from a zeroed crn_texts ---- */

/* Adds a byte. A 0 byte ends the SQL and does not count in `size`. */
void crn_texts_put(crn_texts *texts, char byte, size_t from);
/* Adds SQL with the position `from`. */
void crn_texts_insert(crn_texts *texts, const char *sql, size_t from);
/* Adds `size` bytes of the original `text` from `from` on. */
void crn_texts_copy(crn_texts *texts, const char *text, size_t from, size_t size);
/* Adds a quoted word of the original text as an SQL text; `size` includes its quotes. */
void crn_texts_quote(crn_texts *texts, const char *text, size_t from, size_t size);
/* Ends the SQL with a 0 byte; `from` is the position of the end. */
void crn_texts_end(crn_texts *texts, size_t from);

/* Sets an error with the line and column of position `at` in `text`, and the text there. Returns
 * false. */
bool crn_texts_fail(crn_error *error, const char *text, size_t at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
