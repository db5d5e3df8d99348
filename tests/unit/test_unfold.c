/* SPDX-License-Identifier: MIT
 *
 * Estimated call paths: compared with paths that a recursion finds, on random call graphs.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "profile/profile.h"
#include "support/cases.h"
#include "support/random.h"

enum { FUNCTIONS = 7 };
#define CUT 1e-4 /* smaller shares may be cut, and stay with the largest path */

/* A call graph as callgrind's files have it: calls[0] are the root's. */
typedef struct call_graph {
    uint64_t self[FUNCTIONS], calls[FUNCTIONS][FUNCTIONS];
} call_graph;

static uint32_t block(crn_profile_builder *builder, uint32_t function)
{
    char name[16];
    snprintf(name, sizeof name, "f%" PRIu32, function);
    return crn_profile_builder_block(builder, &(crn_block_info){.name = name, .file = "a.c"});
}

static crn_profile *profile_of(const call_graph *graph)
{
    crn_profile_builder *builder = crn_profile_builder_new();
    uint32_t root = crn_profile_builder_root(builder);
    for (uint32_t f = 1; f < FUNCTIONS; f++) {
        uint32_t context =
            crn_profile_builder_child(builder, root, block(builder, f), graph->calls[0][f]);
        crn_profile_builder_charge(builder, context, CRN_METRIC_TICKS, graph->self[f]);
        for (uint32_t to = 1; to < FUNCTIONS; to++)
            if (graph->calls[f][to])
                crn_profile_builder_child(builder, context, block(builder, to),
                                          graph->calls[f][to]);
    }
    crn_profile_builder_note(builder, CRN_NOTE_STATIC_CALLS, "1");
    return crn_profile_builder_end(builder);
}

static crn_profile *unfold(const call_graph *graph)
{
    crn_profile *profile = profile_of(graph), *paths = crn_profile_unfold(profile, "ticks");
    crn_profile_free(profile);
    return paths;
}

static uint32_t function_of(const crn_profile *profile, uint32_t context)
{
    return (uint32_t)strtoul(profile->blocks[profile->block[context]].name + 1, NULL, 10);
}

static void assert_near(uint64_t found, double expected)
{
    if (fabs((double)found - expected) > 1e-3 * expected + 1e6)
        fail_msg("%" PRIu64 " in place of %.9g", found, expected);
}

/* Sums by function are the same before and after. */
static void assert_conserved(const call_graph *graph, const crn_profile *paths)
{
    uint64_t self[FUNCTIONS] = {0}, calls[FUNCTIONS] = {0};
    for (uint32_t c = 1; c < paths->context_count; c++) {
        self[function_of(paths, c)] += crn_self(paths, CRN_METRIC_TICKS, c);
        calls[function_of(paths, c)] += crn_self(paths, CRN_METRIC_CALLS, c);
    }
    for (uint32_t f = 1; f < FUNCTIONS; f++) {
        uint64_t expected = 0;
        for (uint32_t from = 0; from < FUNCTIONS; from++)
            expected += graph->calls[from][f];
        assert_int_equal(calls[f], expected);
        assert_int_equal(self[f], graph->self[f]);
    }
}

/* Each call is from a lower number to a higher one, so there is no cycle. */
static call_graph random_graph(random_source *random, bool cycles)
{
    call_graph graph = {0};
    for (uint32_t from = 0; from < FUNCTIONS; from++) {
        graph.self[from] = from ? 1000000000 + random_below(random, 1000000000) : 0;
        for (uint32_t to = cycles ? 1 : from + 1; to < FUNCTIONS; to++)
            if (random_below(random, 3) == 0)
                graph.calls[from][to] = 1000000000 + random_below(random, 1000000000);
    }
    graph.calls[1][2] += 7;
    return graph;
}

typedef struct expectation {
    const call_graph *graph;
    const crn_profile *paths;
    uint64_t in[FUNCTIONS]; /* calls of a function */
    uint32_t found;         /* contexts */
} expectation;

static uint32_t child_of(const crn_profile *paths, uint32_t context, uint32_t function)
{
    for (uint32_t c = context + 1; c < paths->context_count; c++)
        if (paths->parent[c] == context && function_of(paths, c) == function)
            return c;
    return CRN_CONTEXT_NONE;
}

static void expect_path(expectation *all, uint32_t parent, uint32_t function, double share)
{
    uint32_t context = child_of(all->paths, parent, function);
    if (context == CRN_CONTEXT_NONE && share < CUT)
        return;
    if (context == CRN_CONTEXT_NONE)
        fail_msg("a path with a share of %g is missing", share);
    all->found++;
    assert_near(crn_self(all->paths, CRN_METRIC_TICKS, context),
                share * (double)all->graph->self[function]);
    assert_near(crn_self(all->paths, CRN_METRIC_CALLS, context), share * (double)all->in[function]);
    for (uint32_t to = 1; to < FUNCTIONS; to++)
        if (all->graph->calls[function][to])
            expect_path(all, context, to,
                        share * (double)all->graph->calls[function][to] / (double)all->in[to]);
}

static void paths_are_shared_by_calls(void **state)
{
    (void)state;
    random_source random = {1};
    for (int round = 0; round < 200; round++) {
        call_graph graph = random_graph(&random, false);
        crn_profile *paths = unfold(&graph);
        expectation all = {.graph = &graph, .paths = paths};
        for (uint32_t from = 0; from < FUNCTIONS; from++)
            for (uint32_t to = 1; to < FUNCTIONS; to++)
                all.in[to] += graph.calls[from][to];
        for (uint32_t f = 1; f < FUNCTIONS; f++) {
            if (!all.in[f])
                expect_path(&all, 0, f, 1);
            else if (graph.calls[0][f])
                expect_path(&all, 0, f, (double)graph.calls[0][f] / (double)all.in[f]);
        }
        assert_int_equal(all.found + 1, paths->context_count);
        assert_conserved(&graph, paths);
        crn_profile_free(paths);
    }
}

static void cycles_lose_nothing(void **state)
{
    (void)state;
    random_source random = {2};
    for (int round = 0; round < 200; round++) {
        call_graph graph = random_graph(&random, true);
        crn_profile *paths = unfold(&graph);
        assert_conserved(&graph, paths);
        crn_profile_free(paths);
    }
}

static void recursion_stays_with_its_caller(void **state)
{
    (void)state;
    call_graph graph = {.self = {0, 5, 600, 70}};
    graph.calls[1][2] = 1; /* f1 calls f2, which calls itself and f3 */
    graph.calls[2][2] = 99;
    graph.calls[2][3] = 10;
    crn_profile *paths = unfold(&graph);
    uint32_t context = child_of(paths, child_of(paths, 0, 1), 2);
    assert_int_equal(crn_self(paths, CRN_METRIC_TICKS, context), 600);
    assert_int_equal(crn_self(paths, CRN_METRIC_CALLS, context), 100);
    context = child_of(paths, context, 3);
    assert_int_equal(crn_self(paths, CRN_METRIC_TICKS, context), 70);
    assert_int_equal(child_of(paths, 0, 2), CRN_CONTEXT_NONE);
    crn_profile_free(paths);
}

/* Each function calls the next two: the number of paths doubles with each pair. */
static void exploding_paths_are_cut(void **state)
{
    (void)state;
    crn_profile_builder *builder = crn_profile_builder_new();
    uint32_t root = crn_profile_builder_root(builder);
    for (uint32_t f = 1; f <= 2000; f++) {
        uint32_t context = crn_profile_builder_child(builder, root, block(builder, f), 0);
        crn_profile_builder_charge(builder, context, CRN_METRIC_TICKS, f);
        for (uint32_t to = f + 1; to <= f + 2 && to <= 2000; to++)
            crn_profile_builder_child(builder, context, block(builder, to), 5);
    }
    crn_profile_builder_note(builder, CRN_NOTE_STATIC_CALLS, "1");
    crn_profile *profile = crn_profile_builder_end(builder);
    crn_profile *paths = crn_profile_unfold(profile, "ticks");
    uint64_t total = 0;
    for (uint32_t c = 0; c < paths->context_count; c++)
        total += crn_self(paths, CRN_METRIC_TICKS, c);
    assert_int_equal(total, 2000 * 2001 / 2);
    assert_true(paths->context_count < 110000);
    crn_profile_free(paths);
    crn_profile_free(profile);
}

static void paths_that_were_recorded_stay(void **state)
{
    (void)state;
    crn_profile_builder *builder = crn_profile_builder_new();
    uint32_t root = crn_profile_builder_root(builder);
    crn_profile_builder_child(builder,
                              crn_profile_builder_child(builder, root, block(builder, 1), 1),
                              block(builder, 2), 1);
    crn_profile *profile = crn_profile_builder_end(builder);
    assert_null(crn_profile_unfold(profile, "ticks"));
    crn_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(paths_are_shared_by_calls),
        cmocka_unit_test(cycles_lose_nothing),
        cmocka_unit_test(recursion_stays_with_its_caller),
        cmocka_unit_test(exploding_paths_are_cut),
        cmocka_unit_test(paths_that_were_recorded_stay),
    };
    return cmocka_run_group_tests_name("unfold", cases, NULL, NULL);
}
