/* SPDX-License-Identifier: MIT
 *
 * test_rows.c - RowBinary, addresses and filters; hostile ones, too.
 */
#include <string.h>

#include "base/memory.h"
#include "fleet/fleet.h"
#include "fleet/url.h"
#include "support/cases.h"
#include "support/random.h"

static void what_is_put_is_read(void **state)
{
    (void)state;
    crn_rows rows = {0};
    crn_fleet_id id = {{1, 2, 3}};
    char text[300];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    crn_rows_number(&rows, UINT64_MAX, 8);
    crn_rows_text(&rows, text);
    crn_rows_id(&rows, &id);
    crn_rows_real(&rows, 0.25);
    crn_rows_length(&rows, 0);
    crn_answer answer = {.bytes = rows.bytes, .size = rows.size};
    assert_true(crn_answer_number(&answer, 8) == UINT64_MAX);
    char *copy = crn_answer_copy(&answer);
    assert_string_equal(copy, text);
    crn_free(copy);
    crn_fleet_id back = crn_answer_id(&answer);
    assert_memory_equal(&back, &id, sizeof id);
    assert_true(crn_answer_real(&answer) == 0.25);
    assert_int_equal(crn_answer_length(&answer, 8), 0);
    assert_false(answer.bad || crn_answer_more(&answer));
    crn_rows_free(&rows);
}

/* Nothing reads beyond the end, whatever the bytes are: the sanitizers watch. */
static void hostile_answers_end(void **state)
{
    (void)state;
    random_source random = {3};
    for (int round = 0; round < 20000; round++) {
        size_t size = random_below(&random, 40);
        crn_answer answer = {.bytes = crn_calloc(size + 1, 1), .size = size};
        answer.bytes = crn_realloc(answer.bytes, size ? size : 1, 1);
        for (size_t i = 0; i < size; i++)
            answer.bytes[i] =
                (uint8_t)(random_below(&random, 3) ? random_below(&random, 256) : 0xff);
        for (int reads = 0; reads < 50 && crn_answer_more(&answer); reads++) {
            size_t length;
            switch (random_below(&random, 4)) {
            case 0:
                crn_answer_number(&answer, 1 + random_below(&random, 8));
                break;
            case 1:
                crn_answer_id(&answer);
                break;
            case 2:
                assert_true(crn_answer_length(&answer, 8) <= size / 8);
                break;
            default:
                crn_answer_text(&answer, &length);
                assert_true(length <= size);
            }
            assert_true(answer.at <= answer.size);
        }
        crn_answer_free(&answer);
    }
}

static void addresses(void **state)
{
    (void)state;
    crn_fleet_url url;
    crn_error error = {0};
    assert_true(crn_fleet_url_parse(&url, "clickhouse://db.example/cairn", &error));
    assert_string_equal(url.scheme, "http");
    assert_string_equal(url.host, "db.example");
    assert_string_equal(url.port, "8123");
    assert_string_equal(url.user, "default");
    assert_string_equal(url.database, "cairn");
    assert_true(crn_fleet_url_parse(&url, "clickhouses://me@[::1]:9/a_1/", &error));
    assert_string_equal(url.scheme, "https");
    assert_string_equal(url.host, "[::1]");
    assert_string_equal(url.port, "9");
    assert_string_equal(url.user, "me");
    assert_string_equal(url.database, "a_1");
    static const char *const bad[] = {"",
                                      "cairn",
                                      "file:///etc/passwd",
                                      "clickhouse://",
                                      "clickhouse://host",
                                      "clickhouse://host/",
                                      "clickhouse://host/a b",
                                      "clickhouse://host/a;drop",
                                      "clickhouse://host/a/b",
                                      "clickhouse://u:secret@host/a",
                                      "clickhouse://u:a-very-long-secret@host/a",
                                      "clickhouse://u%0d%0aX-Evil:%201@host/a",
                                      "clickhouse://host:99999999/a"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (crn_fleet_url_parse(&url, bad[i], &error))
            fail_msg("\"%s\" is taken", bad[i]);
}

/* No byte of a value is in the SQL as it is. */
static void values_are_hexadecimal(void **state)
{
    (void)state;
    crn_error error = {0};
    crn_sql sql = {0};
    crn_fleet_filter filter = {.service = "'\\"};
    assert_true(crn_fleet_filter_add(&filter, "x'y=1' OR 1", &error));
    assert_true(crn_fleet_filter_add(&filter, "version=\xff", &error));
    crn_fleet_filter_sql(&filter, &sql);
    assert_string_equal(sql.text,
                        "1 AND service = unhex('275c') AND labels.value[indexOf(labels.key, "
                        "unhex('782779'))] = unhex('3127204f522031') AND version = unhex('ff')");
    crn_sql_free(&sql);
    static const char *const bad[] = {
        "",         "=",       "=1",
        "version",  "since=x", "since=-1d",
        "until=7x", "run=1",   "run=0011223344556677889900112233445g"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (crn_fleet_filter_add(&filter, bad[i], &error))
            fail_msg("\"%s\" is taken", bad[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_is_read),
        cmocka_unit_test(hostile_answers_end),
        cmocka_unit_test(addresses),
        cmocka_unit_test(values_are_hexadecimal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
