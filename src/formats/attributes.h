/* SPDX-License-Identifier: MIT
 *
 * attributes.h - unique names for a span's attributes, for formats in which names must not repeat:
 * a key that is given twice keeps both values.
 */
#ifndef CRN_FORMATS_ATTRIBUTES_H
#define CRN_FORMATS_ATTRIBUTES_H

#include <stdio.h>

#include "formats/timeline.h"

typedef struct crn_attribute_names {
    const crn_trace *trace; /* not owned */
    uint32_t *same;         /* by key: the first key with that name; key_count for a reserved
                               name */
    uint32_t *span, *uses;  /* by that key: the span being counted, and the uses so far */
    char **quoted;          /* by key: its name as a JSON string */
} crn_attribute_names;

/* `reserved`: names that every span may have anyway, NULL-terminated. */
void crn_attribute_names_open(crn_attribute_names *names, const crn_trace *trace,
                              const char *const *reserved);
void crn_attribute_names_close(crn_attribute_names *names);

/* Writes the attribute's name as a JSON string: "width", the second time "width (2)". */
void crn_attribute_names_put(crn_attribute_names *names, const crn_attribute *attribute, FILE *out);

/* Writes a number. Infinities and NaN, which JSON lacks, become strings as in the JSON of protocol
 * buffers. */
void crn_attribute_put_number(double number, FILE *out);

#endif
