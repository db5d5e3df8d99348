/* SPDX-License-Identifier: MIT
 *
 * interning.h - stores each distinct string once, at a stable address.
 */
#ifndef CRN_BASE_INTERNING_H
#define CRN_BASE_INTERNING_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct crn_interning crn_interning;

crn_interning *crn_interning_new(void);
void crn_interning_free(crn_interning *interning);

/* Returns the only copy of the `length` bytes at `text`, NUL-terminated. Equal strings have equal
 * pointers, valid until the interning is freed. */
const char *crn_intern(crn_interning *interning, const char *text, size_t length);

/* Same, for a NUL-terminated text. */
static inline const char *crn_intern_text(crn_interning *interning, const char *text)
{
    return crn_intern(interning, text, strlen(text));
}

/* Returns the number of a string, which it interns if needed. Numbers count up from 0. */
uint32_t crn_intern_number(crn_interning *interning, const char *text, size_t length);

#endif
