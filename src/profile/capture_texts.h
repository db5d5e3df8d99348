/* SPDX-License-Identifier: MIT
 *
 * capture_texts.h - interns the strings of a capture by offset, each once. In a hostile file all
 * names can be one string as long as the file: reading it for each name would be quadratic.
 */
#ifndef CRN_PROFILE_CAPTURE_TEXTS_H
#define CRN_PROFILE_CAPTURE_TEXTS_H

#include "base/interning.h"
#include "capture/reader.h"

typedef struct crn_capture_text {
    uint32_t offset;
    const char *text; /* NULL: the entry is free */
} crn_capture_text;

/* Zero it except for the first two members; free it with crn_capture_texts_end. */
typedef struct crn_capture_texts {
    const crn_bytes *strings;
    crn_interning *into;
    uint32_t count, size; /* size: a power of two, or 0 */
    crn_capture_text *known;
} crn_capture_texts;

/* Returns the interned string at an offset (crn_string_at). */
const char *crn_capture_text_at(crn_capture_texts *texts, uint32_t offset);
void crn_capture_texts_end(crn_capture_texts *texts);

#endif
