/* SPDX-License-Identifier: MIT
 *
 * test_text.c - folded stacks, written and read back, and output of perf script.
 */
#include <stdlib.h>
#include <string.h>

#include "support.h"
#include "support/cases.h"
#include "support/random.h"
#include "support/scratch.h"

static crn_profile *read_text(crn_format_read *read, const char *text, const char *metric,
                              crn_error *error)
{
    return support_read(read, text, strlen(text), metric, error);
}

static void test_folded_round_trip(void **state)
{
    (void)state;
    static const char *const metrics[] = {"calls", "ticks", "wall", "alloc"};
    for (uint64_t seed = 1; seed <= scale(100); seed++) {
        const char *metric = metrics[seed % COUNT(metrics)];
        crn_profile *profile = support_random(seed, 1 + (uint32_t)(seed * 11 % 300));
        crn_export_options choice = {.metric = crn_profile_metric(profile, metric), .times = true};
        size_t size, again_size;
        crn_error error;
        char *text = support_write(crn_folded_write, profile, &choice, &size);
        crn_profile *back = support_read(crn_folded_read, text, size, metric, &error);
        if (size == 0) { /* nothing was charged: a file without stacks is an error */
            assert_null(back);
        } else {
            assert_true(crn_folded_recognise(text, size));
            char *before = support_figures(profile, metric), *after = support_figures(back, metric);
            assert_string_equal(before, after);
            choice.metric = crn_profile_metric(back, metric);
            char *again = support_write(crn_folded_write, back, &choice, &again_size);
            assert_string_equal(text, again);
            free(again);
            free(before);
            free(after);
        }
        free(text);
        crn_profile_free(back);
        crn_profile_free(profile);
    }
}

static void test_folded_lines(void **state)
{
    (void)state;
    crn_error error;
    crn_profile *profile = read_text(crn_folded_read,
                                     "# made by hand\n"
                                     "main;operator new(unsigned long);f 3\r\n"
                                     "main 4.5\n"
                                     "\n"
                                     "main;g;g;g\t10  \n"
                                     "[root] 2\n"
                                     "#main;x 1",
                                     NULL, &error);
    assert_non_null(profile);
    assert_int_equal(support_value(profile, "main;operator new(unsigned long);f", "samples"), 3);
    assert_int_equal(support_value(profile, "main", "samples"), 5);
    assert_int_equal(support_value(profile, "main;g", "samples"), 10);
    assert_int_equal(support_value(profile, "", "samples"), 2);
    assert_int_equal(support_value(profile, "#main;x", "samples"), 1);
    assert_int_equal(profile->warning_count, 1);
    assert_non_null(strstr(profile->warnings[0], "1 of the imported numbers"));
    crn_profile_free(profile);
}

/* Calls count on the edge, also for a stack that repeats the one before. */
static void test_folded_calls(void **state)
{
    (void)state;
    crn_error error;
    crn_profile *profile = read_text(
        crn_folded_read, "a;b 2\na;b 3\na 1\na;b;b 4\n[root] 1\n[root] 1\n", "calls", &error);
    assert_non_null(profile);
    assert_int_equal(support_value(profile, "a;b", "calls"), 9);
    assert_int_equal(support_value(profile, "a", "calls"), 1);
    assert_int_equal(profile->calls_tree[support_context(profile, "a;b")], 5);
    assert_int_equal(profile->calls_tree[0], 2);
    crn_profile_free(profile);
}

static void test_folded_faults(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } faults[] = {
        {"a;b 1\na;b\n", "input:2:"},
        {"a;b 1\na;b -3\n", "input:2:"},
        {"a;b 0x12\n", "input:1:"},
        {"12\n", "input:1:"},
        {"a 99999999999999999999\n", "input:1:"},
        {"a 4611686018427387903\na 1\n", "2^62"},
        {"", "no stacks"},
        {"# nothing 1\n", "no stacks"},
    };
    crn_error error;
    assert_null(support_read(crn_folded_read, "a 1\nb\0c 2\n", 11, NULL, &error));
    assert_non_null(strstr(error.message, "input:2: is not text"));
    for (size_t i = 0; i < COUNT(faults); i++) {
        assert_null(read_text(crn_folded_read, faults[i].text, NULL, &error));
        assert_non_null(strstr(error.message, faults[i].says));
    }
}

static const char perf_text[] =
    "# captured on    : Sat Nov 21 12:00:00 2026\n"
    "# cmdline : /usr/bin/perf record -g lua5.4\n"
    "\n"
    "Web Content 3 4242/4243 [001]    10.123456:     250000 cycles:ppp: \n"
    "\t    55d0c0de1234 add (/usr/bin/lua5.4)\n"
    "\t            5678 foo(int, char) const+0x1f (/opt/a (b)/libx.so (deleted))\n"
    "\t    7f00deadbeef [unknown] ([unknown])\n"
    "\t    55d0c0de9999 main+0x10 (/usr/bin/lua5.4)\n"
    "\n"
    "lua5.4  4242    10.223456:     150000 cycles:ppp: \n"
    "\t            1111 tiny (inlined)\n"
    "\t            1111 small (inlined)\n"
    "\t            1111 luaV_execute+0x12 (/usr/bin/lua5.4)\n"
    "\n"
    "lua5.4  4242    10.323456:          7 cache-misses:u: \n"
    "\t            1111 luaV_execute+0x99 (/usr/bin/lua5.4)\n"
    "\n"
    "lua5.4  4242    10.423456: sched:sched_switch: prev_comm=lua5.4 prev_pid=1 ==> next\n"
    "\tffffffff81234567 __schedule+0x2d3 ([kernel.kallsyms])\n";

static void test_perf(void **state)
{
    (void)state;
    crn_error error;
    assert_true(crn_perf_recognise(perf_text, strlen(perf_text)));
    crn_profile *profile = read_text(crn_perf_read, perf_text, NULL, &error);
    assert_non_null(profile);
    assert_int_equal(profile->warning_count, 0);
    const char *deep = "Web Content 3;main;[unknown];foo(int, char) const;add";
    assert_int_equal(support_value(profile, deep, "cycles"), 250000);
    assert_int_equal(support_value(profile, "lua5.4;luaV_execute;small;tiny", "cycles"), 150000);
    assert_int_equal(support_value(profile, "lua5.4;luaV_execute", "cache-misses"), 7);
    assert_int_equal(support_value(profile, "lua5.4;__schedule", "sched:sched_switch"), 1);
    assert_int_equal(support_total(profile, "samples"), 3);
    assert_string_equal(support_block(profile, "tiny")->file, "/usr/bin/lua5.4");
    assert_string_equal(support_block(profile, "foo(int, char) const")->file,
                        "/opt/a (b)/libx.so (deleted)");
    assert_string_equal(support_block(profile, "[unknown]")->file, "");
    assert_int_equal(crn_export_metric(profile, true), crn_profile_metric(profile, "cycles"));
    assert_string_equal(profile->metrics[crn_profile_metric(profile, "cycles")].unit, "count");
    crn_profile_free(profile);
}

/* Without call chains: a line a sample, the command aligned to the right. */
static void test_perf_single_lines(void **state)
{
    (void)state;
    static const char text[] =
        "         swapper     0 [000]  5211.000001:   10101010 cpu-clock:  ffffffff8100 "
        "native_halt+0xe ([kernel.kallsyms])\n"
        "          lua5.4  4242 [001]  5211.000002:   10101010 cpu-clock:          1234 "
        "luaH_get+0x1 (/usr/bin/lua5.4)\n"
        "          lua5.4  4242 [001]  5211.000003:   10101010 cpu-clock:          1234 "
        "luaH_get+0x5 (/usr/bin/lua5.4)\n";
    crn_error error;
    assert_true(crn_perf_recognise(text, strlen(text)));
    crn_profile *profile = read_text(crn_perf_read, text, NULL, &error);
    assert_non_null(profile);
    assert_int_equal(profile->warning_count, 0);
    assert_int_equal(support_value(profile, "lua5.4;luaH_get", "cpu-clock"), 20202020);
    assert_int_equal(support_value(profile, "swapper;native_halt", "samples"), 1);
    assert_string_equal(profile->metrics[crn_profile_metric(profile, "cpu-clock")].unit,
                        "nanoseconds");
    crn_profile_free(profile);
}

static void test_perf_faults(void **state)
{
    (void)state;
    crn_error error;
    assert_null(read_text(crn_perf_read, "", NULL, &error));
    assert_null(read_text(crn_perf_read, "nothing of the kind\n\tat all\n", NULL, &error));
    assert_non_null(strstr(error.message, "no samples"));
    crn_profile *profile =
        read_text(crn_perf_read, "x 1 1.5: 2 cycles:\n\t12 f (a)\n\nstrange\n", NULL, &error);
    assert_int_equal(profile->warning_count, 1);
    assert_non_null(strstr(profile->warnings[0], "1 lines"));
    crn_profile_free(profile);
    assert_null(read_text(crn_perf_read,
                          "x 1 1.5: 4611686018427387903 cycles:\n\n"
                          "x 1 1.5: 4611686018427387903 cycles:\n",
                          NULL, &error));
    assert_non_null(strstr(error.message, "2^62"));
}

/* Events beyond a profile's limit are counted, and reported. */
static void test_perf_many_events(void **state)
{
    (void)state;
    char text[8192];
    size_t length = 0;
    crn_error error;
    for (int i = 0; i < 64; i++)
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   "x 1 1.5: 10 event%d:\n\t12 f (a)\n\n", i);
    crn_profile *profile = read_text(crn_perf_read, text, NULL, &error);
    assert_int_equal(support_total(profile, "samples"), 64);
    assert_int_equal(profile->warning_count, 1);
    assert_non_null(strstr(profile->warnings[0], "more kinds of event"));
    crn_profile_free(profile);
}

static void test_damage(void **state)
{
    (void)state;
    random_source random = {11};
    size_t size = strlen(perf_text);
    for (uint64_t i = 0; i < scale(3000); i++) {
        char *copy = strdup(perf_text);
        crn_error error;
        for (uint32_t changes = random_below(&random, 8); changes > 0; changes--)
            copy[random_below(&random, (uint32_t)size)] = (char)random_next(&random);
        size_t cut = 1 + random_below(&random, (uint32_t)size);
        crn_profile_free(support_read(crn_perf_read, copy, cut, NULL, &error));
        crn_profile_free(support_read(crn_folded_read, copy, cut, NULL, &error));
        free(copy);
    }
}

static void test_recognise(void **state)
{
    (void)state;
    static const char *const neither[] = {"", "\n", "hello world\n", "{\"json\": 1}\n",
                                          "\0\1\2 3\n"};
    for (size_t i = 0; i < COUNT(neither); i++) {
        assert_false(crn_perf_recognise(neither[i], strlen(neither[i])));
        assert_false(crn_folded_recognise(neither[i], strlen(neither[i])));
    }
    assert_false(crn_perf_recognise("a;b;c 12\nmain;f 1.5\n", 20));
    assert_true(crn_folded_recognise("# c\n\na b;c 12\n", 14));
    assert_true(crn_folded_recognise("a;b 1", 5));
    assert_true(crn_folded_recognise("#len;b 1\r\n", 10));
}

static const char v8_text[] =
    " {\"nodes\":["
    "{\"id\":1,\"callFrame\":{\"functionName\":\"(root)\",\"url\":\"\",\"lineNumber\":-1},"
    "\"children\":[2,3]},"
    "{\"id\":2,\"callFrame\":{\"functionName\":\"f\",\"url\":\"a.js\",\"lineNumber\":4,"
    "\"columnNumber\":2},"
    "\"children\":[7]},"
    "{\"id\":3,\"callFrame\":{\"functionName\":\"(idle)\",\"url\":\"\",\"lineNumber\":-1}},"
    "{\"id\":7,\"callFrame\":{\"functionName\":\"\",\"url\":\"a.js\",\"lineNumber\":9,"
    "\"columnNumber\":0}}],"
    "\"startTime\":1000,\"endTime\":1100,\"samples\":[2,7,3,7],\"timeDeltas\":[10,20,30,25]}";

/* Samples at 10, 30, 60, 85 of 100 microseconds. */
static void test_cpuprofile(void **state)
{
    (void)state;
    crn_error error;
    assert_true(crn_cpuprofile_recognise(v8_text, strlen(v8_text)));
    crn_profile *profile = read_text(crn_cpuprofile_read, v8_text, NULL, &error);
    assert_non_null(profile);
    char *figures = support_figures(profile, "wall");
    assert_string_equal(figures, "(anonymous) (:0:0) < f (:0:0) <  wall=45000 \n"
                                 "(idle) (:0:0) <  wall=25000 \n"
                                 "f (:0:0) <  wall=20000 \n");
    assert_int_equal(crn_metric_total(profile, CRN_METRIC_WALL), 90000);
    for (uint32_t b = 1; b < profile->block_count; b++) {
        const crn_block_info *block = &profile->blocks[b];
        crn_block_cost cost = crn_block_cost_make(profile, CRN_METRIC_WALL, NULL);
        bool f = strcmp(block->name, "f") == 0, idle = strcmp(block->name, "(idle)") == 0;
        assert_int_equal(cost.self[b], f ? 20000 : idle ? 25000 : 45000);
        assert_int_equal(cost.inclusive[b], f ? 65000 : idle ? 25000 : 45000);
        assert_int_equal(block->line, f ? 5 : idle ? 0 : 10);
        crn_block_cost_free(&cost);
    }
    free(figures);
    crn_profile_free(profile);
}

/* Every prefix of it, and every change of one byte: an error or a profile, never a crash. */
static void test_cpuprofile_damaged(void **state)
{
    (void)state;
    crn_error error;
    size_t length = strlen(v8_text);
    for (size_t end = 0; end < length; end++)
        assert_null(support_read(crn_cpuprofile_read, v8_text, end, NULL, &error));
    random_source random = {9};
    for (int round = 0; round < 2000; round++) {
        char *text = strdup(v8_text);
        text[random_below(&random, (uint32_t)length)] = (char)(32 + random_below(&random, 95));
        crn_profile_free(read_text(crn_cpuprofile_read, text, NULL, &error));
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folded_round_trip),
        cmocka_unit_test(test_folded_lines),
        cmocka_unit_test(test_cpuprofile),
        cmocka_unit_test(test_cpuprofile_damaged),
        cmocka_unit_test(test_folded_calls),
        cmocka_unit_test(test_folded_faults),
        cmocka_unit_test(test_perf),
        cmocka_unit_test(test_perf_single_lines),
        cmocka_unit_test(test_perf_faults),
        cmocka_unit_test(test_perf_many_events),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_recognise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
