/* SPDX-License-Identifier: MIT
 *
 * attributes.h - unique names for a span's attributes, for formats in which names must not repeat.
 * A span that has a key twice keeps both values.
 */
#ifndef CRN_FORMATS_ATTRIBUTES_H
#define CRN_FORMATS_ATTRIBUTES_H

#include <stdio.h>

#include "formats/timeline.h"

typedef struct crn_attribute_names {
    const crn_trace *trace; /* not owned */
    uint32_t *same; /* by key: the first key of equal name; key_count if the name is reserved */
    uint32_t *span, *uses; /* by first key: the last span that used it, and its uses in that span */
    char **quoted;         /* by key: its name as a JSON string */
} crn_attribute_names;

/* `reserved`: names of the format's own attributes, NULL-terminated. */
void crn_attribute_names_open(crn_attribute_names *names, const crn_trace *trace,
                              const char *const *reserved);
void crn_attribute_names_close(crn_attribute_names *names);

/* Writes the attribute's name as a JSON string: "width"; "width (2)" at its second use in a
 * span. */
void crn_attribute_names_put(crn_attribute_names *names, const crn_attribute *attribute, FILE *out);

/* Writes a number. Infinities and NaN, which JSON lacks, become strings as in the JSON of protocol
 * buffers. */
void crn_attribute_put_number(double number, FILE *out);

#endif
