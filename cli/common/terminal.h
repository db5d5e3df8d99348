/* SPDX-License-Identifier: MIT
 *
 * terminal.h - prints text safely and within the terminal's width.
 *
 * On a terminal, lines are cut to its width and colours are used (unless NO_COLOR is set).
 * Elsewhere nothing is cut, so that searches find everything. Arrows and lines are UTF-8 unless
 * the locale says otherwise.
 */
#ifndef CRN_CLI_COMMON_TERMINAL_H
#define CRN_CLI_COMMON_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct crn_glyphs {
    const char *branch, *last, *bar, *gap, *only; /* of a tree; 3 columns wide, `only` 2 */
    const char *cycle, *arrow, *ellipsis;
    const char *to;        /* between the ends of an interval */
    const char *levels[9]; /* bars, from empty to full */
} crn_glyphs;

typedef struct crn_terminal {
    size_t width; /* columns, at least 60; 0: lines are not cut */
    bool colour;
    bool interactive; /* stdout or stderr is a terminal */
    const crn_glyphs *glyphs;
} crn_terminal;

/* Returns the terminal's properties. The first call sets LC_CTYPE. */
const crn_terminal *crn_terminal_get(void);

typedef enum crn_style {
    CRN_STYLE_PLAIN,
    CRN_STYLE_TITLE,
    CRN_STYLE_DIM,
    CRN_STYLE_HOT,
    CRN_STYLE_WARM
} crn_style;

/* Prints a style's escape sequence if colours are in use. */
void crn_terminal_style(FILE *out, crn_style style);

/* Returns the number of columns that crn_terminal_text uses for the text. */
size_t crn_terminal_width(const char *text);

/* Prints untrusted text: '?' for unsafe characters (base/text.h), U+FFFD for invalid UTF-8. Cuts it
 * to `limit` columns (0: all), with an ellipsis at the end, or at the begin if `keep_end`. Returns
 * the number of columns used. */
size_t crn_terminal_text(FILE *out, const char *text, size_t limit, bool keep_end);

/* Writes the same text to `to`, which has `size` (at least 1) bytes. */
size_t crn_terminal_fit(char *to, size_t size, const char *text, size_t limit, bool keep_end);

/* Formats like printf and prints the result as crn_terminal_text does. Only a newline at the end of
 * the format is kept. */
void crn_terminal_format(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints untrusted text, wrapped between words at the terminal's width, and a newline. */
void crn_terminal_wrapped(FILE *out, const char *text);

#endif
