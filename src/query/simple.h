/* SPDX-License-Identifier: MIT
 *
 * simple.h - virtual tables with numbered rows: all tables except `spans`.
 */
#ifndef CRN_QUERY_SIMPLE_H
#define CRN_QUERY_SIMPLE_H

#include <string.h>

#include "query/captures.h"

typedef struct crn_simple_table {
    const char *name;
    const char *columns; /* the columns in CREATE TABLE */
    /* Returns a cell. `text` has CAIRN_TEXT_MAX + 1 bytes for a text that is made for it. */
    crn_value (*value)(crn_query *query, uint64_t row, int column, char *text);
    size_t ids;                          /* CRN_IDS: there is a row for each such id */
    uint64_t (*count)(crn_query *query); /* NULL, or the number of rows in place of `ids` */
} crn_simple_table;

#define CRN_IDS(what) offsetof(crn_query_capture, what)

/* Each list ends with an entry whose name is NULL. */
extern const crn_simple_table crn_profile_tables[], crn_trace_tables[];

static inline crn_value crn_integer(int64_t integer)
{
    return (crn_value){.kind = CRN_VALUE_INTEGER, .integer = integer};
}

static inline crn_value crn_text(const char *text)
{
    return (crn_value){.kind = CRN_VALUE_TEXT, .text = text, .size = strlen(text)};
}

/* Returns the entry after the last capture, whose first ids are the ends of all ids. */
static inline const crn_query_capture *crn_query_end(const crn_query *query)
{
    return &query->captures[query->count];
}

static inline crn_value crn_capture_number(const crn_query *query, const crn_query_capture *capture)
{
    return crn_integer(capture - query->captures);
}

/* Returns the id first + number; NULL if `number` is UINT32_MAX. */
static inline crn_value crn_id_or_null(uint32_t first, uint32_t number)
{
    return number == UINT32_MAX ? (crn_value){0} : crn_integer((int64_t)first + number);
}

/* Returns a figure as an integer of SQL; INT64_MAX if it is larger. */
static inline crn_value crn_figure_value(uint64_t value)
{
    return crn_integer(value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

#endif
