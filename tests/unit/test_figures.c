/* SPDX-License-Identifier: MIT
 *
 * test_figures.c - formatting of numbers.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/figure.h"
#include "support/cases.h"
#include "support/random.h"

enum { TRIES = 200000 };

/* Checks the positions of the commas and removes them. */
static double parse(const char *text)
{
    char plain[CRN_FIGURE_SIZE];
    size_t used = 0, whole = strcspn(text, ".");
    for (size_t i = 0; text[i]; i++) {
        bool comma = i < whole && (whole - i) % 4 == 0;
        assert_true((text[i] == ',') == (comma && i > 0));
        if (text[i] != ',')
            plain[used++] = text[i];
    }
    plain[used] = 0;
    char *end;
    double value = strtod(plain, &end);
    assert_true(end == plain + used && used > 0);
    return value;
}

/* Numbers of all magnitudes. */
static uint64_t any_number(random_source *random)
{
    return random_next(random) >> random_below(random, 64);
}

static void whole_numbers_equal_printf(void **state)
{
    (void)state;
    random_source random = {1};
    for (int i = 0; i < TRIES; i++) {
        char text[CRN_FIGURE_SIZE], expected[32], found[32];
        size_t used = 0;
        uint64_t value = i ? any_number(&random) : UINT64_MAX;
        size_t length = crn_figure(text, (crn_scale){1, 0, ""}, value);
        assert_int_equal(length, strlen(text));
        parse(text);
        for (const char *c = text; *c; c++)
            if (*c != ',')
                found[used++] = *c;
        found[used] = 0;
        snprintf(expected, sizeof expected, "%" PRIu64, value);
        assert_string_equal(found, expected);
    }
}

static void decimals_are_as_close_as_they_can_be(void **state)
{
    (void)state;
    random_source random = {2};
    static const double divisors[] = {1e3, 1e6, 1e9, 1024};
    for (int i = 0; i < TRIES; i++) {
        char text[CRN_FIGURE_SIZE];
        uint64_t value = any_number(&random);
        int decimals = (int)random_below(&random, 4);
        double divisor = divisors[random_below(&random, 4)], scaled = (double)value / divisor;
        size_t length = crn_figure(text, (crn_scale){divisor, decimals, "x"}, value);
        assert_int_equal(length, strlen(text));
        double half = 0.5 * pow(10, -decimals);
        assert_true(fabs(parse(text) - scaled) <= half * (1 + 1e-9) + scaled * 1e-15);
        const char *point = strchr(text, '.');
        assert_int_equal(point ? strlen(point + 1) : 0, decimals);
    }
}

/* An end never promises more than the interval has, and has two digits at the most. */
static void intervals_are_not_narrowed(void **state)
{
    (void)state;
    random_source random = {3};
    static const crn_scale scales[] = {{1, 0, ""}, {1e3, 1, "us"}, {1e6, 2, "ms"}, {1e9, 2, "s"}};
    for (int i = 0; i < TRIES; i++) {
        char text[CRN_FIGURE_SIZE];
        crn_scale scale = scales[random_below(&random, 4)];
        double low = (double)(any_number(&random) >> 14);
        crn_interval interval = {low, low * (1 + (double)random_below(&random, 1000) / 100)};
        crn_figure_interval(text, scale, interval, "|");
        char *middle = strchr(text, '|');
        assert_non_null(middle);
        *middle = 0;
        double ends[] = {parse(text), parse(middle + 1)};
        double real[] = {interval.low / scale.divisor, interval.high / scale.divisor};
        assert_true(ends[0] <= real[0] * (1 + 1e-6) && ends[1] >= real[1] * (1 - 1e-6));
        for (int end = 0; end < 2; end++) {
            /* Nor does it say much less than is known. */
            double least = pow(10, -scale.decimals);
            assert_true(fabs(ends[end] - real[end]) <= fmax(0.1 * real[end], least) * (1 + 1e-6));
        }
    }
}

static void a_figure_alone_has_the_unit_that_suits_it(void **state)
{
    (void)state;
    static const struct {
        const char *unit, *text;
        uint64_t value;
    } rows[] = {{"nanoseconds", "0 ns", 0},
                {"nanoseconds", "999 ns", 999},
                {"nanoseconds", "1 µs", 1000},
                {"nanoseconds", "1.25 ms", 1250000},
                {"nanoseconds", "12.3 s", 12300000000},
                {"bytes", "1.5 KiB", 1536},
                {"count", "1,346,269", 1346269},
                {"instructions", "7", 7}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[CRN_FIGURE_SIZE];
        assert_string_equal(crn_figure_alone(text, rows[i].unit, rows[i].value), rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_equal_printf),
        cmocka_unit_test(decimals_are_as_close_as_they_can_be),
        cmocka_unit_test(intervals_are_not_narrowed),
        cmocka_unit_test(a_figure_alone_has_the_unit_that_suits_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
