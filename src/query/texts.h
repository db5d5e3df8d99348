/* SPDX-License-Identifier: MIT
 *
 * texts.h - what is in double quotes beside a comparison, as the text that is meant.
 *
 * To SQL, "render" is a name, and a text only where nothing has that name: which columns there
 * are depends on the attributes of a capture, and with them what a question would mean.
 */
#ifndef CRN_QUERY_TEXTS_H
#define CRN_QUERY_TEXTS_H

#include <stddef.h>
#include <stdint.h>

typedef struct crn_texts {
    char *sql;      /* the first statement, with its semicolon */
    uint32_t *from; /* by byte of it, and of its end: where that is in what was asked */
    size_t size, room;
} crn_texts;

/* The first statement of `sql`, in which a word in double quotes that is the right side of a
 * comparison, or one of those that IN lists, is a text. The others stay names: what is qualified
 * ("s"."name"), called, or calculated with. To be freed with crn_texts_free. Of more than `most`
 * bytes, as many and one. */
crn_texts crn_texts_make(const char *sql, size_t most);
void crn_texts_free(crn_texts *texts);

#endif
