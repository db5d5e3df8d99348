/* SPDX-License-Identifier: MIT
 *
 * text.h - makes foreign text, such as names in a capture, safe to print.
 */
#ifndef CRN_BASE_TEXT_H
#define CRN_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the length of the UTF-8 sequence at `text` and sets `*character`. Returns 0 if it is
 * invalid (Unicode, table 3-7). Reads nothing behind a NUL byte. */
size_t crn_text_decode(const char *text, uint32_t *character);

/* Returns true if a character can control a terminal, or make a text look like another text: C0 and
 * C1 controls, DEL, marks, overrides and isolates of writing direction, zero-width and other
 * invisible characters, line separators. */
bool crn_text_is_unsafe(uint32_t character);

/* Returns a copy in valid UTF-8, with U+FFFD for each invalid byte and, if `safe`, '?' for each
 * unsafe character. Free it with crn_free. */
char *crn_text_copy(const char *text, bool safe);

/* Replaces unsafe characters and invalid bytes by '?', in place. */
void crn_text_make_safe(char *text);

#endif
