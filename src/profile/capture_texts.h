/* SPDX-License-Identifier: MIT
 *
 * capture_texts.h - the strings of a capture that are named by their offsets, each gone through
 * once: in a file that was made to, all names are the same one, as long as the file.
 */
#ifndef CRN_PROFILE_CAPTURE_TEXTS_H
#define CRN_PROFILE_CAPTURE_TEXTS_H

#include "base/interning.h"
#include "capture/reader.h"

typedef struct crn_capture_text {
    uint32_t offset;
    const char *text; /* NULL: the place is free */
} crn_capture_text;

/* To be zeroed, but for the first two, and freed with crn_capture_texts_end. */
typedef struct crn_capture_texts {
    const crn_bytes *strings;
    crn_interning *into;
    uint32_t count, size; /* size: a power of two, or 0 */
    crn_capture_text *known;
} crn_capture_texts;

/* The string at an offset as crn_string_at has it, interned. */
const char *crn_capture_text_at(crn_capture_texts *texts, uint32_t offset);
void crn_capture_texts_end(crn_capture_texts *texts);

#endif
