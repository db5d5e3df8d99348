/* SPDX-License-Identifier: MIT */
#include "formats/attributes.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "formats/names.h"

void crn_attribute_names_open(crn_attribute_names *names, const crn_trace *trace,
                              const char *const *reserved)
{
    size_t room = (size_t)trace->key_count + 1;
    *names = (crn_attribute_names){.trace = trace};
    names->same = crn_calloc(room, sizeof *names->same);
    names->span = crn_calloc(room, sizeof *names->span);
    names->uses = crn_calloc(room, sizeof *names->uses);
    names->quoted = crn_calloc(room, sizeof *names->quoted);
    for (size_t k = 0; k < room; k++)
        names->span[k] = CRN_SPAN_NONE;
    crn_interning *numbers = crn_interning_new();
    uint32_t *first = crn_calloc(room, sizeof *first); /* by interned number: the first key + 1 */
    uint32_t reserved_count = 0;
    for (; reserved[reserved_count]; reserved_count++)
        crn_intern_number(numbers, reserved[reserved_count], strlen(reserved[reserved_count]));
    for (uint32_t k = 0; k < trace->key_count; k++) {
        uint32_t number = crn_intern_number(numbers, trace->keys[k], strlen(trace->keys[k]));
        names->quoted[k] = crn_names_json(trace->keys[k]);
        if (number < reserved_count) {
            names->same[k] = trace->key_count;
        } else {
            uint32_t *its = &first[number - reserved_count];
            *its = *its ? *its : k + 1;
            names->same[k] = *its - 1;
        }
    }
    crn_free(first);
    crn_interning_free(numbers);
}

void crn_attribute_names_close(crn_attribute_names *names)
{
    for (uint32_t k = 0; k < names->trace->key_count; k++)
        crn_free(names->quoted[k]);
    crn_free(names->quoted);
    crn_free(names->same);
    crn_free(names->span);
    crn_free(names->uses);
    *names = (crn_attribute_names){0};
}

void crn_attribute_names_put(crn_attribute_names *names, const crn_attribute *attribute, FILE *out)
{
    uint32_t key = attribute->key, same = names->same[key];
    if (names->span[same] != attribute->span) {
        names->span[same] = attribute->span;
        names->uses[same] = same == names->trace->key_count; /* starts at 1 for reserved names,
                                                                which are in use already */
    }
    uint32_t use = ++names->uses[same];
    if (use == 1)
        fputs(names->quoted[key], out);
    else
        fprintf(out, "%.*s (%u)\"", (int)strlen(names->quoted[key]) - 1, names->quoted[key], use);
}

void crn_attribute_put_number(double number, FILE *out)
{
    if (isnan(number)) {
        fputs("\"NaN\"", out);
    } else if (isinf(number)) {
        fputs(number < 0 ? "\"-Infinity\"" : "\"Infinity\"", out);
    } else {
        json_t *json = json_real(number);
        json_dumpf(json, out, JSON_ENCODE_ANY);
        json_decref(json);
    }
}
