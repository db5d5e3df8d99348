/* SPDX-License-Identifier: MIT
 *
 * texts.h - treats double-quoted words next to comparisons as texts.
 *
 * In SQL "render" is a name, and a text only if no such name exists. Which columns exist depends
 * on the attributes in a capture; without this, so would the meaning of a query.
 */
#ifndef CRN_QUERY_TEXTS_H
#define CRN_QUERY_TEXTS_H

#include <stddef.h>
#include <stdint.h>

typedef struct crn_texts {
    char *sql;      /* the first statement, with its semicolon */
    uint32_t *from; /* by byte of `sql`, and its end: position in the original text */
    size_t size, room;
} crn_texts;

/* Returns the first statement of `sql` with double-quoted words as texts where they are the right
 * side of a comparison or an item of an IN list. Names that are qualified ("s"."name"), called or
 * calculated with stay names. Free it with crn_texts_free. A statement longer than `most` bytes is
 * cut to `most` + 1. */
crn_texts crn_texts_make(const char *sql, size_t most);
void crn_texts_free(crn_texts *texts);

#endif
