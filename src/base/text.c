/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <string.h>

#include "base/memory.h"

static size_t sequence_length(const unsigned char *bytes)
{
    unsigned char first = bytes[0], low = 0x80, high = 0xbf;
    size_t length;
    if (first < 0x80)
        return 1;
    if (first >= 0xc2 && first <= 0xdf) {
        length = 2;
    } else if (first >= 0xe0 && first <= 0xef) {
        length = 3;
        if (first == 0xe0)
            low = 0xa0;
        else if (first == 0xed)
            high = 0x9f;
    } else if (first >= 0xf0 && first <= 0xf4) {
        length = 4;
        if (first == 0xf0)
            low = 0x90;
        else if (first == 0xf4)
            high = 0x8f;
    } else {
        return 0;
    }
    /* A NUL byte fails the test, so nothing behind the end of the text is read. */
    if (bytes[1] < low || bytes[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if (bytes[i] < 0x80 || bytes[i] > 0xbf)
            return 0;
    return length;
}

size_t crn_text_decode(const char *text, uint32_t *character)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t length = sequence_length(bytes);
    static const unsigned char first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    *character = bytes[0] & first_bits[length];
    for (size_t i = 1; i < length; i++)
        *character = *character << 6 | (bytes[i] & 0x3f);
    return length;
}

bool crn_text_is_unsafe(uint32_t character)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0, 0x1f},          {0x7f, 0x9f},     /* controls */
        {0xad, 0xad},                         /* soft hyphen */
        {0x61c, 0x61c},                       /* Arabic letter mark */
        {0x180e, 0x180e},                     /* Mongolian vowel separator */
        {0x200b, 0x200f},                     /* zero-width characters, marks of direction */
        {0x2028, 0x202e},                     /* separators, embeddings, overrides */
        {0x2060, 0x206f},                     /* word joiner, isolates, deprecated controls */
        {0xfeff, 0xfeff},   {0xfff9, 0xfffb}, /* byte order mark, annotations */
        {0xe0000, 0xe007f},                   /* tags */
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (character >= ranges[i].first && character <= ranges[i].last)
            return true;
    return false;
}

char *crn_text_copy(const char *text, bool safe)
{
    char *result = crn_calloc(strlen(text) * 3 + 1, 1), *to = result;
    while (*text) {
        uint32_t character;
        size_t length = crn_text_decode(text, &character);
        if (!length)
            to = stpcpy(to, "\xef\xbf\xbd");
        else if (safe && crn_text_is_unsafe(character))
            *to++ = '?';
        else
            to = mempcpy(to, text, length);
        text += length ? length : 1;
    }
    return result;
}

void crn_text_make_safe(char *text)
{
    char *to = text;
    while (*text) {
        uint32_t character;
        size_t length = crn_text_decode(text, &character);
        if (!length || crn_text_is_unsafe(character)) {
            *to++ = '?';
        } else {
            memmove(to, text, length);
            to += length;
        }
        text += length ? length : 1;
    }
    *to = 0;
}
