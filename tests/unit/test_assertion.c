/* SPDX-License-Identifier: MIT
 *
 * test_assertion.c - expressions of cairn assert: values, operators, and what is refused where.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"
#include "query/query.h"
#include "support/cases.h"

/* main calls f three times, 5 ms of which are its own; f calls g twice. */
static crn_profile *small_profile(void)
{
    crn_profile_builder *builder = crn_profile_builder_new();
    uint32_t above = crn_profile_builder_root(builder);
    static const char *const names[] = {"main", "f", "g"};
    static const uint64_t calls[] = {1, 3, 2}, wall[] = {1000000, 5000000, 2000000};
    uint32_t misses = crn_profile_builder_metric(builder, "cache misses", "count");
    for (int i = 0; i < 3; i++) {
        crn_block_info info = {.name = names[i], .file = ""};
        uint32_t block = crn_profile_builder_block(builder, &info);
        above = crn_profile_builder_child(builder, above, block, calls[i]);
        crn_profile_builder_charge(builder, above, CRN_METRIC_WALL, wall[i]);
        crn_profile_builder_charge(builder, above, misses, 7);
    }
    return crn_profile_builder_end(builder);
}

static bool check(const crn_profile *profile, const char *text, bool unknown_is_zero,
                  crn_assertion *found, crn_error *error)
{
    crn_query_file file = {.profile = profile};
    crn_query *query = crn_query_open(&file, 1, error);
    assert_non_null(query);
    bool good = crn_assertion_check(query, text, unknown_is_zero, found, error);
    crn_query_close(query);
    return good;
}

static void true_expressions_hold(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "calls('f') == 3",
        "calls(\"main\" -> 'f') == 3",
        "calls('g' → 'f') == 0",
        "wall('f') == 7ms and self.wall('f') == 5 ms",
        "wall() == 8000us",
        "contexts('g') == 1",
        "contexts() == 4",
        "folded() + cycles() == 0",
        "inclusive.calls('f') == 5",
        "self.\"cache misses\"('f') == 7",
        "'cache misses'('main') == 21",
        "1 + 2 * 3 == 7 and (1 + 2) * 3 == 9 and 7 - 2 - 1 == 4 and 8 / 2 / 2 == 2",
        "-1 < 0 && -(-1) > 0",
        "not 1 > 2",
        "! 1 > 2 || 1 > 2",
        "1 > 2 or 2 > 1 and 1 != 2",
        "1KiB == 1024B and 1MiB == 1024KiB and 1GiB == 1024MiB and 1s == 1000ms and 50% == .5",
        "1µs <= 1us and 2e3ns >= 2us",
        "calls('main', 'f') = 3 and cost('wall', 'f') = 7e6 and self_cost('wall', \"f\") <> 0",
        "calls('f') / 2 = 1.5 and 7 % 4 = 3 and 5 % = .05",
        "calls('f') between 1 and 3 and calls('g') in (1, 2) and calls(2) = 3",
        "(select count(*) from contexts where calls > 1) = 2",
        "max(calls('f'), calls('g')) = 3",
        "abs(calls('g') - calls('f')) <= 1 -- near",
        "case when calls('f') > 1 then wall() > 1ms else 1 end",
        "(select wall('f') / 1e6) = 7"};
    crn_profile *profile = small_profile();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        crn_assertion found;
        crn_error error = {0};
        if (!check(profile, texts[i], false, &found, &error))
            fail_msg("%s: %s", texts[i], error.message);
        if (!found.holds)
            fail_msg("%s does not hold", texts[i]);
    }
    crn_profile_free(profile);
}

static void assert_refused(const crn_profile *profile, const char *text, const char *why,
                           const char *column)
{
    crn_assertion found;
    crn_error error = {0};
    if (check(profile, text, false, &found, &error))
        fail_msg("%s is taken", text);
    if (!strstr(error.message, why) || !strstr(error.message, column))
        fail_msg("%s: \"%s\" says not \"%s\" of %s", text, error.message, why, column);
}

static void wrong_expressions_are_refused_with_their_column(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"call('f') > 0", "no such function: call", ""},
        {"1 < self.wal('f')", "unknown metric \"wal\"", "calls, ticks, wall"},
        {"self('f') > 0", "no such function: self", ""},
        {"'cache > 0", "the quote is not closed", "column 1"},
        {"calls('h') > 0", "there is no block \"h\"", ""},
        {"calls(f) > 0", "no such column: f", "column 7"},
        {"calls('f) > 0", "the quote is not closed", "column 7"},
        {"calls('f'", "expected ) before the end", "column 10"},
        {"folded('f') > 0", "wrong number of arguments", "column 1"},
        {"1h > 0", "unknown unit", "column 2"},
        {"1 > * 2", "syntax error", "column 5"},
        {"1 >", "syntax error", "column 4"},
        {"(1 > 2", "expected ) before the end", "column 7"},
        {"1 > 2)", "no bracket is open", "column 6"},
        {"1 < 2 < 3", "join two comparisons with \"and\"", "column 7"},
        {"1 + 1", "expected a comparison", ""},
        {"calls('f')", "expected a comparison", ""},
        {"1 / 0 > 1", "divides by zero", ""},
        {"1 > 0; select 1", "expected the end of the expression", "column 6"},
        {"1, 2", "row value", ""}};
    crn_profile *profile = small_profile();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(profile, cases[i][0], cases[i][1], cases[i][2]);
    char deep[2000] = "";
    memset(deep, '(', sizeof deep - 1);
    assert_refused(profile, deep, "nested too deeply", "column");
    crn_profile_free(profile);
}

static void unknown_blocks_may_count_as_never_called(void **state)
{
    (void)state;
    crn_assertion found;
    crn_error error = {0};
    crn_profile *profile = small_profile();
    assert_true(
        check(profile, "calls('h') == 0 and contexts('f' -> 'h') == 0", true, &found, &error));
    assert_true(found.holds);
    assert_true(check(profile, "calls('f') == 0", true, &found, &error));
    assert_false(found.holds);
    assert_true(found.figures[0].value == 3 && found.figures[0].length == strlen("calls('f')"));
    crn_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(true_expressions_hold),
        cmocka_unit_test(wrong_expressions_are_refused_with_their_column),
        cmocka_unit_test(unknown_blocks_may_count_as_never_called),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
