/* SPDX-License-Identifier: MIT */
#include "fleet/sql.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

static void reserve(crn_sql *sql, size_t more)
{
    if (sql->room - sql->length > more)
        return;
    sql->room = (sql->length + more + 1) * 2;
    sql->text = crn_realloc(sql->text, sql->room, 1);
}

void crn_sql_add(crn_sql *sql, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    reserve(sql, (size_t)length);
    vsnprintf(sql->text + sql->length, sql->room - sql->length, format, again);
    va_end(again);
    sql->length += (size_t)length;
}

static void add_hex(crn_sql *sql, const void *bytes, size_t size)
{
    crn_sql_add(sql, "unhex('");
    for (size_t i = 0; i < size; i++)
        crn_sql_add(sql, "%02x", ((const uint8_t *)bytes)[i]);
    crn_sql_add(sql, "')");
}

void crn_sql_literal(crn_sql *sql, const char *text)
{
    add_hex(sql, text, strlen(text));
}

void crn_sql_id(crn_sql *sql, const crn_fleet_id *id)
{
    crn_sql_add(sql, "toFixedString(");
    add_hex(sql, id->bytes, sizeof id->bytes);
    crn_sql_add(sql, ", 16)");
}

void crn_sql_free(crn_sql *sql)
{
    crn_free(sql->text);
    *sql = (crn_sql){0};
}
