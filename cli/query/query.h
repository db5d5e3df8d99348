/* SPDX-License-Identifier: MIT
 *
 * query.h - `cairn query`: how answers are printed.
 */
#ifndef CRN_CLI_QUERY_QUERY_H
#define CRN_CLI_QUERY_QUERY_H

#include <stdio.h>

#include "query/query.h"

typedef enum crn_query_form {
    CRN_QUERY_TABLE,
    CRN_QUERY_CSV,  /* RFC 4180, but that lines end as they do here */
    CRN_QUERY_JSON, /* docs/REPORT_JSON.md */
    CRN_QUERY_FORMS
} crn_query_form;

/* Prints all rows. False with an error: what was there until then is printed. */
bool crn_query_print(FILE *out, crn_statement *statement, crn_query_form form,
                     const char *const *paths, uint32_t path_count, crn_error *error);

/* A value as it is in tables and CSV: NULL is `null`, a blob x'0A'. To be freed with crn_free. */
char *crn_query_value_text(crn_value value, const char *null);

#endif
