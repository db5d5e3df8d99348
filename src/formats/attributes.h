/* SPDX-License-Identifier: MIT
 *
 * attributes.h - what a span's attributes are called where no two may have one name: a key that
 * is given twice has both values, and objects of JSON have a name once.
 */
#ifndef CRN_FORMATS_ATTRIBUTES_H
#define CRN_FORMATS_ATTRIBUTES_H

#include <stdio.h>

#include "formats/timeline.h"

typedef struct crn_attribute_names {
    const crn_trace *trace; /* not owned */
    uint32_t *same;         /* by key: the first key of that name, key_count of a reserved name */
    uint32_t *span, *uses;  /* by that: for which span it is counted, how often it came */
    char **quoted;          /* by key: as a string of JSON */
} crn_attribute_names;

/* `reserved`: names that each span may have anyway; NULL at the end. */
void crn_attribute_names_open(crn_attribute_names *names, const crn_trace *trace,
                              const char *const *reserved);
void crn_attribute_names_close(crn_attribute_names *names);

/* Writes the attribute's name as a string of JSON: "width", the second time "width (2)". */
void crn_attribute_names_put(crn_attribute_names *names, const crn_attribute *attribute, FILE *out);

/* A number that may be none: JSON has no infinities; they are strings, as in protocol buffers. */
void crn_attribute_put_number(double number, FILE *out);

#endif
