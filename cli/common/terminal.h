/* SPDX-License-Identifier: MIT
 *
 * terminal.h - text that is safe and fits, wherever stdout goes.
 *
 * On a terminal lines are cut to its width and there is colour (unless NO_COLOR is set);
 * elsewhere nothing is cut, so that what is searched for is found. Arrows and lines are
 * UTF-8 unless the locale is set to something else.
 */
#ifndef CRN_CLI_COMMON_TERMINAL_H
#define CRN_CLI_COMMON_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

typedef struct crn_glyphs {
    const char *branch, *last, *bar, *gap, *only; /* of a tree: 3 columns, but `only` 2 */
    const char *cycle, *arrow, *ellipsis;
    const char *to;        /* between the ends of an interval */
    const char *levels[9]; /* of a bar, from none to full */
} crn_glyphs;

typedef struct crn_terminal {
    size_t width; /* columns; 0: do not cut */
    bool colour;
    const crn_glyphs *glyphs;
} crn_terminal;

/* Looked at once; sets the locale's character type. */
const crn_terminal *crn_terminal_get(void);

typedef enum crn_style {
    CRN_STYLE_PLAIN,
    CRN_STYLE_TITLE,
    CRN_STYLE_DIM,
    CRN_STYLE_HOT,
    CRN_STYLE_WARM
} crn_style;

/* Prints the escape sequence of a style, if there is colour. */
void crn_terminal_style(crn_style style);

/* How many columns the text takes when printed by crn_terminal_text. */
size_t crn_terminal_width(const char *text);

/* Prints text that came from a capture: control characters become '?', what is not UTF-8
 * U+FFFD. It is cut at `limit` columns (0: not), its end replaced by an ellipsis, or its
 * beginning where `keep_end`. Returns the columns printed. */
size_t crn_terminal_text(const char *text, size_t limit, bool keep_end);

/* The same into `to`, which has room for `size` (at least 1) bytes. */
size_t crn_terminal_fit(char *to, size_t size, const char *text, size_t limit, bool keep_end);

/* Prints such text as lines that are broken between words where the terminal ends, and a newline.
 */
void crn_terminal_wrapped(const char *text);

#endif
