/* SPDX-License-Identifier: MIT
 *
 * query.h - prints the results of `cairn query`.
 */
#ifndef CRN_CLI_QUERY_QUERY_H
#define CRN_CLI_QUERY_QUERY_H

#include <stdio.h>

#include "query/query.h"

typedef enum crn_query_form {
    CRN_QUERY_TABLE,
    CRN_QUERY_CSV,  /* RFC 4180, but with "\n" at line ends */
    CRN_QUERY_JSON, /* docs/REPORT_JSON.md */
    CRN_QUERY_FORMS
} crn_query_form;

/* Prints all rows. On an error returns false; earlier rows are already printed. */
bool crn_query_print(FILE *out, crn_statement *statement, crn_query_form form,
                     const char *const *paths, uint32_t path_count, crn_error *error);

/* Prints at most `most` rows as JSON; a member "more" says that there are more. */
bool crn_query_print_json(FILE *out, crn_statement *statement, const char *const *paths,
                          uint32_t path_count, uint32_t most, crn_error *error);

/* Returns a value as tables and CSV show it: for NULL the text `null`, for a blob x'0A'. Free it
 * with crn_free. */
char *crn_query_value_text(crn_value value, const char *null);

#endif
