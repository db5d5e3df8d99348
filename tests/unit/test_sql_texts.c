/* SPDX-License-Identifier: MIT
 *
 * test_sql_texts.c - texts that look like numbers or names: equality, compared with SQLite's
 * evaluation by row, and double quotes.
 */
#include <stdlib.h>
#include <string.h>

#include <cairn/span.h>

#include "base/memory.h"
#include "query/texts.h"
#include "support/asking.h"
#include "support/cases.h"

/* ---- names, notes and attributes that look like numbers, or are some ---- */

static const char *const alike[] = {"404",   "5",    "5.0", " 5", "05",
                                    "1e3",   "",     "x",   "-1", "0",
                                    "42",    "0x2a", "NaN", "5 ", "9223372036854775807",
                                    "1000.0"};
enum { MOST = 200 };

typedef struct made {
    crn_profile *profile;
    crn_trace trace;
    crn_span spans[MOST];
    crn_attribute attributes[3 * MOST];
    const char *keys[4], *lanes[1];
} made;

static crn_attribute random_attribute(random_source *random, uint32_t span)
{
    static const double numbers[] = {5.0, 404.0, 5.5, -1.0, 1000.0, 0.0, 42.0, 1e300};
    static const int64_t integers[] = {5, 404, -1, 1000, 0, 42, 6, INT64_MAX};
    crn_attribute made = {.span = span, .key = (uint16_t)random_below(random, 4)};
    made.kind = (uint16_t)(1 + random_below(random, 3));
    if (made.kind == CRN_ATTRIBUTE_TEXT)
        made.value.text = alike[random_below(random, COUNT(alike))];
    else if (made.kind == CRN_ATTRIBUTE_NUMBER)
        made.value.number = numbers[random_below(random, COUNT(numbers))];
    else
        made.value.integer = integers[random_below(random, COUNT(integers))];
    return made;
}

static crn_query *make(made *made, random_source *random)
{
    crn_profile_builder *builder = crn_profile_builder_new();
    uint32_t blocks = 1 + random_below(random, COUNT(alike));
    for (uint32_t b = 0; b < blocks; b++) {
        crn_block_info info = {.name = alike[random_below(random, COUNT(alike))],
                               .file = alike[random_below(random, COUNT(alike))],
                               .line = random_below(random, 9),
                               .column = b};
        crn_profile_builder_block(builder, &info);
        crn_profile_builder_note(builder, alike[b], alike[random_below(random, COUNT(alike))]);
    }
    crn_profile_builder_root(builder);
    made->profile = crn_profile_builder_end(builder);
    static const char *const keys[] = {"code", "404", "open", "render"};
    memcpy(made->keys, keys, sizeof keys);
    made->lanes[0] = "7";
    made->trace = (crn_trace){.spans = made->spans,
                              .attributes = made->attributes,
                              .keys = made->keys,
                              .key_count = 4,
                              .lanes = made->lanes,
                              .lane_count = 1,
                              .span_count = 1 + random_below(random, MOST),
                              .length = 10 * MOST};
    for (uint32_t s = 0; s < made->trace.span_count; s++) {
        made->spans[s] = (crn_span){.start = 10 * s,
                                    .end = 10 * s + random_below(random, 10),
                                    .block = random_below(random, made->profile->block_count),
                                    .parent = CRN_SPAN_NONE,
                                    .iteration = random_below(random, 9)};
        for (uint32_t a = random_below(random, 4); a; a--)
            made->attributes[made->trace.attribute_count++] = random_attribute(random, s);
    }
    crn_query_file file = {.path = "404", .profile = made->profile, .trace = &made->trace};
    return open_query(&file, 1);
}

static void unmake(made *made, crn_query *query)
{
    crn_query_close(query);
    crn_profile_free(made->profile);
}

/* ---- equality of numbers and texts ---- */

static const struct {
    const char *table, *column;
} asked_columns[] = {
    {"attributes", "value"},   {"attributes", "key"},
    {"attributes", "kind"},    {"attributes", "span"},
    {"notes", "key"},          {"notes", "value"},
    {"blocks", "name"},        {"blocks", "file"},
    {"blocks", "line"},        {"blocks", "id"},
    {"block_figures", "name"}, {"block_figures", "min"},
    {"lanes", "name"},         {"captures", "path"},
    {"captures", "length"},    {"metrics", "name"},
    {"contexts", "name"},      {"contexts", "parent"},
    {"spans", "name"},         {"spans", "code"},
    {"spans", "[404]"},        {"spans", "attribute_open"},
    {"spans", "iteration"},    {"spans", "id"},
    {"spans_wide", "render"},
};

/* A column that its table does not hear of, with its type. */
#define HIDDEN "(select %s as x from %s limit -1)"

static void equality_is_that_of_sqlite(void **state)
{
    (void)state;
    static const char *const values[] = {"5",
                                         "5.0",
                                         "'5'",
                                         "'5.0'",
                                         "' 5'",
                                         "404",
                                         "'404'",
                                         "'404.0'",
                                         "404.0",
                                         "1000",
                                         "'1e3'",
                                         "-1",
                                         "'-1'",
                                         "0",
                                         "''",
                                         "NULL",
                                         "x'35'",
                                         "42",
                                         "'42'",
                                         "'0x2a'",
                                         "'NaN'",
                                         "1e300",
                                         "'text'",
                                         "'x'",
                                         "9223372036854775807",
                                         "'9223372036854775807'",
                                         "9.3e18",
                                         "cast('5' as text)",
                                         "cast('5' as numeric)",
                                         "(select value from attributes limit 1)",
                                         "(select name from blocks limit 1)"};
    random_source random = {31};
    uint64_t found = 0;
    made *made = crn_calloc(1, sizeof *made);
    for (int round = 0; round < 8; round++) {
        crn_query *query = make(made, &random);
        for (size_t c = 0; c < COUNT(asked_columns); c++)
            for (size_t v = 0; v < COUNT(values); v++) {
                const char *column = asked_columns[c].column, *from = asked_columns[c].table;
                char left[256], right[256];
                snprintf(left, sizeof left, "select count(*) from %s where %s = %s", from, column,
                         values[v]);
                snprintf(right, sizeof right, "select count(*) from " HIDDEN " where x = %s",
                         column, from, values[v]);
                assert_same_answers(query, left, right);
                found += (uint64_t)number_of(query, left);
                snprintf(left, sizeof left, "select count(*) from %s where %s in (%s, 6, '6')",
                         from, column, values[v]);
                snprintf(right, sizeof right,
                         "select count(*) from " HIDDEN " where x in (%s, 6, '6')", column, from,
                         values[v]);
                assert_same_answers(query, left, right);
            }
        static const char *const pairs[][4] = {{"attributes", "value", "attributes", "value"},
                                               {"attributes", "value", "spans", "name"},
                                               {"attributes", "value", "blocks", "line"},
                                               {"spans", "iteration", "notes", "value"},
                                               {"attributes", "span", "spans", "code"}};
        for (size_t p = 0; p < COUNT(pairs); p++) {
            const char *const *its = pairs[p];
            char left[256], right[256];
            snprintf(left, sizeof left, "select count(*) from %s a join %s b on a.%s = b.%s",
                     its[0], its[2], its[1], its[3]);
            snprintf(right, sizeof right,
                     "select count(*) from " HIDDEN " a join " HIDDEN " b on a.x = b.x", its[1],
                     its[0], its[3], its[2]);
            assert_same_answers(query, left, right);
        }
        unmake(made, query);
    }
    assert_true(found > 0);
    crn_free(made);
}

static void texts_that_look_like_numbers_are_found(void **state)
{
    (void)state;
    random_source random = {32};
    made *made = crn_calloc(1, sizeof *made);
    crn_query *query = make(made, &random);
    made->trace.span_count = 4;
    made->trace.attribute_count = 4;
    for (uint32_t a = 0; a < 4; a++)
        made->attributes[a] = (crn_attribute){.span = a, .key = 0, .kind = CRN_ATTRIBUTE_TEXT};
    made->attributes[0].value.text = "404";
    made->attributes[1] = (crn_attribute){.span = 1, .kind = CRN_ATTRIBUTE_INTEGER};
    made->attributes[1].value.integer = 5;
    made->attributes[2] = (crn_attribute){.span = 2, .kind = CRN_ATTRIBUTE_NUMBER};
    made->attributes[2].value.number = 5;
    made->attributes[3].value.text = "5";
    crn_query_file file = {.path = "404", .profile = made->profile, .trace = &made->trace};
    crn_query_close(query);
    query = open_query(&file, 1);
    static const struct {
        const char *sql;
        int64_t count;
    } counts[] = {
        {"select count(*) from attributes where value = '404'", 1},
        {"select count(*) from attributes where value = 404", 0},
        {"select count(*) from attributes where value = 5", 2},
        {"select count(*) from attributes where value = 5.0", 2},
        {"select count(*) from attributes where value = '5'", 1},
        {"select count(*) from spans where code = '404'", 1},
        {"select count(*) from spans where code = 5", 2},
        {"select count(*) from spans where code = 5.0", 2},
        {"select count(*) from spans where code = '5'", 1},
        {"select count(*) from lanes where name = '7'", 1},
        {"select count(*) from captures where path = '404'", 1},
        {"select count(*) from spans where id = '2'", 1},
        {"select count(*) from attributes where span = '2'", 1},
        {"select count(*) from attributes where span = 2.0", 1},
    };
    for (size_t i = 0; i < COUNT(counts); i++) {
        if (number_of(query, counts[i].sql) != counts[i].count)
            print_error("%s\n", counts[i].sql);
        assert_int_equal(number_of(query, counts[i].sql), counts[i].count);
    }
    unmake(made, query);
    crn_free(made);
}

/* ---- keys that are too long for a column ---- */

static void long_keys_have_no_column(void **state)
{
    (void)state;
    enum { LONG = 1 << 20, KEYS = 3000 };
    random_source random = {33};
    made *made = crn_calloc(1, sizeof *made);
    char *key = crn_calloc(LONG + 1, 1);
    const char **keys = crn_calloc(KEYS, sizeof *keys);
    char(*quotes)[257] = crn_calloc(KEYS, sizeof *quotes);
    memset(key, 'k', LONG);
    crn_query_close(make(made, &random));
    made->trace.keys = keys;
    made->trace.key_count = KEYS;
    made->trace.span_count = 1;
    made->trace.attribute_count = 3;
    for (uint16_t a = 0; a < 3; a++) {
        made->attributes[a] = (crn_attribute){.key = a, .kind = CRN_ATTRIBUTE_INTEGER};
        made->attributes[a].value.integer = 10 + a;
    }
    /* From the third on, texts have the maximal length, and twice that when quoted. */
    for (uint32_t k = 0; k < KEYS; k++) {
        char number[12];
        int digits = snprintf(number, sizeof number, "%u", (unsigned)k);
        memset(quotes[k], '"', 256);
        memcpy(quotes[k], number, (size_t)digits);
        keys[k] = quotes[k];
    }
    keys[0] = key;
    keys[1] = "width";
    crn_query_file file = {.path = "", .profile = made->profile, .trace = &made->trace};
    crn_query *query = open_query(&file, 1);
    assert_int_equal(number_of(query, "select width from spans"), 11);
    assert_int_equal(number_of(query, "select width from spans_wide"), 11);
    assert_int_equal(number_of(query, "select attribute(id, (select key from attributes where"
                                      " length(key) = 1048576)) from spans"),
                     10);
    char sql[700] = "select attribute(id, '";
    strcat(strcat(sql, quotes[2]), "') from spans");
    assert_int_equal(number_of(query, sql), 12);
    snprintf(sql, sizeof sql, "select * from spans_wide");
    crn_statement *wide = ask(query, sql);
    uint32_t columns = crn_statement_columns(wide);
    assert_true(columns > 500 && columns < 1100);
    crn_statement_free(wide);
    unmake(made, query);
    crn_free((void *)keys);
    crn_free(quotes);
    crn_free(key);
    crn_free(made);
}

/* ---- double quotes ---- */

static void quoted_operands_are_texts(void **state)
{
    (void)state;
    static const struct {
        const char *asked, *meant; /* NULL: the same */
    } cases[] = {
        {"name = \"render\"", "name = 'render'"},
        {"name==\"a\" or name !=\"b\" or name<>\"c\"", "name=='a' or name !='b' or name<>'c'"},
        {"a < \"b\" and a <= \"c\" and a > \"d\" and a >= \"e\"",
         "a < 'b' and a <= 'c' and a > 'd' and a >= 'e'"},
        {"name like \"R%\" and name NOT GLOB \"r*\"", "name like 'R%' and name NOT GLOB 'r*'"},
        {"a is \"b\" or a is not \"c\"", "a is 'b' or a is not 'c'"},
        {"name in (\"a\", 'b',\"c\")", "name in ('a', 'b','c')"},
        {"name not in(\"open\")", "name not in('open')"},
        {"(name = \"a\") -- = \"b\"\n= \"c\"", "(name = 'a') -- = \"b\"\n= 'c'"},
        {"name = /* \" */ \"it's\"", "name = /* \" */ 'it''s'"},
        {"name = \"a\"\"b'c\" collate nocase", "name = 'a\"b''c' collate nocase"},
        {"name = \"\"", "name = ''"},
        {"x = \"a\"; y = \"b\"", "x = 'a';"},
        {" ;; x = \"a;\" ; y", " ;; x = 'a;' ;"},
        {"\"a\" = \"b\" = \"c\"", "\"a\" = 'b' = 'c'"},
        {"x='\"' and y=\"'\"", "x='\"' and y=''''"},
        {"a = [\"] and b = \"c\"", "a = [\"] and b = 'c'"},
        {"a = `\"` and b = \"c\"", "a = `\"` and b = 'c'"},
        {"a = $x::y(\"=) and b = \"c\"", "a = $x::y(\"=) and b = 'c'"},
        {"a in (upper(\"b\"), \"c\")", "a in (upper(\"b\"), 'c')"},
        /* names */
        {"\"open\" = 1", NULL},
        {"select \"open\", \"name\" as \"n\" from \"spans\" \"s\"", NULL},
        {"s.parent = \"p\".\"id\"", NULL},
        {"s.parent = \"p\" . id", NULL},
        {"x = \"start\" + 5 and y < \"a\" || 'b' and z > \"f\"(1)", NULL},
        {"x -> \"a\" ->> \"b\" << \"c\" >> \"d\"", NULL},
        {"a in (select \"b\", \"c\", \"d\" from e order by \"f\", \"g\")", NULL},
        {"a in \"t\" and f(\"a\", \"b\") and b = (\"c\")", NULL},
        {"between \"a\" and \"b\" order by \"c\"", NULL},
        /* not whole */
        {"a = \"b", NULL},
        {"a = 'b \"c\"", NULL},
        {"a = \"b\" /* \"c\" = \"d\"", "a = 'b' /* \"c\" = \"d\""},
        {"a = [b \"c\"", NULL},
        {"))) = \"a\" ))", "))) = 'a' ))"},
        {"", NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        crn_texts texts = crn_texts_make(cases[i].asked, 1000);
        assert_string_equal(texts.sql, cases[i].meant ? cases[i].meant : cases[i].asked);
        /* Each byte is from where it was, but quotes. */
        for (size_t b = 0; b < texts.size; b++)
            assert_true(cases[i].asked[texts.from[b]] == texts.sql[b] || texts.sql[b] == '\'');
        assert_true(texts.from[texts.size] <= strlen(cases[i].asked));
        crn_texts_free(&texts);
    }
    char *lengthy = crn_calloc(5001, 1);
    memset(lengthy, ' ', 5000);
    crn_texts texts = crn_texts_make(lengthy, 1000);
    assert_int_equal(texts.size, 1001);
    crn_texts_free(&texts);
    crn_free(lengthy);
}

/* SQLite finds the end of each statement, and of the first one. */
static void statements_end_where_sqlite_ends_them(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "\"", "'", "[", "]",  "`",     ";",   "--",     "\n", "/*", "*/", "a",  " ",    "=",  "1",
        "(",  ")", ",", "in", "\"a\"", "'b'", "select", "$x", ".",  "x'", "\\", "1.5e", "$x("};
    random_source random = {34};
    made *made = crn_calloc(1, sizeof *made);
    crn_query *query = make(made, &random);
    uint32_t answered = 0;
    for (int round = 0; round < 20000; round++) {
        char sql[400] = "select 1 ";
        for (uint32_t i = random_below(&random, 12); i; i--)
            strcat(sql, pieces[random_below(&random, COUNT(pieces))]);
        const char *rest = NULL;
        crn_error error;
        crn_statement *statement = crn_statement_new(query, sql, &rest, &error);
        assert_true(rest >= sql && rest <= sql + strlen(sql));
        assert_true(statement || error.code);
        if (statement && *rest)
            assert_int_equal(rest[-1], ';');
        answered += statement != NULL;
        crn_statement_free(statement);
    }
    assert_true(answered > 100);
    unmake(made, query);
    crn_free(made);
}

/* Spans that are named as columns are, and as an attribute is. */
static void spans_named_as_columns_are_found(void **state)
{
    (void)state;
    static const char *const names[] = {"open", "name", "render"};
    made *made = crn_calloc(1, sizeof *made);
    crn_profile_builder *builder = crn_profile_builder_new();
    crn_error error;
    for (size_t b = 0; b < COUNT(names); b++) {
        crn_block_info info = {.name = names[b], .file = ""};
        crn_profile_builder_block(builder, &info);
    }
    crn_profile_builder_root(builder);
    made->profile = crn_profile_builder_end(builder);
    made->keys[0] = "render";
    made->lanes[0] = "";
    made->trace = (crn_trace){.spans = made->spans,
                              .span_count = 6,
                              .attributes = made->attributes,
                              .attribute_count = 1,
                              .keys = made->keys,
                              .key_count = 1,
                              .lanes = made->lanes,
                              .lane_count = 1,
                              .length = 100};
    made->attributes[0] = (crn_attribute){.kind = CRN_ATTRIBUTE_INTEGER};
    for (uint32_t s = 0; s < 6; s++)
        made->spans[s] = (crn_span){
            .start = s, .end = s + 1, .block = 1 + s / 2, .iteration = s, .parent = CRN_SPAN_NONE};
    crn_query_file file = {.path = "", .profile = made->profile, .trace = &made->trace};
    crn_query *query = open_query(&file, 1);
    for (size_t b = 0; b < COUNT(names); b++) {
        char expression[64], sql[128];
        snprintf(expression, sizeof expression, "iteration >= 0 and name = \"%s\"", names[b]);
        snprintf(sql, sizeof sql, "select count(*) from spans where %s", expression);
        assert_int_equal(number_of(query, sql), 2);
        uint8_t *chosen = crn_query_select(made->profile, &made->trace, expression, &error);
        assert_non_null(chosen);
        for (uint32_t s = 0; s < 6; s++)
            assert_int_equal(chosen[s], s / 2 == b);
        crn_free(chosen);
    }
    assert_int_equal(number_of(query, "select count(*) from spans where name in (\"open\", \"x\")"),
                     2);
    assert_int_equal(number_of(query, "select count(*) from spans where \"open\" = 0"), 6);
    /* The error message shows the query. */
    const char *rest;
    static const char wrong[] = "select 1 where 'it' = \"it's\" and nam = 1; select 2";
    assert_null(crn_statement_new(query, wrong, &rest, &error));
    assert_non_null(strstr(error.message, "line 1, column 34, at: nam = 1; select 2"));
    static const char several[] = "select \"it's\" = \"it's\";\n select 3";
    crn_statement *statement = crn_statement_new(query, several, &rest, &error);
    assert_non_null(statement);
    assert_string_equal(rest, "\n select 3");
    crn_statement_free(statement);
    unmake(made, query);
    crn_free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equality_is_that_of_sqlite),
        cmocka_unit_test(texts_that_look_like_numbers_are_found),
        cmocka_unit_test(long_keys_have_no_column),
        cmocka_unit_test(quoted_operands_are_texts),
        cmocka_unit_test(statements_end_where_sqlite_ends_them),
        cmocka_unit_test(spans_named_as_columns_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
