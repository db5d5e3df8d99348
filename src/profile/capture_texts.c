/* SPDX-License-Identifier: MIT */
#include "profile/capture_texts.h"

#include <string.h>

#include "base/memory.h"

/* Returns the table entry of an offset, or the free entry for it. */
static crn_capture_text *place_of(const crn_capture_texts *texts, uint32_t offset)
{
    uint32_t at = offset * 0x9e3779b1u;
    for (at ^= at >> 16;; at++) {
        crn_capture_text *place = &texts->known[at & (texts->size - 1)];
        if (!place->text || place->offset == offset)
            return place;
    }
}

static void grow(crn_capture_texts *texts)
{
    crn_capture_text *before = texts->known;
    uint32_t size = texts->size;
    texts->size = size ? size * 2 : 64;
    texts->known = crn_calloc(texts->size, sizeof *texts->known);
    for (uint32_t i = 0; i < size; i++)
        if (before[i].text)
            *place_of(texts, before[i].offset) = before[i];
    crn_free(before);
}

const char *crn_capture_text_at(crn_capture_texts *texts, uint32_t offset)
{
    if (texts->count >= texts->size / 4 * 3)
        grow(texts);
    crn_capture_text *place = place_of(texts, offset);
    if (!place->text) {
        const char *text = crn_string_at(texts->strings, offset);
        *place = (crn_capture_text){offset, crn_intern_text(texts->into, text)};
        texts->count++;
    }
    return place->text;
}

void crn_capture_texts_end(crn_capture_texts *texts)
{
    crn_free(texts->known);
    texts->known = NULL;
}
