/* SPDX-License-Identifier: MIT
 *
 * capture_texts.h - interns each string of a capture once, by its offset. A hostile file can use
 * one string as long as the file for all names: reading it for each name would take quadratic time.
 */
#ifndef CRN_PROFILE_CAPTURE_TEXTS_H
#define CRN_PROFILE_CAPTURE_TEXTS_H

#include "base/interning.h"
#include "capture/reader.h"

typedef struct crn_capture_text {
    uint32_t offset;
    const char *text; /* NULL: the entry is free */
} crn_capture_text;

/* Set the first two members, zero the rest; free it with crn_capture_texts_end. */
typedef struct crn_capture_texts {
    const crn_bytes *strings;
    crn_interning *into;
    uint32_t count, size; /* size: a power of two, or 0 */
    crn_capture_text *known;
} crn_capture_texts;

/* Returns the string at an offset (crn_string_at), interned in `into`. */
const char *crn_capture_text_at(crn_capture_texts *texts, uint32_t offset);
void crn_capture_texts_end(crn_capture_texts *texts);

#endif
