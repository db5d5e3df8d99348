/* SPDX-License-Identifier: MIT
 *
 * test_block_set.c - block sets, call graphs of some blocks, and merged instances of templates,
 * compared with a computation on explicit paths.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "profile/profile.h"
#include "query/query.h"
#include "support/cases.h"
#include "support/profiles.h"
#include "support/random_profile.h"

enum { PROFILES = 25, BLOCKS = 8, EVENTS = 600, MATRIX = BLOCKS + 1 };

/* ---- expressions ---- */

static const crn_block_set_about about = {CRN_METRIC_TICKS, "<gc>"};

typedef struct calls {
    bool from[MATRIX][MATRIX]; /* caller, callee */
} calls;

static calls calls_of(const crn_profile *profile)
{
    calls calls = {0};
    for (uint32_t c = 1; c < profile->context_count; c++)
        calls.from[profile->block[profile->parent[c]]][profile->block[c]] = true;
    for (uint32_t e = 0; e < profile->edge_count; e++)
        calls.from[profile->block[profile->edges[e].from]]
                  [profile->block[profile->edges[e].target]] = true;
    return calls;
}

/* Warshall's closure, and each block with itself. */
static calls closure_of(calls calls)
{
    for (int k = 0; k < MATRIX; k++)
        for (int i = 0; i < MATRIX; i++)
            for (int j = 0; j < MATRIX; j++)
                calls.from[i][j] |= calls.from[i][k] && calls.from[k][j];
    for (int i = 0; i < MATRIX; i++)
        calls.from[i][i] = true;
    return calls;
}

static uint8_t *set_of(const crn_profile *profile, const char *expression)
{
    crn_error error = {0};
    uint8_t *set = crn_block_set_make(profile, about, expression, &error);
    if (!set)
        fail_msg("%s: %s", expression, error.message);
    return set;
}

static void assert_relation(const crn_profile *profile, const char *word, const calls *relation,
                            bool callers)
{
    for (uint32_t of = 1; of < profile->block_count; of++) {
        char expression[64];
        snprintf(expression, sizeof expression, "%s(is('#%u'))", word, of);
        uint8_t *set = set_of(profile, expression);
        assert_false(set[0]);
        for (uint32_t b = 1; b < profile->block_count; b++)
            assert_int_equal(set[b], callers ? relation->from[b][of] : relation->from[of][b]);
        crn_free(set);
    }
}

static void callers_and_callees_are_those_of_the_paths(void **state)
{
    (void)state;
    random_source random = {17};
    for (int i = 0; i < PROFILES; i++) {
        crn_profile *profile = random_profile(&random, BLOCKS, EVENTS, NULL);
        calls calls = calls_of(profile), closure = closure_of(calls);
        assert_relation(profile, "pred", &calls, true);
        assert_relation(profile, "succ", &calls, false);
        assert_relation(profile, "to", &closure, true);
        assert_relation(profile, "from", &closure, false);
        crn_profile_free(profile);
    }
}

/* ---- random expressions, in both forms, compared with their values for each block ---- */

enum { EXPRESSION_SIZE = 4096, EXPRESSION_DEPTH = 4 };

typedef struct writing {
    random_source *random;
    const crn_profile *profile;
    const calls *calls, *closure;
    const crn_block_cost *cost;
    bool prefix; /* as MLton has it */
    char text[EXPRESSION_SIZE];
} writing;

static void put(writing *writing, const char *text)
{
    strncat(writing->text, text, EXPRESSION_SIZE - strlen(writing->text) - 1);
}

/* NAME(...) or (NAME ...) */
static void open_word(writing *writing, const char *word)
{
    put(writing, writing->prefix ? "(" : word);
    put(writing, writing->prefix ? word : "(");
    put(writing, " ");
}

static void write_leaf(writing *writing, bool set[MATRIX])
{
    char text[64];
    uint32_t block = 1 + random_below(writing->random, writing->profile->block_count - 1);
    uint32_t percent = random_below(writing->random, 101);
    switch (random_below(writing->random, 4)) {
    case 0:
        put(writing, "all");
        break;
    case 1:
        open_word(writing, "is");
        snprintf(text, sizeof text, "'#%u')", block);
        put(writing, text);
        break;
    case 2:
        snprintf(text, sizeof text, "\"^%s$\"", writing->profile->blocks[block].name);
        put(writing, text);
        break;
    default:
        open_word(writing, "thresh-stack");
        snprintf(text, sizeof text, "%u)", percent);
        put(writing, text);
        for (uint32_t b = 1; b < writing->profile->block_count; b++)
            set[b] = 100 * writing->cost->inclusive[b] >= percent * writing->cost->total;
        return;
    }
    bool all = strcmp(writing->text + strlen(writing->text) - 3, "all") == 0;
    for (uint32_t b = 1; b < writing->profile->block_count; b++)
        set[b] = all || b == block;
}

static void write_expression(writing *writing, int depth, bool set[MATRIX]);

static void write_joined(writing *writing, int depth, bool both, bool set[MATRIX])
{
    bool other[MATRIX] = {0};
    put(writing, writing->prefix ? both ? "(and " : "(or " : "(");
    write_expression(writing, depth - 1, set);
    put(writing, writing->prefix ? " " : both ? " and " : " or ");
    write_expression(writing, depth - 1, other);
    put(writing, ")");
    for (int b = 1; b < MATRIX; b++)
        set[b] = both ? set[b] && other[b] : set[b] || other[b];
}

static void write_related(writing *writing, int depth, uint32_t which, bool set[MATRIX])
{
    static const char *const words[] = {"pred", "succ", "to", "from"};
    bool of[MATRIX] = {0};
    open_word(writing, words[which]);
    write_expression(writing, depth - 1, of);
    put(writing, ")");
    const calls *relation = which < 2 ? writing->calls : writing->closure;
    for (int b = 1; b < MATRIX; b++)
        for (int other = 1; other < MATRIX; other++)
            if (of[other] && (which % 2 ? relation->from[other][b] : relation->from[b][other]))
                set[b] = true;
}

static void write_expression(writing *writing, int depth, bool set[MATRIX])
{
    uint32_t which = depth ? random_below(writing->random, 8) : 0;
    if (which == 0) {
        write_leaf(writing, set);
    } else if (which == 1) {
        put(writing, writing->prefix ? "(not " : "not ");
        write_expression(writing, depth - 1, set);
        put(writing, writing->prefix ? ")" : "");
        for (uint32_t b = 1; b < MATRIX; b++)
            set[b] = !set[b];
    } else if (which < 4) {
        write_joined(writing, depth, which == 2, set);
    } else {
        write_related(writing, depth, which - 4, set);
    }
}

static void random_expressions_are_evaluated(void **state)
{
    (void)state;
    random_source random = {21};
    for (int i = 0; i < PROFILES; i++) {
        crn_profile *profile = random_profile(&random, BLOCKS, EVENTS, NULL);
        crn_block_cost cost = crn_block_cost_make(profile, CRN_METRIC_TICKS, NULL);
        calls calls = calls_of(profile), closure = closure_of(calls);
        for (int k = 0; k < 20; k++) {
            writing writing = {&random, profile, &calls, &closure, &cost, k % 2, ""};
            bool expected[MATRIX] = {0};
            write_expression(&writing, EXPRESSION_DEPTH, expected);
            uint8_t *set = set_of(profile, writing.text);
            assert_int_equal(set[0], 0);
            for (uint32_t b = 1; b < profile->block_count; b++)
                if (set[b] != expected[b])
                    fail_msg("%s: block %u", writing.text, b);
            crn_free(set);
        }
        crn_block_cost_free(&cost);
        crn_profile_free(profile);
    }
}

static void thresholds_are_shares_of_the_whole(void **state)
{
    (void)state;
    random_source random = {18};
    for (int i = 0; i < PROFILES; i++) {
        crn_profile *profile = random_profile(&random, BLOCKS, EVENTS, NULL);
        crn_block_cost cost = crn_block_cost_make(profile, CRN_METRIC_TICKS, NULL);
        uint8_t *own = set_of(profile, "thresh(12.5)"), *on = set_of(profile, "thresh-stack(50)");
        uint8_t *gc = crn_block_set_make(profile, (crn_block_set_about){CRN_METRIC_TICKS, "b2"},
                                         "thresh-gc(25%)", NULL);
        uint8_t *collectors = crn_stack_collectors(profile, "b2");
        crn_stack stack = crn_stack_make(profile, CRN_METRIC_TICKS, collectors, NULL);
        for (uint32_t b = 1; b < profile->block_count; b++) {
            assert_int_equal(own[b], 8 * cost.self[b] >= cost.total);
            assert_int_equal(on[b], 2 * cost.inclusive[b] >= cost.total);
            assert_int_equal(gc[b], 4 * stack.collector[b] >= cost.total);
        }
        crn_stack_free(&stack);
        crn_free(collectors);
        crn_free(gc);
        crn_free(own);
        crn_free(on);
        crn_block_cost_free(&cost);
        crn_profile_free(profile);
    }
}

static crn_profile *named(const char *const *names, const uint32_t *lines, uint32_t count)
{
    crn_profile_builder *builder = crn_profile_builder_new();
    uint32_t context = crn_profile_builder_root(builder);
    for (uint32_t i = 0; i < count; i++) {
        crn_block_info info = {.name = names[i], .file = "a.cpp", .line = lines[i], .column = 1};
        uint32_t block = crn_profile_builder_block(builder, &info);
        context = crn_profile_builder_child(builder, context, block, i + 1);
        crn_profile_builder_charge(builder, context, CRN_METRIC_TICKS, 1u << i);
    }
    return crn_profile_builder_end(builder);
}

static void operators_bind_as_they_are_read(void **state)
{
    (void)state;
    static const char *const names[] = {"alpha", "beta", "gamma"};
    static const uint32_t lines[] = {1, 2, 3};
    static const struct {
        const char *expression;
        uint8_t set[4];
    } cases[] = {{"all", {0, 1, 1, 1}},
                 {"\"^al\"", {0, 1, 0, 0}},
                 {"'a$' and not 'm'", {0, 1, 1, 0}},
                 {"'alpha' or 'beta' and 'gamma'", {0, 1, 0, 0}},
                 {"('alpha' or 'beta') and not 'gamma'", {0, 1, 1, 0}},
                 {"not not 'beta'", {0, 0, 1, 0}},
                 {"not 'beta' and 'a'", {0, 1, 0, 1}},
                 {"file('cpp$')", {0, 1, 1, 1}},
                 {"  succ ( 'alpha' )  ", {0, 0, 1, 0}},
                 {"pred(pred('gamma')) or succ('nothing')", {0, 1, 0, 0}},
                 {"(and 'a' (not 'beta') 'l|g')", {0, 1, 0, 1}},
                 {"(or 'alpha')", {0, 1, 0, 0}},
                 {"to 'beta' and not is 'alpha'", {0, 0, 1, 0}},
                 {"(thresh 50%) or ( thresh-stack (100) )", {0, 1, 0, 1}},
                 {"name = 'beta'", {0, 0, 1, 0}},
                 {"\"name\" = \"beta\"", {0, 0, 1, 0}},
                 {"name regexp '^[ab]' and line between 2 and 3 and not 'gamma'", {0, 0, 1, 0}},
                 {"name like 'G%' or to(line * 2 = 4)", {0, 1, 1, 1}},
                 {"(line + 1) * 2 = 8 or line in (1, 9)", {0, 1, 0, 1}},
                 {"file regexp 'cpp$' and (select count(*) from blocks) = 4", {0, 1, 1, 1}},
                 {"file is not null and is('beta')", {0, 0, 1, 0}},
                 {"case when line = 2 and 1 then 1 else 0 end or 'gamma'", {0, 0, 1, 1}},
                 {"pred(id = block('gamma'))", {0, 0, 1, 0}},
                 {"thresh(id, 50) and ticks(id) > 3", {0, 0, 0, 1}},
                 {"name = 'it''s' or 'alpha' -- said", {0, 1, 0, 0}}};
    crn_profile *profile = named(names, lines, 3);
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint8_t *set = set_of(profile, cases[i].expression);
        assert_memory_equal(set, cases[i].set, 4);
        crn_free(set);
    }
    crn_profile_free(profile);
}

static void invalid_expressions_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "and",
                                      "'a' and",
                                      "'a' 'b'",
                                      "all(",
                                      "'a",
                                      "pred",
                                      "pred(",
                                      "pred('a'",
                                      "thresh()",
                                      "thresh(x)",
                                      "thresh(-1)",
                                      "thresh(101)",
                                      "is('none')",
                                      "'['",
                                      "('a'",
                                      "'a')",
                                      "file(a)",
                                      "nonsense('a')",
                                      "(and)",
                                      "(or 'a'",
                                      "(and 'a' or 'b')",
                                      "to",
                                      "thresh",
                                      "thresh-gc(",
                                      "thresh 1 2",
                                      "nme = 'a'",
                                      "name =",
                                      "name = 'a' name",
                                      "1) or (1",
                                      "1; delete from blocks",
                                      "(select 1"};
    static const char *const names[] = {"alpha"};
    static const uint32_t lines[] = {1};
    crn_profile *profile = named(names, lines, 1);
    for (size_t i = 0; i < COUNT(bad); i++) {
        crn_error error = {0};
        assert_null(crn_block_set_make(profile, about, bad[i], &error));
        assert_true(*error.message);
    }
    char deep[4096];
    memset(deep, '(', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    crn_error error = {0};
    assert_null(crn_block_set_make(profile, about, deep, &error));
    crn_profile_free(profile);
}

/* ---- call graphs of the shown blocks ---- */

/* Over all contexts and edges: each call into a shown block is of the nearest shown above. */
static void arrows_are_those_of_the_paths(void **state)
{
    (void)state;
    random_source random = {19};
    for (int i = 0; i < PROFILES; i++) {
        crn_profile *profile = random_profile(&random, BLOCKS, EVENTS, NULL);
        uint8_t shown[MATRIX] = {0};
        for (uint32_t b = 1; b < profile->block_count; b++)
            shown[b] = random_chance(&random, 1, 2);
        uint64_t expected[2][MATRIX][MATRIX] = {0};
        for (uint32_t k = 0; k < profile->context_count + profile->edge_count; k++) {
            bool edge = k >= profile->context_count;
            const crn_profile_edge *of = &profile->edges[k - profile->context_count];
            uint32_t target = edge ? of->target : k, from = edge ? of->from : profile->parent[k];
            if (!k || !shown[profile->block[target]])
                continue;
            uint32_t at = from;
            while (at && !shown[profile->block[at]])
                at = profile->parent[at];
            if (at)
                expected[at != from][profile->block[at]][profile->block[target]] +=
                    edge ? of->calls : profile->calls_tree[k];
        }
        crn_shown_graph graph = crn_shown_graph_make(profile, shown, NULL);
        for (uint32_t k = 0; k < graph.count; k++) {
            const crn_shown_arrow *arrow = &graph.arrows[k];
            uint64_t *calls = &expected[arrow->indirect][arrow->caller][arrow->callee];
            assert_int_equal(arrow->calls, *calls);
            *calls = 0;
        }
        uint64_t nothing[2][MATRIX][MATRIX] = {0};
        assert_memory_equal(expected, nothing, sizeof nothing);
        crn_shown_graph_free(&graph);
        crn_profile_free(profile);
    }
}

/* ---- instances ---- */

static uint32_t block_named(const crn_profile *profile, const char *name)
{
    for (uint32_t b = 0; b < profile->block_count; b++)
        if (strcmp(profile->blocks[b].name, name) == 0)
            return b;
    return CRN_CONTEXT_NONE;
}

static void instances_become_one(void **state)
{
    (void)state;
    static const char *const names[] = {"sort<int>(int*)",
                                        "sort<char>(char*)",
                                        "map<std::pair<int, int>>::at(int) [clone .cold]",
                                        "map<int>::at(int)",
                                        "operator<<int>",
                                        "s::operator()<int>(int)",
                                        "s::operator()<long>(long)",
                                        "less.constprop.0",
                                        "less",
                                        "other<int>",
                                        "(anonymous namespace)::f<1>()",
                                        "(anonymous namespace)::f<2>()",
                                        "g<int>(int)::{lambda(int)#1}::operator()",
                                        "g<long>(long)::{lambda(long)#1}::operator()"};
    static const uint32_t lines[] = {10, 10, 20, 20, 30, 40, 40, 50, 50, 60, 70, 70, 80, 80};
    crn_profile *profile = named(names, lines, COUNT(names));
    crn_profile *merged = crn_instances_merge(profile, NULL);
    static const char *const expected[] = {
        "sort", "map::at",    "operator<<int>",           "s::operator()",
        "less", "other<int>", "(anonymous namespace)::f", "g::{lambda#1}::operator()"};
    assert_int_equal(merged->block_count, COUNT(expected) + 1);
    for (size_t i = 0; i < COUNT(expected); i++)
        assert_int_not_equal(block_named(merged, expected[i]), CRN_CONTEXT_NONE);
    for (uint32_t m = 0; m < 2; m++)
        assert_int_equal(crn_metric_total(merged, m), crn_metric_total(profile, m));
    /* One that called another is a cycle. */
    crn_block_cost cost = crn_block_cost_make(merged, CRN_METRIC_TICKS, NULL);
    assert_int_equal(cost.self[block_named(merged, "sort")], 3);
    crn_block_cost_free(&cost);
    crn_profile_free(merged);

    uint8_t apart[COUNT(names) + 1] = {[1] = 1};
    merged = crn_instances_merge(profile, apart);
    assert_int_not_equal(block_named(merged, "sort<int>(int*)"), CRN_CONTEXT_NONE);
    assert_int_not_equal(block_named(merged, "sort<char>(char*)"), CRN_CONTEXT_NONE);
    crn_profile_free(merged);
    crn_profile_free(profile);
}

static void merging_keeps_all_that_was_counted(void **state)
{
    (void)state;
    random_source random = {20};
    for (int i = 0; i < PROFILES; i++) {
        crn_profile *profile = random_profile(&random, BLOCKS, EVENTS, NULL);
        crn_interning *texts = crn_interning_new();
        for (uint32_t b = 1; b < profile->block_count; b++) {
            char name[32];
            snprintf(name, sizeof name, "f%u<%u>", b % 3, b);
            crn_block_info *info = &profile->blocks[b];
            *info = (crn_block_info){
                .name = crn_intern_text(texts, name), .file = "a.cpp", .line = 1 + b % 3};
        }
        crn_profile *merged = crn_instances_merge(profile, NULL);
        for (uint32_t m = 0; m < profile->metric_count; m++)
            assert_int_equal(crn_metric_total(merged, m), crn_metric_total(profile, m));
        crn_profile_free(merged);
        crn_profile_free(profile);
        crn_interning_free(texts);
    }
}

int main(void)
{
    static const struct CMUnitTest cases[] = {
        cmocka_unit_test(callers_and_callees_are_those_of_the_paths),
        cmocka_unit_test(random_expressions_are_evaluated),
        cmocka_unit_test(thresholds_are_shares_of_the_whole),
        cmocka_unit_test(operators_bind_as_they_are_read),
        cmocka_unit_test(invalid_expressions_are_refused),
        cmocka_unit_test(arrows_are_those_of_the_paths),
        cmocka_unit_test(instances_become_one),
        cmocka_unit_test(merging_keeps_all_that_was_counted),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
