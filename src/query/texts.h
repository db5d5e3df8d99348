/* SPDX-License-Identifier: MIT
 *
 * texts.h - SQL that is derived from what a user wrote, with the positions of the original.
 */
#ifndef CRN_QUERY_TEXTS_H
#define CRN_QUERY_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct crn_texts {
    char *sql;
    uint32_t *from; /* by byte of `sql`, and its end: position in the original text */
    size_t size, room;
} crn_texts;

/* Returns the first statement of `sql`, with its semicolon. Double-quoted words become texts where
 * they are the right side of a comparison or an item of an IN list: in SQL "render" is a name, and
 * a text only if no such name exists; which columns exist depends on the attributes in a capture,
 * and so would the meaning of a query. Names that are qualified ("s"."name"), called or calculated
 * with stay names. Free it with crn_texts_free. A statement longer than `most` bytes is cut to
 * `most` + 1. */
crn_texts crn_texts_make(const char *sql, size_t most);
void crn_texts_free(crn_texts *texts);

/* ---- composing: a zeroed crn_texts grows with each call ---- */

void crn_texts_put(crn_texts *texts, char byte, size_t from);
/* Adds SQL that stands for the original text at `from`. */
void crn_texts_insert(crn_texts *texts, const char *sql, size_t from);
/* Adds `size` bytes of the original text. */
void crn_texts_copy(crn_texts *texts, const char *text, size_t from, size_t size);
/* Adds a quoted word of the original text, with its quotes, as a text of SQL. */
void crn_texts_quote(crn_texts *texts, const char *text, size_t from, size_t size);
void crn_texts_end(crn_texts *texts, size_t from);

/* Sets an error with line and column of position `at` in `text`, and what is there. Returns
 * false. */
bool crn_texts_fail(crn_error *error, const char *text, size_t at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
