/* SPDX-License-Identifier: MIT */
#include "json.h"

#include <cairn/host.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "formats/names.h"
#include "profile/profile.h"

json_t *crn_json_text(const char *text)
{
    char *utf8 = crn_text_copy(text, false);
    json_t *json = json_string(utf8);
    crn_free(utf8);
    return json;
}

json_t *crn_json_number(uint64_t number)
{
    return number <= INT64_MAX ? json_integer((json_int_t)number) : json_real((double)number);
}

void crn_json_set_number(json_t *object, const char *key, uint64_t number)
{
    json_object_set_new(object, key, crn_json_number(number));
}

json_t *crn_json_real(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

/* Writes a part of JSON text. Escapes DEL, which JSON_ENSURE_ASCII leaves. Returns 0: jansson goes
 * on. */
static int put_ascii(const char *bytes, size_t size, void *data)
{
    FILE *out = data;
    for (const char *del; (del = memchr(bytes, 0x7f, size));) {
        fwrite(bytes, 1, (size_t)(del - bytes), out);
        fputs("\\u007f", out);
        size -= (size_t)(del - bytes) + 1;
        bytes = del + 1;
    }
    fwrite(bytes, 1, size, out);
    return 0;
}

void crn_json_write(FILE *out, json_t *json)
{
    json_dump_callback(json, put_ascii, out,
                       JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY |
                           JSON_REAL_PRECISION(15));
    json_decref(json);
}

void crn_json_write_member(FILE *out, const char *key, json_t *value)
{
    fprintf(out, ",\n\"%s\":", key);
    crn_json_write(out, value);
}

void crn_json_write_element(FILE *out, size_t at, json_t *value)
{
    fputs(at ? ",\n" : "\n", out);
    crn_json_write(out, value);
}

json_t *crn_json_block(const crn_profile *profile, uint32_t block)
{
    const crn_block_info *info = &profile->blocks[block];
    json_t *json = json_object();
    json_object_set_new(json, "id", crn_json_number(block));
    json_object_set_new(json, "name", crn_json_text(info->name));
    char *outer = crn_nesting_outer(profile, block);
    if (*outer)
        json_object_set_new(json, "within", crn_json_text(outer));
    crn_free(outer);
    json_object_set_new(json, "file", crn_json_text(info->file));
    json_object_set_new(json, "line", crn_json_number(info->line));
    json_object_set_new(json, "column", crn_json_number(info->column));
    if (info->flags & CAIRN_PRIV_BLOCK_COUNTED)
        json_object_set_new(json, "counted", json_true());
    return json;
}
