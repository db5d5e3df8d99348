/* SPDX-License-Identifier: MIT
 *
 * interning.h - each distinct string once, with stable addresses.
 */
#ifndef CRN_BASE_INTERNING_H
#define CRN_BASE_INTERNING_H

#include <stddef.h>
#include <stdint.h>

typedef struct crn_interning crn_interning;

crn_interning *crn_interning_new(void);
void crn_interning_free(crn_interning *interning);

/* The one copy of the `length` bytes at `text`, NUL-terminated. Equal strings give equal
 * pointers, valid until the interning is freed. */
const char *crn_intern(crn_interning *interning, const char *text, size_t length);

/* The number of a string, counted from 0 in order of arrival. `text` need not be interned. */
uint32_t crn_intern_number(crn_interning *interning, const char *text, size_t length);

#endif
