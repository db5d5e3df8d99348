/* SPDX-License-Identifier: MIT
 *
 * test_span_figures.c - figures of spans, compared with references that go through random traces
 * nanosecond by nanosecond.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "spans/spans.h"
#include "spans/trace_process.h"
#include "support/cases.h"
#include "support/random.h"

enum { SPANS = 60, BLOCKS = 5, LENGTH = 400, ROUNDS = 400, LANES = 7 };

/* A trace's order of spans: none; by lane, as in a store; by lane and start, as in a capture; the
 * same with spans that run inside their parents. */
typedef enum trace_order { ANY, BY_LANE, BY_START, NESTED, ORDERS } trace_order;

static int compare_spans(const void *left, const void *right, void *order)
{
    const crn_span *a = left, *b = right;
    int by_lane = CRN_ORDER(a->lane, b->lane);
    return *(trace_order *)order == BY_LANE ? by_lane : by_lane ?: CRN_ORDER(a->start, b->start);
}

/* Returns the last span before `span` in which it runs: on its lane, or on any. */
static uint32_t enclosing(const crn_span *spans, uint32_t span, bool on_lane)
{
    for (uint32_t s = span; s-- > 0;)
        if (spans[s].start <= spans[span].start && spans[s].end >= spans[span].end &&
            (!on_lane || spans[s].lane == spans[span].lane))
            return s;
    return CRN_SPAN_NONE;
}

/* Ends nearly all spans before the open span of their lane that began last. */
static void nest(random_source *random, crn_trace *trace)
{
    crn_span *spans = trace->spans;
    for (uint32_t s = 0; s < trace->span_count; s++)
        for (uint32_t outer = s; outer-- > 0 && spans[outer].lane == spans[s].lane;)
            if (spans[outer].end > spans[s].start && random_chance(random, 50, 51)) {
                uint64_t end = spans[outer].end;
                spans[s].end = spans[s].end < end ? spans[s].end : end;
                spans[s].open = spans[s].open && spans[s].end == LENGTH;
                break;
            }
}

/* Any parents without circles: also children that run before or after them, on other lanes. */
static void add_parents(random_source *random, crn_trace *trace, trace_order order)
{
    crn_span *spans = trace->spans;
    for (uint32_t s = 1; s < trace->span_count; s++)
        if (order == NESTED && random_chance(random, 19, 20))
            spans[s].parent = enclosing(spans, s, random_chance(random, 4, 5));
        else if (random_chance(random, 3, 4))
            spans[s].parent = random_below(random, s);
    for (uint32_t s = 0; s < trace->span_count / 2; s++) { /* some parents come later */
        uint32_t later = trace->span_count / 2 + s;
        if (order != NESTED && spans[s].parent == CRN_SPAN_NONE &&
            spans[later].parent == CRN_SPAN_NONE)
            spans[s].parent = later;
    }
    for (uint32_t s = 0; s < trace->span_count; s++) {
        uint32_t parent = spans[s].parent;
        spans[s].handed_off = parent != CRN_SPAN_NONE && spans[parent].lane != spans[s].lane;
    }
}

static crn_trace trace_in_order(random_source *random, crn_span *spans, trace_order order)
{
    static const char *names[LANES] = {"", "", "", "", "", "", ""};
    uint32_t lanes = order == NESTED ? 2 : LANES;
    crn_trace trace = {.spans = spans, .span_count = random_below(random, SPANS + 1)};
    trace.length = LENGTH;
    trace.lanes = names;
    trace.lane_count = LANES;
    for (uint32_t s = 0; s < trace.span_count; s++) {
        uint64_t start = random_below(random, LENGTH), room = LENGTH - start + 1;
        bool open = random_chance(random, 1, order == NESTED ? 32 : 8);
        room = order == NESTED && random_chance(random, 3, 4) ? room / 16 + 1 : room;
        spans[s] = (crn_span){.start = start,
                              .end = open ? LENGTH : start + random_below(random, (uint32_t)room),
                              .block = random_below(random, BLOCKS + 1),
                              .lane = random_below(random, lanes),
                              .parent = CRN_SPAN_NONE,
                              .open = open};
    }
    if (order != ANY)
        qsort_r(spans, trace.span_count, sizeof *spans, compare_spans, &order);
    if (order == NESTED)
        nest(random, &trace);
    add_parents(random, &trace, order);
    return trace;
}

static crn_trace random_trace(random_source *random, crn_span *spans)
{
    return trace_in_order(random, spans, random_below(random, ORDERS));
}

static bool runs(const crn_trace *trace, uint32_t span, uint64_t moment)
{
    return trace->spans[span].start <= moment && moment < trace->spans[span].end;
}

/* Returns true if `inner` is a child of the span or runs on its lane and began later. */
static bool is_inside(const crn_trace *trace, uint32_t inner, uint32_t span)
{
    const crn_span *its = &trace->spans[inner], *outer = &trace->spans[span];
    return its->parent == span ||
           (its->lane == outer->lane &&
            (its->start > outer->start || (its->start == outer->start && inner > span)));
}

static bool covers(const crn_trace *trace, uint32_t span, uint64_t moment)
{
    for (uint32_t s = 0; s < trace->span_count; s++)
        if (runs(trace, s, moment) && is_inside(trace, s, span))
            return true;
    return false;
}

static uint64_t slow_self(const crn_trace *trace, uint32_t span)
{
    uint64_t self = 0;
    for (uint64_t t = trace->spans[span].start; t < trace->spans[span].end; t++)
        self += !covers(trace, span, t);
    return self;
}

static uint32_t slow_block(const crn_trace *trace, uint32_t span)
{
    return trace->spans[span].block < BLOCKS ? trace->spans[span].block : 0;
}

static uint64_t took(const crn_trace *trace, uint32_t span)
{
    return trace->spans[span].end - trace->spans[span].start;
}

/* No lane has more self time than it is busy. */
static void assert_lanes(const crn_trace *trace, const crn_spans *spans)
{
    uint64_t self[LANES] = {0}, busy[LANES] = {0};
    for (uint64_t t = 0; t < LENGTH; t++)
        for (uint32_t lane = 0; lane < LANES; lane++)
            for (uint32_t s = 0; s < trace->span_count; s++)
                if (trace->spans[s].lane == lane && runs(trace, s, t)) {
                    busy[lane]++;
                    break;
                }
    for (uint32_t s = 0; s < trace->span_count; s++)
        self[trace->spans[s].lane] += crn_span_self(spans, s);
    for (uint32_t lane = 0; lane < LANES; lane++)
        assert_true(self[lane] <= busy[lane]);
}

static void each_moment_of_a_lane_is_charged_once(void **state)
{
    (void)state;
    random_source random = {1};
    crn_span all[SPANS];
    uint32_t covered = 0;
    for (int round = 0; round < ROUNDS; round++) {
        crn_trace trace = random_trace(&random, all);
        crn_spans *spans = crn_spans_make(&trace, BLOCKS);
        for (uint32_t s = 0; s < trace.span_count; s++) {
            assert_int_equal(crn_span_self(spans, s), slow_self(&trace, s));
            covered += crn_span_self(spans, s) != took(&trace, s);
        }
        assert_lanes(&trace, spans);
        crn_spans_free(spans);
    }
    assert_true(covered > ROUNDS);
}

/* A store computes covered times in another way: as it walks over the lanes, and from lists for
 * spans that are covered out of order. */
static void a_store_has_the_same_self_times(void **state)
{
    (void)state;
    random_source random = {2};
    crn_span all[SPANS];
    for (int round = 0; round < ROUNDS * 4; round++) {
        trace_order order = (trace_order)(BY_LANE + random_below(&random, ORDERS - BY_LANE));
        crn_trace trace = trace_in_order(&random, all, order);
        crn_span_store *store = crn_store_of(&trace);
        crn_store_covered(store);
        for (uint32_t s = 0; s < trace.span_count; s++) {
            const crn_span_piece *piece = crn_store_piece(store, s);
            const cairn_priv_span *span = &piece->spans[s - piece->first];
            assert_int_equal(crn_store_self(store, span, s), slow_self(&trace, s));
        }
        crn_store_close(store);
    }
}

/* Returns true if the span is its own ancestor. */
static bool is_in_circle(const crn_trace *trace, uint32_t span)
{
    uint32_t at = trace->spans[span].parent;
    for (uint32_t steps = 0; steps < trace->span_count && at != CRN_SPAN_NONE; steps++) {
        if (at == span)
            return true;
        at = trace->spans[at].parent;
    }
    return false;
}

/* Each cycle of parents loses one parent, and no other parent is lost. */
static void cycles_of_parents_are_cut_once(void **state)
{
    (void)state;
    random_source random = {3};
    uint64_t circles = 0;
    for (int round = 0; round < ROUNDS; round++) {
        crn_span before[SPANS], all[SPANS];
        crn_trace trace = random_trace(&random, all);
        for (uint32_t s = 0; s < trace.span_count; s++)
            all[s].parent = random_chance(&random, 1, 20) ? random_below(&random, trace.span_count)
                                                          : all[s].parent;
        memcpy(before, all, sizeof all);
        crn_trace old = {.spans = before, .span_count = trace.span_count};
        crn_trace_cut_circles(&trace);
        uint64_t lost = 0;
        for (uint32_t s = 0; s < trace.span_count; s++) {
            assert_false(is_in_circle(&trace, s));
            if (all[s].parent == before[s].parent)
                continue;
            assert_int_equal(all[s].parent, CRN_SPAN_NONE);
            assert_true(is_in_circle(&old, s));
            uint32_t at = before[s].parent;
            for (; at != s; at = before[at].parent) /* the rest of its cycle stays */
                assert_int_equal(all[at].parent, before[at].parent);
            lost++;
        }
        assert_int_equal(trace.dangling, lost);
        circles += lost;
    }
    assert_true(circles > 0);
}

/* Returns how many ended spans of the block took at most this long, and how many took less. */
static void assert_rank(const crn_trace *trace, uint32_t block, uint64_t value, double share)
{
    uint32_t ended = 0, shorter = 0, as_short = 0;
    for (uint32_t s = 0; s < trace->span_count; s++) {
        if (slow_block(trace, s) != block || trace->spans[s].open)
            continue;
        ended++;
        shorter += took(trace, s) < value;
        as_short += took(trace, s) <= value;
    }
    if (!ended) {
        assert_int_equal(value, 0);
        return;
    }
    assert_true(as_short >= share * ended && as_short > 0);
    assert_true(shorter == 0 || shorter < share * ended);
}

static void assert_row(const crn_spans *spans, const crn_span_table *table, const crn_span_row *row)
{
    const crn_trace *trace = spans->trace;
    uint32_t count = 0, open = 0, bins[CRN_SPAN_BINS] = {0};
    uint64_t total = 0, self = 0;
    for (uint32_t s = 0; s < trace->span_count; s++) {
        if (slow_block(trace, s) != row->block)
            continue;
        count++;
        open += trace->spans[s].open;
        total += took(trace, s);
        self += slow_self(trace, s);
        int bin = CRN_SPAN_BINS - 1;
        while (bin && took(trace, s) < table->edges[bin])
            bin--;
        bins[bin] += !trace->spans[s].open;
    }
    assert_int_equal(row->count, count);
    assert_int_equal(row->open, open);
    assert_int_equal(row->total, total);
    assert_int_equal(row->self, self);
    assert_memory_equal(row->bins, bins, sizeof bins);
    assert_rank(trace, row->block, row->min, 0);
    assert_rank(trace, row->block, row->median, 0.5);
    assert_rank(trace, row->block, row->p99, 0.99);
    assert_rank(trace, row->block, row->max, 1);
}

static void rows_sum_their_spans(void **state)
{
    (void)state;
    random_source random = {2};
    crn_span all[SPANS];
    for (int round = 0; round < ROUNDS; round++) {
        crn_trace trace = random_trace(&random, all);
        crn_spans *spans = crn_spans_make(&trace, BLOCKS);
        uint8_t kept[BLOCKS];
        for (int b = 0; b < BLOCKS; b++)
            kept[b] = random_chance(&random, 1, 2);
        bool some = random_chance(&random, 1, 2);
        crn_span_table table =
            crn_span_table_make(spans, some ? kept : NULL, (crn_span_sort)(round % CRN_SPAN_SORTS));
        bool expected[BLOCKS] = {false};
        uint32_t rows = 0;
        for (uint32_t s = 0; s < trace.span_count; s++) {
            uint32_t block = slow_block(&trace, s);
            if (some && !kept[block])
                continue;
            rows += !expected[block];
            expected[block] = true;
        }
        assert_int_equal(table.count, rows);
        for (uint32_t i = 0; i < table.count; i++) {
            assert_true(expected[table.rows[i].block]);
            expected[table.rows[i].block] = false;
            assert_row(spans, &table, &table.rows[i]);
        }
        crn_span_table_free(&table);
        crn_spans_free(spans);
    }
}

static void rows_are_in_the_order_that_was_asked_for(void **state)
{
    (void)state;
    static crn_span all[] = {
        {.start = 0, .end = 100, .block = 1, .parent = CRN_SPAN_NONE},
        {.start = 0, .end = 90, .block = 2, .parent = 0},
        {.start = 0, .end = 1, .block = 3, .parent = 1},
        {.start = 1, .end = 2, .block = 3, .parent = 1},
    };
    static const struct {
        crn_span_sort sort;
        uint32_t blocks[3];
    } orders[] = {{CRN_SPANS_BY_TOTAL, {1, 2, 3}},
                  {CRN_SPANS_BY_SELF, {2, 1, 3}},
                  {CRN_SPANS_BY_COUNT, {3, 1, 2}},
                  {CRN_SPANS_BY_MAX, {1, 2, 3}}};
    crn_trace trace = {.spans = all, .span_count = COUNT(all), .length = 100};
    crn_spans *spans = crn_spans_make(&trace, 4);
    for (size_t i = 0; i < COUNT(orders); i++) {
        crn_span_table table = crn_span_table_make(spans, NULL, orders[i].sort);
        assert_int_equal(table.count, 3);
        for (int row = 0; row < 3; row++)
            assert_int_equal(table.rows[row].block, orders[i].blocks[row]);
        assert_int_equal(table.self, 100);
        crn_span_table_free(&table);
    }
    crn_spans_free(spans);
}

static void the_slowest_are_the_slowest(void **state)
{
    (void)state;
    random_source random = {3};
    crn_span all[SPANS];
    for (int round = 0; round < ROUNDS; round++) {
        crn_trace trace = random_trace(&random, all);
        crn_spans *spans = crn_spans_make(&trace, BLOCKS);
        uint32_t most = random_below(&random, SPANS + 10);
        uint8_t kept[BLOCKS] = {1, 0, 1, 0, 1};
        crn_span_parts found = crn_spans_slowest(spans, kept, most);
        bool in[SPANS] = {false};
        uint32_t candidates = 0;
        for (uint32_t i = 0; i < found.count; i++) {
            assert_int_equal(found.parts[i].length, took(&trace, found.parts[i].span));
            assert_true(i == 0 || found.parts[i].length <= found.parts[i - 1].length);
            assert_false(in[found.parts[i].span]);
            in[found.parts[i].span] = true;
        }
        for (uint32_t s = 0; s < trace.span_count; s++) {
            bool wanted = kept[slow_block(&trace, s)];
            candidates += wanted;
            assert_true(wanted || !in[s]);
            if (wanted && !in[s] && found.count)
                assert_true(took(&trace, s) <= found.parts[found.count - 1].length);
        }
        assert_int_equal(found.count, candidates < most ? candidates : most);
        crn_span_parts_free(&found);
        crn_spans_free(spans);
    }
}

/* Each gap is self time from its start to its end, and as long as it can be. */
static void assert_gap(const crn_trace *trace, const crn_span_part *gap)
{
    const crn_span *its = &trace->spans[gap->span];
    uint64_t end = gap->start + gap->length;
    assert_true(gap->length > 0);
    for (uint64_t t = gap->start; t < end; t++)
        assert_false(covers(trace, gap->span, t));
    assert_true(its->start <= gap->start && end <= its->end);
    if (gap->before == CRN_SPAN_NONE) {
        assert_int_equal(gap->start, its->start);
    } else {
        assert_true(is_inside(trace, gap->before, gap->span));
        assert_int_equal(trace->spans[gap->before].end, gap->start);
    }
    if (gap->after == CRN_SPAN_NONE) {
        assert_int_equal(end, its->end);
    } else {
        assert_true(is_inside(trace, gap->after, gap->span));
        assert_int_equal(trace->spans[gap->after].start, end);
    }
}

static void missing_time_is_the_sum_of_its_gaps(void **state)
{
    (void)state;
    random_source random = {4};
    crn_span all[SPANS];
    for (int round = 0; round < ROUNDS; round++) {
        crn_trace trace = random_trace(&random, all);
        crn_spans *spans = crn_spans_make(&trace, BLOCKS);
        uint8_t kept[BLOCKS] = {0, 1, 0, 1, 1};
        bool some = random_chance(&random, 1, 2);
        crn_missing missing = crn_missing_make(spans, some ? kept : NULL, UINT32_MAX);
        uint64_t total = 0, lost = 0, gaps = 0, by_row = 0;
        for (uint32_t s = 0; s < trace.span_count; s++) {
            if (some ? !kept[slow_block(&trace, s)] : trace.spans[s].parent != CRN_SPAN_NONE)
                continue;
            total += took(&trace, s);
            lost += slow_self(&trace, s);
        }
        for (uint32_t i = 0; i < missing.gaps.count; i++) {
            assert_gap(&trace, &missing.gaps.parts[i]);
            gaps += missing.gaps.parts[i].length;
        }
        for (uint32_t i = 0; i < missing.count; i++)
            by_row += missing.rows[i].missing;
        assert_int_equal(missing.total, total);
        assert_int_equal(missing.missing, lost);
        assert_int_equal(gaps, lost);
        assert_int_equal(by_row, lost);
        assert_int_equal(missing.gaps.count, missing.gap_count);
        crn_missing_free(&missing);
        crn_spans_free(spans);
    }
}

static void a_chain_of_a_million_is_no_deeper_than_one(void **state)
{
    (void)state;
    enum { MANY = 1000000 };
    crn_span *all = crn_calloc(MANY, sizeof *all);
    for (uint32_t s = 0; s < MANY; s++)
        all[s] = (crn_span){
            .start = s, .end = 2 * (uint64_t)MANY - s, .parent = s ? s - 1 : CRN_SPAN_NONE};
    crn_trace trace = {.spans = all, .span_count = MANY, .length = 2 * (uint64_t)MANY};
    crn_spans *spans = crn_spans_make(&trace, 1);
    crn_missing missing = crn_missing_make(spans, NULL, 10);
    assert_int_equal(missing.missing, 2);
    assert_int_equal(missing.gap_count, 2);
    assert_int_equal(crn_span_self(spans, MANY - 1), 2);
    crn_missing_free(&missing);
    crn_spans_free(spans);
    crn_free(all);
}

/* Blocks with more spans than are sorted, from nanoseconds to hours; spans with more children than
 * fit into a byte, covered for longer than fits into 31 bits. Each child has an interval of its own
 * in its parent's. */
static void many_spans_are_measured_exactly(void **state)
{
    (void)state;
    enum { PARENTS = 30, EACH = 1000, MANY = PARENTS * (EACH + 1), KINDS = 3 };
    random_source random = {9};
    crn_span *all = crn_calloc(MANY, sizeof *all);
    uint32_t count = 0;
    for (uint32_t p = 0; p < PARENTS; p++) {
        uint32_t parent = count++, children = p % 3 ? EACH : random_below(&random, 300);
        uint64_t covered = 0, at = 0;
        all[parent] = (crn_span){.parent = CRN_SPAN_NONE, .block = KINDS, .lane = p};
        for (uint32_t i = 0; i < children; i++) {
            uint64_t took = random_next(&random) >> (p % 2 ? 50 : 10 + random_below(&random, 54));
            took >>= took >> 42 ? 22 : 0;
            all[count++] = (crn_span){.start = at,
                                      .end = at + took,
                                      .parent = parent,
                                      .lane = p,
                                      .block = random_below(&random, 20) % KINDS};
            covered += took;
            at += took + 5;
        }
        all[parent].end = at;
        all[parent].iteration = (int64_t)covered; /* expected */
    }
    crn_trace trace = {.spans = all, .span_count = count, .length = UINT64_C(1) << 60};
    crn_spans *spans = crn_spans_make(&trace, BLOCKS);
    for (uint32_t s = 0; s < count; s++) {
        const uint32_t *children;
        uint32_t found = crn_span_children(spans, s, &children);
        for (uint32_t i = 0; i < found; i++)
            assert_int_equal(all[children[i]].parent, s);
        if (all[s].block != KINDS)
            continue;
        assert_int_equal(crn_span_self(spans, s), all[s].end - (uint64_t)all[s].iteration);
        assert_true(s + found + 1 == count || all[s + found + 1].block == KINDS);
    }
    crn_span_table table = crn_span_table_make(spans, NULL, CRN_SPANS_BY_TOTAL);
    assert_int_equal(table.count, KINDS + 1);
    for (uint32_t i = 0; i < table.count; i++) {
        assert_rank(&trace, table.rows[i].block, table.rows[i].median, 0.5);
        assert_rank(&trace, table.rows[i].block, table.rows[i].p99, 0.99);
    }
    crn_span_table_free(&table);
    crn_spans_free(spans);
    crn_free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_moment_of_a_lane_is_charged_once),
        cmocka_unit_test(a_store_has_the_same_self_times),
        cmocka_unit_test(cycles_of_parents_are_cut_once),
        cmocka_unit_test(rows_sum_their_spans),
        cmocka_unit_test(rows_are_in_the_order_that_was_asked_for),
        cmocka_unit_test(the_slowest_are_the_slowest),
        cmocka_unit_test(missing_time_is_the_sum_of_its_gaps),
        cmocka_unit_test(many_spans_are_measured_exactly),
        cmocka_unit_test(a_chain_of_a_million_is_no_deeper_than_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
