/* SPDX-License-Identifier: MIT */
#include "profile/text_reading.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cairn/cairn.h>

void crn_text_fail(crn_text_reading *in, const char *at, const char *format, ...)
{
    if (in->failed)
        return;
    in->failed = true;
    char what[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    crn_error_set(in->error, CAIRN_E_ARGUMENT, "column %zu: %s", (size_t)(at - in->text) + 1, what);
}

void crn_text_skip_space(crn_text_reading *in)
{
    while (isspace((unsigned char)*in->at))
        in->at++;
}

const char *crn_text_quoted(crn_text_reading *in, const char *what, size_t *length)
{
    crn_text_skip_space(in);
    const char *start = in->at;
    bool quoted = *start == '"' || *start == '\'';
    const char *end = quoted ? strchr(start + 1, *start) : NULL;
    if (!end) {
        if (quoted)
            crn_text_fail(in, start, "the quote is not closed");
        else
            crn_text_fail(in, start, "expected %s in quotes", what);
        return NULL;
    }
    in->at = end + 1;
    *length = (size_t)(end - start - 1);
    return start + 1;
}
