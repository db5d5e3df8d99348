/* SPDX-License-Identifier: MIT
 *
 * test_graph.c - the context graph alone, without strands or files, against the reference.
 */
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "graph/records.h"
#include "support/cases.h"
#include "support/random.h"
#include "support/reference.h"
#include "support/scratch.h"
#include "support/streams.h"

static void open_graph(crn_graph *graph, uint32_t path_limit, uint32_t budget)
{
    memset(graph, 0, sizeof(*graph));
    graph->grow = crn_graph_grow_memory;
    graph->path_limit = path_limit;
    graph->context_budget = budget;
    graph->edge_budget = UINT32_MAX;
    assert_true(crn_graph_open(graph));
}

static void close_graph(crn_graph *graph)
{
    crn_graph_close(graph);
    crn_graph_free_memory(graph);
}

/* The blocks of a context's path, read off the records by walking up. */
static uint32_t path_of(const crn_graph *graph, uint32_t unit, uint32_t *path, uint32_t room)
{
    uint32_t length = crn_graph_context(graph, unit)->depth;
    assert_in_range(length, 1, room);
    uint32_t at = unit;
    for (uint32_t i = length; i-- > 0; at = crn_graph_context(graph, at)->edge.from) {
        path[i] = crn_graph_context(graph, at)->block;
        if (i == 0)
            assert_int_equal(at, CRN_ROOT_UNIT);
    }
    return length;
}

/* Walks at random, now and then back up, and holds each step against the definition. */
static void walk_both(uint64_t seed)
{
    static const uint32_t limits[] = {1024, 1024, 4, 7, 64};
    random_source random = {seed};
    uint32_t blocks = 1 + random_below(&random, 1u << random_below(&random, 8));
    uint32_t limit = limits[random_below(&random, COUNT(limits))];
    uint32_t steps = 20000;
    bool word = random_chance(&random, 1, 3);
    crn_graph graph;
    reference_graph expected;
    reference_strand strand;
    open_graph(&graph, limit, 4000000);
    reference_graph_start(&expected, limit, 4000000);
    reference_strand_start(&strand, &expected, true);
    uint32_t *units = calloc(steps + 1, sizeof(*units)); /* of the stack */
    uint32_t unit = CRN_ROOT_UNIT;
    for (uint32_t i = 0; i < steps; i++) {
        if (random_chance(&random, 1, 3) && strand.depth > 0) {
            unit = units[strand.depth - 1];
            reference_leave(&strand);
            continue;
        }
        uint32_t block = 1 + (word ? stream_square_free(i) : random_below(&random, blocks));
        units[strand.depth] = unit;
        reference_enter(&strand, block, true);
        const cairn_priv_edge *edge =
            crn_graph_edge(&graph, crn_graph_append(&graph, unit, block));
        assert_int_equal(edge->from, unit);
        unit = edge->target;
        uint32_t path[1025];
        const reference_context *context = &expected.contexts[strand.current];
        assert_int_equal(path_of(&graph, unit, path, 1025), context->length);
        assert_memory_equal(path, context->path, context->length * sizeof(*path));
    }
    assert_int_equal(graph.context_count, expected.context_count);

    crn_records records;
    assert_true(crn_records_scan(&records, graph.hot.base, graph.used));
    assert_true(records.whole);
    assert_int_equal(records.context_count, expected.context_count);
    crn_records_free(&records);
    free(units);
    reference_strand_end(&strand);
    reference_graph_end(&expected);
    close_graph(&graph);
}

static void walks_go_where_the_definition_says(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= scale(300); seed++)
        walk_both(seed);
}

static void every_edge_is_found_again(void **state)
{
    (void)state;
    crn_graph graph;
    open_graph(&graph, 1024, 4000000);
    uint32_t width = 100000;
    uint32_t *edges = calloc(width, sizeof(*edges));
    for (uint32_t block = 1; block < width; block++) {
        assert_int_equal(crn_graph_find(&graph, CRN_ROOT_UNIT, block), 0);
        edges[block] = crn_graph_follow(&graph, CRN_ROOT_UNIT, block);
    }
    for (uint32_t block = 1; block < width; block++) {
        assert_int_equal(crn_graph_find(&graph, CRN_ROOT_UNIT, block), edges[block]);
        assert_int_equal(crn_graph_append(&graph, CRN_ROOT_UNIT, block), edges[block]);
    }
    assert_int_equal(graph.context_count, width);
    free(edges);
    close_graph(&graph);
}

static void the_budget_is_kept(void **state)
{
    (void)state;
    enum { BUDGET = 500 };
    crn_graph graph;
    open_graph(&graph, 1024, BUDGET);
    uint32_t unit = CRN_ROOT_UNIT;
    for (uint64_t i = 0; i < 100000; i++) {
        const cairn_priv_edge *edge = crn_graph_edge(
            &graph, crn_graph_follow(&graph, unit, 1 + stream_square_free(i)));
        unit = edge->target;
    }
    assert_in_range(graph.context_count, BUDGET - 8, BUDGET + 8);
    close_graph(&graph);
}

/* Two graphs of random walks, added to a third, are the graph of both walks. */
static void merging_is_walking_both(void **state)
{
    (void)state;
    random_source random = {99};
    for (uint64_t round = 0; round < scale(50); round++) {
        crn_graph parts[2], both, merged;
        open_graph(&both, 1024, 4000000);
        open_graph(&merged, 1024, 4000000);
        uint64_t calls = 0;
        for (int i = 0; i < 2; i++) {
            open_graph(&parts[i], 1024, 4000000);
            uint32_t unit = CRN_ROOT_UNIT, other = CRN_ROOT_UNIT;
            for (uint32_t step = random_below(&random, 2000); step > 0; step--, calls++) {
                uint32_t block = 1 + random_below(&random, 3);
                uint32_t edge = crn_graph_append(&parts[i], unit, block);
                crn_graph_edge(&parts[i], edge)->calls++;
                unit = crn_graph_edge(&parts[i], edge)->target;
                edge = crn_graph_append(&both, other, block);
                crn_graph_edge(&both, edge)->calls++;
                other = crn_graph_edge(&both, edge)->target;
                if (random_chance(&random, 1, 10))
                    unit = other = CRN_ROOT_UNIT;
            }
            crn_records records;
            assert_true(crn_records_scan(&records, parts[i].hot.base, parts[i].used));
            uint32_t *map = calloc(records.context_count, sizeof(*map));
            crn_records_merge(&records, &merged, NULL, 0, map);
            for (uint32_t number = 0; number < records.context_count; number++) {
                uint32_t from[1025], to[1025];
                uint32_t length = path_of(&parts[i], records.units[number], from, 1025);
                assert_int_equal(path_of(&merged, map[number], to, 1025), length);
                assert_memory_equal(from, to, length * sizeof(*from));
            }
            free(map);
            crn_records_free(&records);
        }
        assert_int_equal(merged.context_count, both.context_count);
        assert_int_equal(merged.edge_count, both.edge_count);
        crn_records records;
        assert_true(crn_records_scan(&records, merged.hot.base, merged.used));
        for (uint32_t unit = 0; (unit = crn_records_next(&records, unit));)
            calls -= crn_records_edge(&records, unit)->calls & CRN_CALLS_MASK;
        assert_int_equal(calls, 0);
        crn_records_free(&records);
        for (int i = 0; i < 2; i++)
            close_graph(&parts[i]);
        close_graph(&both);
        close_graph(&merged);
    }
}

/* Whatever the bytes are, scanning them ends and reads nothing outside. */
static void damaged_records_are_refused(void **state)
{
    (void)state;
    crn_graph graph;
    open_graph(&graph, 1024, 4000000);
    uint32_t unit = CRN_ROOT_UNIT;
    random_source random = {5};
    for (int i = 0; i < 300; i++)
        unit = crn_graph_edge(&graph,
                              crn_graph_append(&graph, unit, 1 + random_below(&random, 3)))
                   ->target;
    size_t bytes = graph.used * (size_t)CRN_UNIT;
    char *damaged = malloc(bytes);
    for (uint64_t round = 0; round < scale(20000); round++) {
        memcpy(damaged, graph.hot.base, bytes);
        for (int i = 0; i < 4; i++) {
            uint32_t where = random_below(&random, graph.used * 2);
            uint32_t what = random_chance(&random, 1, 2) ? random_below(&random, graph.used + 10)
                                                         : (uint32_t)random_next(&random);
            memcpy(damaged + where * 4u, &what, 4);
        }
        crn_records records;
        uint32_t used = random_below(&random, graph.used + 1);
        assert_true(crn_records_scan(&records, damaged, used));
        assert_true(records.used <= used);
        uint32_t seen = 0;
        for (uint32_t at = 0; (at = crn_records_next(&records, at));)
            seen += crn_records_is_context(&records, at);
        assert_int_equal(seen, records.context_count);
        for (uint32_t number = 0; number < records.context_count; number++)
            assert_int_equal(crn_records_number(&records, records.units[number]), number);
        crn_records_free(&records);
    }
    free(damaged);
    close_graph(&graph);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(walks_go_where_the_definition_says),
        cmocka_unit_test(every_edge_is_found_again),
        cmocka_unit_test(the_budget_is_kept),
        cmocka_unit_test(merging_is_walking_both),
        cmocka_unit_test(damaged_records_are_refused),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
