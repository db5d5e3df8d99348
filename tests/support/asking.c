/* SPDX-License-Identifier: MIT */
#include "support/asking.h"

#include <stdlib.h>
#include <string.h>

#include "support/cases.h"

crn_query *open_query(const crn_query_file *files, uint32_t count)
{
    crn_error error = {0};
    crn_query *query = crn_query_open(files, count, &error);
    if (!query)
        print_error("%s\n", error.message);
    assert_non_null(query);
    return query;
}

crn_statement *ask(crn_query *query, const char *sql)
{
    crn_error error;
    const char *rest;
    crn_statement *statement = crn_statement_new(query, sql, &rest, &error);
    if (!statement)
        print_error("%s: %s\n", sql, error.message);
    assert_non_null(statement);
    return statement;
}

bool next_row(crn_statement *statement)
{
    crn_error error;
    int more = crn_statement_step(statement, &error);
    if (more < 0)
        print_error("%s\n", error.message);
    assert_true(more >= 0);
    return more > 0;
}

int64_t integer_at(crn_statement *statement, uint32_t column)
{
    crn_value value = crn_statement_value(statement, column);
    assert_int_equal(value.kind, CRN_VALUE_INTEGER);
    return value.integer;
}

bool is_null(crn_statement *statement, uint32_t column)
{
    return crn_statement_value(statement, column).kind == CRN_VALUE_NULL;
}

const char *text_at(crn_statement *statement, uint32_t column)
{
    crn_value value = crn_statement_value(statement, column);
    assert_int_equal(value.kind, CRN_VALUE_TEXT);
    assert_int_equal(strlen(value.text), value.size);
    return value.text;
}

int64_t number_of(crn_query *query, const char *sql)
{
    crn_statement *statement = ask(query, sql);
    assert_true(next_row(statement));
    int64_t number = is_null(statement, 0) ? -1 : integer_at(statement, 0);
    assert_false(next_row(statement));
    crn_statement_free(statement);
    return number;
}

char *answer_of(crn_query *query, const char *sql)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    crn_statement *statement = ask(query, sql);
    for (; next_row(statement); fputc('\n', out))
        for (uint32_t c = 0; c < crn_statement_columns(statement); c++) {
            crn_value value = crn_statement_value(statement, c);
            if (value.kind == CRN_VALUE_TEXT)
                fprintf(out, "'%s' ", value.text);
            else if (value.kind == CRN_VALUE_NUMBER)
                fprintf(out, "%.17g ", value.number);
            else if (value.kind == CRN_VALUE_INTEGER)
                fprintf(out, "%lld ", (long long)value.integer);
            else
                fputs("NULL ", out);
        }
    crn_statement_free(statement);
    fclose(out);
    return text;
}

void assert_same_answers(crn_query *query, const char *left, const char *right)
{
    char *one = answer_of(query, left), *other = answer_of(query, right);
    if (strcmp(one, other) != 0)
        print_error("%s\n%s\n%s\n%s\n", left, one, right, other);
    assert_string_equal(one, other);
    free(one);
    free(other);
}

/* ---- the capture ---- */

asked asked_make(random_source *random, uint32_t spans)
{
    static const char *const names[RANDOM_BLOCKS] = {"",     "main",    "render", "draw",
                                                     "it's", "ren der", "render"};
    crn_profile_builder *builder = crn_profile_builder_new();
    uint32_t at[RANDOM_BLOCKS];
    for (uint32_t b = 1; b < RANDOM_BLOCKS; b++) {
        crn_block_info info = {.name = names[b], .file = "", .line = b};
        at[b] = crn_profile_builder_block(builder, &info);
        assert_int_equal(at[b], b);
    }
    uint32_t context = crn_profile_builder_root(builder);
    for (int i = 0; i < 200; i++) {
        uint32_t block = 1 + random_below(random, RANDOM_BLOCKS - 1);
        context = random_chance(random, 1, 4)
                      ? crn_profile_builder_root(builder)
                      : crn_profile_builder_child(builder, context, block, 1);
        crn_profile_builder_charge(builder, context, CRN_METRIC_WALL, random_below(random, 100));
    }
    asked made = {.profile = crn_profile_builder_end(builder),
                  .trace = random_trace(random, spans)};
    made.spans = crn_spans_make(made.trace, made.profile->block_count);
    made.file = (crn_query_file){.path = "made", .profile = made.profile, .trace = made.trace};
    return made;
}

void asked_free(asked *asked)
{
    crn_spans_free(asked->spans);
    crn_trace_free(asked->trace);
    crn_profile_free(asked->profile);
}
