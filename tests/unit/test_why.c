/* SPDX-License-Identifier: MIT
 *
 * Why a total changed: known answers, and parts that add up.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "profile/profile.h"
#include "support/cases.h"
#include "support/random.h"
#include "why/why.h"

static uint32_t block(crn_profile_builder *builder, const char *name)
{
    return crn_profile_builder_block(builder, &(crn_block_info){.name = name, .file = "a.c"});
}

static uint32_t call(crn_profile_builder *builder, uint32_t context, const char *name,
                     uint64_t calls, uint64_t ticks)
{
    uint32_t child = crn_profile_builder_child(builder, context, block(builder, name), calls);
    crn_profile_builder_charge(builder, child, CRN_METRIC_TICKS, ticks);
    return child;
}

static crn_why why_of(const crn_profile *const *before, size_t before_count,
                      const crn_profile *const *after, size_t after_count)
{
    return crn_why_make(&(crn_why_input){{before, after}, {before_count, after_count}, "ticks"});
}

static crn_why why_of_two(crn_profile *before, crn_profile *after)
{
    const crn_profile *const sides[] = {before, after};
    return why_of(&sides[0], 1, &sides[1], 1);
}

static void assert_near(double found, double expected)
{
    if (fabs(found - expected) > 1e-6 * (fabs(expected) + 1))
        fail_msg("%.9g in place of %.9g", found, expected);
}

static void assert_adds_up(const crn_why *why)
{
    double sum = 0;
    for (size_t i = 0; i < why->cause_count; i++)
        sum += why->causes[i].amount;
    assert_near(sum, why->total[CRN_AFTER] - why->total[CRN_BEFORE]);
}

static const crn_why_cause *cause_of(const crn_why *why, crn_why_kind kind, const char *name)
{
    for (size_t i = 0; i < why->cause_count; i++)
        if (why->causes[i].kind == kind &&
            strcmp(why->blocks[why->causes[i].block]->name, name) == 0)
            return &why->causes[i];
    return NULL;
}

/* f calls g: is it g, or is it n? */
static crn_profile *f_and_g(uint64_t n, uint64_t ticks)
{
    crn_profile_builder *builder = crn_profile_builder_new();
    uint32_t main = call(builder, crn_profile_builder_root(builder), "main", 1, 10);
    uint32_t f = call(builder, main, "f", 10, 100);
    call(builder, f, "g", n, n * ticks);
    return crn_profile_builder_end(builder);
}

static void it_is_n(void **state)
{
    (void)state;
    crn_profile *before = f_and_g(100, 7), *after = f_and_g(300, 7);
    crn_why why = why_of_two(before, after);
    assert_int_equal(why.cause_count, 1);
    assert_int_equal(why.causes[0].kind, CRN_WHY_CALLS);
    assert_string_equal(why.blocks[why.causes[0].block]->name, "g");
    assert_string_equal(why.blocks[why.causes[0].caller]->name, "f");
    assert_near(why.causes[0].amount, 1400);
    assert_near(why.causes[0].calls[CRN_BEFORE], 100);
    assert_near(why.causes[0].caller_calls[CRN_AFTER], 10);
    crn_why_free(&why);
    crn_profile_free(before);
    crn_profile_free(after);
}

static void it_is_g(void **state)
{
    (void)state;
    crn_profile *before = f_and_g(100, 7), *after = f_and_g(100, 21);
    crn_why why = why_of_two(before, after);
    assert_int_equal(why.cause_count, 1);
    assert_int_equal(why.causes[0].kind, CRN_WHY_COST);
    assert_near(why.causes[0].amount, 1400);
    crn_why_free(&why);
    crn_profile_free(before);
    crn_profile_free(after);
}

static void it_is_both(void **state)
{
    (void)state;
    crn_profile *before = f_and_g(100, 7), *after = f_and_g(200, 14);
    crn_why why = why_of_two(before, after);
    assert_int_equal(why.cause_count, 2);
    assert_near(why.causes[0].amount, 1050); /* both doubled: half of it each */
    assert_near(why.causes[1].amount, 1050);
    assert_adds_up(&why);
    crn_why_free(&why);
    crn_profile_free(before);
    crn_profile_free(after);
}

/* The number of calls changes once, at the top; everything below costs more. */
static void it_begins_above(void **state)
{
    (void)state;
    crn_profile *sides[2];
    for (int side = 0; side < 2; side++) {
        uint64_t n = side ? 4 : 2;
        crn_profile_builder *builder = crn_profile_builder_new();
        uint32_t main = call(builder, crn_profile_builder_root(builder), "main", 1, 0);
        uint32_t job = call(builder, main, "job", n, n * 10);
        uint32_t parse = call(builder, job, "parse", n * 3, n * 30);
        call(builder, parse, "lex", n * 9, n * 90);
        sides[side] = crn_profile_builder_end(builder);
    }
    crn_why why = why_of_two(sides[0], sides[1]);
    assert_int_equal(why.cause_count, 1);
    assert_int_equal(why.causes[0].kind, CRN_WHY_CALLS);
    assert_string_equal(why.blocks[why.causes[0].block]->name, "job");
    assert_near(why.causes[0].amount, 260);
    crn_why_free(&why);
    crn_profile_free(sides[0]);
    crn_profile_free(sides[1]);
}

/* parse was called by main, and is called three times as often by retry_all, which is new. */
static void it_has_moved(void **state)
{
    (void)state;
    crn_profile *sides[2];
    for (int side = 0; side < 2; side++) {
        uint64_t n = side ? 30 : 10;
        crn_profile_builder *builder = crn_profile_builder_new();
        uint32_t main = call(builder, crn_profile_builder_root(builder), "main", 1, 5);
        uint32_t above = side ? call(builder, main, "retry_all", 10, 50) : main;
        uint32_t parse = call(builder, above, "parse", n, n * 10);
        call(builder, parse, "lex", n * 5, n * 90);
        sides[side] = crn_profile_builder_end(builder);
    }
    crn_why why = why_of_two(sides[0], sides[1]);
    const crn_why_cause *moved = cause_of(&why, CRN_WHY_MOVED, "parse");
    const crn_why_cause *new = cause_of(&why, CRN_WHY_NEW, "retry_all");
    assert_non_null(moved);
    assert_non_null(new);
    assert_int_equal(why.cause_count, 2);
    assert_near(moved->amount, 2000);
    assert_near(moved->calls[CRN_AFTER], 30);
    assert_near(new->amount, 50);
    uint32_t path[8];
    assert_int_equal(crn_why_path(&why, moved->context, path, 8), 3);
    assert_string_equal(why.blocks[path[1]]->name, "retry_all");
    assert_adds_up(&why);
    crn_why_free(&why);
    crn_profile_free(sides[0]);
    crn_profile_free(sides[1]);
}

static void a_caller_is_new(void **state)
{
    (void)state;
    crn_profile *sides[2];
    for (int side = 0; side < 2; side++) {
        crn_profile_builder *builder = crn_profile_builder_new();
        uint32_t main = call(builder, crn_profile_builder_root(builder), "main", 1, 5);
        uint32_t load = call(builder, main, "load", 1, 5),
                 check = call(builder, main, "check", 1, 5);
        call(builder, load, "hash", 10, 100);
        if (side)
            call(builder, check, "hash", 10, 100);
        sides[side] = crn_profile_builder_end(builder);
    }
    crn_why why = why_of_two(sides[0], sides[1]), back = why_of_two(sides[1], sides[0]);
    assert_int_equal(why.cause_count, 1);
    assert_int_equal(why.causes[0].kind, CRN_WHY_CALLER_NEW);
    assert_string_equal(why.blocks[why.causes[0].caller]->name, "check");
    assert_near(why.causes[0].amount, 100);
    assert_int_equal(back.causes[0].kind, CRN_WHY_CALLER_GONE);
    assert_near(back.causes[0].amount, -100);
    crn_why_free(&why);
    crn_why_free(&back);
    crn_profile_free(sides[0]);
    crn_profile_free(sides[1]);
}

static void a_function_was_renamed(void **state)
{
    (void)state;
    crn_profile *sides[2];
    for (int side = 0; side < 2; side++) {
        crn_profile_builder *builder = crn_profile_builder_new();
        uint32_t main = call(builder, crn_profile_builder_root(builder), "main", 1, 5);
        uint32_t parse = call(builder, main, side ? "parse_expression" : "parse_expr", 10, 100);
        call(builder, parse, "lex", side ? 60 : 30, side ? 600 : 300);
        sides[side] = crn_profile_builder_end(builder);
    }
    crn_why why = why_of_two(sides[0], sides[1]);
    assert_int_equal(why.match_count, 1);
    assert_string_equal(why.matches[0].before->name, "parse_expr");
    assert_int_equal(why.cause_count, 1);
    assert_int_equal(why.causes[0].kind, CRN_WHY_CALLS);
    assert_near(why.causes[0].amount, 300);
    crn_why_free(&why);
    crn_profile_free(sides[0]);
    crn_profile_free(sides[1]);
}

/* ---- noise ---- */

/* Runs whose g costs 700 on average with a spread of 10 %; `more` of it. */
static void make_runs(random_source *random, crn_profile **runs, size_t count, double more)
{
    for (size_t i = 0; i < count; i++) {
        double noise = 0.9 + (double)random_below(random, 2001) / 10000;
        crn_profile_builder *builder = crn_profile_builder_new();
        uint32_t main = call(builder, crn_profile_builder_root(builder), "main", 1, 1000);
        call(builder, main, "g", 100, (uint64_t)(70000 * noise * more));
        call(builder, main, "h", 100, 50000);
        runs[i] = crn_profile_builder_end(builder);
    }
}

/* In how many of 200 comparisons the change of g is told from noise. */
static unsigned told(double more)
{
    enum { RUNS = 8, TIMES = 200 };
    random_source random = {11};
    unsigned found = 0;
    for (int i = 0; i < TIMES; i++) {
        crn_profile *before[RUNS], *after[RUNS];
        make_runs(&random, before, RUNS, 1);
        make_runs(&random, after, RUNS, more);
        crn_why why = why_of((const crn_profile *const *)before, RUNS,
                             (const crn_profile *const *)after, RUNS);
        assert_true(why.noise_known);
        assert_adds_up(&why);
        const crn_why_cause *cause = cause_of(&why, CRN_WHY_COST, "g");
        assert_non_null(cause);
        assert_int_equal(cause->chance, why.chance); /* it is all of the change */
        found += !cause->chance;
        crn_why_free(&why);
        for (int run = 0; run < RUNS; run++) {
            crn_profile_free(before[run]);
            crn_profile_free(after[run]);
        }
    }
    return found;
}

static void noise_is_no_change(void **state)
{
    (void)state;
    assert_in_range(told(1), 0, 20); /* 5 % are expected: 10 of 200 */
    assert_in_range(told(1.15), 190, 200);
}

/* ---- random trees ---- */

static crn_profile *random_profile(random_source *random)
{
    enum { CONTEXTS = 60, BLOCKS = 12 };
    uint32_t contexts[CONTEXTS];
    crn_profile_builder *builder = crn_profile_builder_new();
    contexts[0] = crn_profile_builder_root(builder);
    for (uint32_t i = 1; i < CONTEXTS; i++) {
        char name[] = {'f', (char)('a' + random_below(random, BLOCKS)), 0};
        contexts[i] = call(builder, contexts[random_below(random, i)], name,
                           random_chance(random, 1, 8) ? 0 : random_below(random, 1000),
                           random_chance(random, 1, 3) ? 0 : random_below(random, 100000));
    }
    return crn_profile_builder_end(builder);
}

static void parts_add_up(void **state)
{
    (void)state;
    random_source random = {3};
    for (int i = 0; i < 400; i++) {
        crn_profile *profiles[5];
        for (int p = 0; p < 5; p++)
            profiles[p] = random_profile(&random);
        size_t before = 1 + random_below(&random, 3);
        const crn_profile *const *all = (const crn_profile *const *)profiles;
        crn_why why = why_of(all, before, all + before, 5 - before);
        assert_adds_up(&why);
        double total = 0;
        for (size_t p = before; p < 5; p++)
            total += (double)crn_metric_total(profiles[p], CRN_METRIC_TICKS);
        assert_near(why.total[CRN_AFTER], total / (double)(5 - before));
        for (size_t k = 0; k < why.cause_count; k++)
            assert_true(isfinite(why.causes[k].amount) && isfinite(why.causes[k].error));
        crn_why_free(&why);
        crn_why same = why_of(all, 1, all, 1);
        assert_int_equal(same.cause_count, 0);
        crn_why_free(&same);
        for (int p = 0; p < 5; p++)
            crn_profile_free(profiles[p]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_n),
        cmocka_unit_test(it_is_g),
        cmocka_unit_test(it_is_both),
        cmocka_unit_test(it_begins_above),
        cmocka_unit_test(it_has_moved),
        cmocka_unit_test(a_caller_is_new),
        cmocka_unit_test(a_function_was_renamed),
        cmocka_unit_test(noise_is_no_change),
        cmocka_unit_test(parts_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
