/* SPDX-License-Identifier: MIT
 *
 * text_reading.h - what parsers of expressions share: a position, quoted texts and the first error.
 */
#ifndef CRN_PROFILE_TEXT_READING_H
#define CRN_PROFILE_TEXT_READING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

typedef struct crn_text_reading {
    const char *text, *at;
    bool failed;
    crn_error *error;
} crn_text_reading;

/* Records an error at a position; the first one stays. Parsing goes on, without effect. */
void crn_text_fail(crn_text_reading *in, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void crn_text_skip_space(crn_text_reading *in);

/* Parses a quoted text, after spaces. Returns its begin; NULL on an error, which says that `what`
 * was expected. */
const char *crn_text_quoted(crn_text_reading *in, const char *what, size_t *length);

#endif
