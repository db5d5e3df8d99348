/* SPDX-License-Identifier: MIT
 *
 * asking.h - runs SQL queries in one line, on a prepared capture. Errors fail the test.
 */
#ifndef TESTS_SUPPORT_ASKING_H
#define TESTS_SUPPORT_ASKING_H

#include "query/query.h"
#include "spans/spans.h"
#include "support/random_trace.h"

crn_query *open_query(const crn_query_file *files, uint32_t count);
crn_statement *ask(crn_query *query, const char *sql);
bool next_row(crn_statement *statement);

/* Return a column of the row, which must have this type. */
int64_t integer_at(crn_statement *statement, uint32_t column);
const char *text_at(crn_statement *statement, uint32_t column);
bool is_null(crn_statement *statement, uint32_t column);

/* Returns the only value of the answer, an integer; -1 for NULL. */
int64_t number_of(crn_query *query, const char *sql);
/* Returns the whole answer as text. Free it. */
char *answer_of(crn_query *query, const char *sql);
void assert_same_answers(crn_query *query, const char *left, const char *right);

/* A profile with awkward names, and spans for it. */
typedef struct asked {
    crn_profile *profile;
    crn_trace *trace;
    crn_spans *spans;
    crn_query_file file;
} asked;

/* Makes at most `spans` spans. */
asked asked_make(random_source *random, uint32_t spans);
void asked_free(asked *asked);

#endif
