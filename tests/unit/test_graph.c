/* SPDX-License-Identifier: MIT
 *
 * test_graph.c - the context graph alone, without strands or files, compared with the reference.
 */
#include <cairn/host.h>

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
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
    graph->alias_budget = UINT32_MAX;
    assert_true(crn_graph_open(graph));
}

static void close_graph(crn_graph *graph)
{
    crn_graph_free_memory(graph);
}

static bool scan(crn_records *records, const crn_graph *graph)
{
    return crn_records_scan(records, crn_graph_record(graph, 0), graph->links, graph->used);
}

/* The blocks of a context's path, read off the records by walking up. */
static uint32_t path_of(const crn_graph *graph, uint32_t context, uint32_t *path, uint32_t room)
{
    uint32_t length = crn_graph_link_of(graph, context)->depth;
    assert_in_range(length, 1, room);
    for (uint32_t i = length; i-- > 0; context = crn_graph_link_of(graph, context)->from) {
        path[i] = crn_graph_link_of(graph, context)->block;
        if (i == 0)
            assert_int_equal(context, CRN_RECORD_ROOT);
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
    uint32_t *stack = calloc(steps + 1, sizeof(*stack));
    uint32_t record = CRN_RECORD_ROOT;
    for (uint32_t i = 0; i < steps; i++) {
        if (random_chance(&random, 1, 3) && strand.depth > 0) {
            record = stack[strand.depth - 1];
            reference_leave(&strand);
            continue;
        }
        uint32_t block = 1 + (word ? stream_square_free(i) : random_below(&random, blocks));
        stack[strand.depth] = record;
        reference_enter(&strand, block, true);
        uint32_t from = crn_graph_target(&graph, record);
        record = crn_graph_append(&graph, record, block);
        assert_int_equal(crn_graph_link_of(&graph, record)->from, from);
        uint32_t path[1025];
        const reference_context *context = &expected.contexts[strand.current];
        uint32_t length = path_of(&graph, crn_graph_target(&graph, record), path, 1025);
        assert_int_equal(length, context->length);
        assert_memory_equal(path, context->path, length * sizeof(*path));
    }
    assert_int_equal(graph.context_count, expected.context_count);

    crn_records records;
    assert_true(scan(&records, &graph));
    assert_true(records.whole);
    assert_int_equal(records.context_count, expected.context_count);
    crn_records_free(&records);
    free(stack);
    reference_strand_end(&strand);
    reference_graph_end(&expected);
    close_graph(&graph);
}

static void walks_follow_the_definition(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= scale(60); seed++)
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
        assert_int_equal(crn_graph_find(&graph, CRN_RECORD_ROOT, block), 0);
        edges[block] = crn_graph_follow(&graph, CRN_RECORD_ROOT, block);
    }
    for (uint32_t block = 1; block < width; block++) {
        assert_int_equal(crn_graph_find(&graph, CRN_RECORD_ROOT, block), edges[block]);
        assert_int_equal(crn_graph_append(&graph, CRN_RECORD_ROOT, block), edges[block]);
    }
    assert_int_equal(graph.context_count, width);
    free(edges);
    close_graph(&graph);
}

/* The edge of `from` with this block, found by reading all records. 0 if there is none. */
static uint32_t reference_find(const crn_graph *graph, uint32_t from, cairn_block block)
{
    for (uint32_t record = CRN_RECORD_ROOT + 1; record < graph->used; record++) {
        const crn_link *link = crn_graph_link_of(graph, record);
        if (link->from == from && link->block == block)
            return record;
    }
    return 0;
}

/* The first step of cairn_enter. Returns the record's callee entry, 0 if it has another block's. */
static uint64_t step(const crn_graph *graph, uint64_t node_offset, cairn_block block)
{
    uint64_t callee = cairn_priv_callee(graph->hot.base, node_offset, block);
    return cairn_priv_record_at(&graph->hot, callee)->block == block ? callee : 0;
}

static uint64_t cached_callee(const crn_graph *graph, uint64_t node_offset, cairn_block block)
{
    uint64_t callee = step(graph, node_offset, block);
    return callee ? callee : crn_graph_recall(&graph->hot, node_offset, block);
}

/* Without the index's help: an edge is found if there is one. Beyond the limits of aliases a callee
 * entry may have a record that is another context's edge, which is what append returns then. */
static void hold_finding(crn_graph *graph, uint32_t blocks)
{
    for (uint32_t record = CRN_RECORD_ROOT; record < graph->used; record++) {
        uint32_t from = crn_graph_target(graph, record);
        if (from != record)
            continue;
        for (cairn_block block = 1; block <= blocks + 1; block++) {
            cairn_block sought = block > blocks ? CAIRN_BLOCK_FOLDED : block;
            uint32_t found = crn_graph_find(graph, from, sought),
                     expected = reference_find(graph, from, sought);
            if (found && !expected && graph->alias_count >= graph->alias_budget) {
                assert_int_equal(crn_graph_link_of(graph, found)->block, sought);
                assert_int_not_equal(sought, CAIRN_BLOCK_FOLDED);
                assert_int_equal(crn_graph_append(graph, from, sought), found);
            } else if (sought != CAIRN_BLOCK_FOLDED || from != CRN_RECORD_ROOT) {
                assert_int_equal(found, expected); /* root's [folded] may be in no table */
            }
        }
    }
}

/* Edges are found by callee entries and by the index, whichever has them, after any order of steps,
 * also beyond the limits and with blocks that share callee entries. */
static void every_edge_is_found_by_what_has_it(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= scale(40); seed++) {
        random_source random = {seed};
        crn_graph graph;
        open_graph(&graph, 4 + random_below(&random, 40), 1 + random_below(&random, 300));
        if (seed % 2)
            graph.alias_budget = random_below(&random, 60);
        uint32_t blocks = 1 + random_below(&random, 12), record = CRN_RECORD_ROOT;
        for (uint32_t i = 0; i < 600; i++) {
            cairn_block block = 1 + random_below(&random, blocks);
            if (random_chance(&random, 1, 4))
                record = CRN_RECORD_ROOT + random_below(&random, graph.used - CRN_RECORD_ROOT);
            uint64_t known = step(&graph, record * (uint64_t)CRN_RECORD_WORDS, block);
            uint32_t next = crn_graph_follow(&graph, record, block);
            assert_true(!known || known == next * (uint64_t)CRN_RECORD_WORDS);
            assert_int_equal(crn_graph_follow(&graph, record, block), next);
            if (random_chance(&random, 1, 20))
                crn_graph_append(&graph, record, CAIRN_BLOCK_FOLDED);
            assert_int_equal(step(&graph, record * (uint64_t)CRN_RECORD_WORDS, CAIRN_BLOCK_FOLDED),
                             0);
            record = next;
            if (i % 50 == 0)
                hold_finding(&graph, blocks);
        }
        hold_finding(&graph, blocks);
        close_graph(&graph);
    }
}

/* Also when there are more of them: none is forgotten but the one whose place the new one takes. */
static void edges_are_cached(void **state)
{
    (void)state;
    crn_graph graph;
    open_graph(&graph, 1024, 4000000);
    random_source random = {9};
    crn_cached_edge *before = NULL;
    uint64_t grown = 0;
    for (uint32_t i = 0; i < 30000; i++) {
        uint64_t mask = graph.hot.edge_cache_mask;
        before = realloc(before, (mask + 1) * sizeof *before);
        memcpy(before, graph.hot.edge_cache, (mask + 1) * sizeof *before);
        uint32_t record = 1 + random_below(&random, graph.used - 1);
        cairn_block block = 1 + random_below(&random, 200);
        uint32_t next = crn_graph_follow(&graph, record, block);
        assert_int_equal(cached_callee(&graph, record * (uint64_t)CRN_RECORD_WORDS, block),
                         next * (uint64_t)CRN_RECORD_WORDS);
        if (graph.hot.edge_cache_mask == mask)
            continue;
        grown++;
        for (uint64_t at = 0; at <= mask; at++) {
            uint64_t key = before[at].key;
            const crn_cached_edge *cached =
                crn_graph_edge_entry(&graph.hot, (uint32_t)key, (cairn_block)(key >> 32));
            if (key && cached != crn_graph_edge_entry(&graph.hot,
                                                      record * (uint64_t)CRN_RECORD_WORDS, block)) {
                assert_true(cached->key == key &&
                            cached->edge.node_offset == before[at].edge.node_offset);
            }
        }
    }
    assert_in_range(grown, 1, 20);
    free(before);
    close_graph(&graph);
}

static void inline_caches_are_empty_or_none(void **state)
{
    (void)state;
    crn_graph graph;
    open_graph(&graph, 1024, 100);
    assert_null(graph.hot.inline_cache);
    crn_memory_fail_at(1);
    crn_graph_make_inline_cache(&graph);
    crn_memory_fail_at(0);
    assert_null(graph.hot.inline_cache);
    crn_graph_make_inline_cache(&graph);
    cairn_priv_cache_entry *inline_cache = graph.hot.inline_cache;
    assert_non_null(inline_cache);
    uint32_t blocks = 1;
    while (cairn_priv_inline_cache_of(blocks)) {
        assert_int_equal(cairn_priv_inline_cache_of(blocks),
                         blocks * CAIRN_PRIV_INLINE_CACHE_ENTRIES * sizeof *inline_cache);
        blocks++;
    }
    assert_int_equal(cairn_priv_inline_cache_of(0), 0);
    assert_int_equal(cairn_priv_inline_cache_of(UINT32_MAX), 0);
    uint32_t last = blocks * CAIRN_PRIV_INLINE_CACHE_ENTRIES - 1;
    uint32_t first = CAIRN_PRIV_INLINE_CACHE_ENTRIES; /* block 0 has none: a mark is there */
    assert_true(blocks > 1 && !inline_cache[first].from && !inline_cache[last].from);
    assert_true(!crn_graph_empty_inline_cache()[0].from &&
                !crn_graph_empty_inline_cache()[last].from);
    inline_cache[last].from = 4;
    crn_graph_make_inline_cache(&graph);
    assert_true(graph.hot.inline_cache == inline_cache && inline_cache[last].from == 4);
    assert_false(crn_graph_empty_inline_cache()[last].from);
    close_graph(&graph);
}

static void the_budget_is_respected(void **state)
{
    (void)state;
    enum { BUDGET = 500 };
    crn_graph graph;
    open_graph(&graph, 1024, BUDGET);
    uint32_t record = CRN_RECORD_ROOT;
    for (uint64_t i = 0; i < 100000; i++)
        record = crn_graph_follow(&graph, record, 1 + stream_square_free(i));
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
            uint32_t part = CRN_RECORD_ROOT, whole = CRN_RECORD_ROOT;
            for (uint32_t step = random_below(&random, 2000); step > 0; step--, calls++) {
                uint32_t block = 1 + random_below(&random, 3);
                part = crn_graph_append(&parts[i], part, block);
                crn_graph_record(&parts[i], part)->calls++;
                whole = crn_graph_append(&both, whole, block);
                crn_graph_record(&both, whole)->calls++;
                if (random_chance(&random, 1, 10))
                    part = whole = CRN_RECORD_ROOT;
            }
            crn_records records;
            assert_true(scan(&records, &parts[i]));
            uint32_t *map = calloc(records.context_count, sizeof(*map));
            crn_records_merge(&records, &merged, map);
            for (uint32_t number = 0; number < records.context_count; number++) {
                uint32_t from[1025], to[1025];
                uint32_t length = path_of(&parts[i], records.contexts[number], from, 1025);
                assert_int_equal(path_of(&merged, map[number], to, 1025), length);
                assert_memory_equal(from, to, length * sizeof(*from));
            }
            free(map);
            crn_records_free(&records);
        }
        assert_int_equal(merged.context_count, both.context_count);
        assert_int_equal(merged.alias_count, both.alias_count);
        for (uint32_t record = CRN_RECORD_ROOT; record < merged.used; record++)
            calls -= crn_graph_record(&merged, record)->calls;
        assert_int_equal(calls, 0);
        for (int i = 0; i < 2; i++)
            close_graph(&parts[i]);
        close_graph(&both);
        close_graph(&merged);
    }
}

/* For any bytes, the scan ends and reads nothing out of bounds. */
static void damaged_records_are_refused(void **state)
{
    (void)state;
    crn_graph graph;
    open_graph(&graph, 1024, 4000000);
    uint32_t record = CRN_RECORD_ROOT;
    random_source random = {5};
    for (int i = 0; i < 300; i++)
        record = crn_graph_append(&graph, record, 1 + random_below(&random, 3));
    size_t bytes = graph.used * sizeof(crn_link);
    crn_link *damaged = malloc(bytes);
    for (uint64_t round = 0; round < scale(10000); round++) {
        memcpy(damaged, graph.links, bytes);
        for (int i = 0; i < 4; i++) {
            uint32_t what = random_chance(&random, 1, 2) ? random_below(&random, graph.used + 10)
                                                         : (uint32_t)random_next(&random);
            memcpy((char *)damaged + 4 * random_below(&random, (uint32_t)bytes / 4), &what, 4);
        }
        crn_records records;
        uint32_t used = 1 + random_below(&random, graph.used);
        assert_true(crn_records_scan(&records, crn_graph_record(&graph, 0), damaged, used));
        assert_in_range(records.used, 1, used);
        assert_int_equal(records.used, 1 + records.context_count + records.alias_count);
        for (uint32_t number = 0; number < records.context_count; number++)
            assert_int_equal(records.numbers[records.contexts[number]], number);
        if (records.context_count)
            assert_int_equal(records.links[CRN_RECORD_ROOT].block, CAIRN_BLOCK_ROOT);
        for (uint32_t at = CRN_RECORD_ROOT; at < records.used; at++) {
            assert_in_range(records.links[at].from, 0, at - 1);
            assert_in_range(records.links[at].target, 1, at);
        }
        crn_records_free(&records);
    }
    free(damaged);
    close_graph(&graph);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(walks_follow_the_definition),
        cmocka_unit_test(every_edge_is_found_again),
        cmocka_unit_test(every_edge_is_found_by_what_has_it),
        cmocka_unit_test(edges_are_cached),
        cmocka_unit_test(inline_caches_are_empty_or_none),
        cmocka_unit_test(the_budget_is_respected),
        cmocka_unit_test(merging_is_walking_both),
        cmocka_unit_test(damaged_records_are_refused),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
