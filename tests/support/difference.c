/* SPDX-License-Identifier: MIT */
#include "support/difference.h"

#include <stdarg.h>
#include <stdio.h>

void difference_set(difference *found, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(found->text, sizeof(found->text), format, arguments);
    va_end(arguments);
}
