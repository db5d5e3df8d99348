/* SPDX-License-Identifier: MIT
 *
 * test_latency.c - end-to-end latencies of random spans, against a search that visits everything,
 * and their parts, against ones that are added up nanosecond by nanosecond.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "explain/explain.h"
#include "explain/moments.h"
#include "spans/spans.h"
#include "support/cases.h"
#include "support/random.h"

enum { ROUNDS = 400, MOST = 60, BLOCKS = 5, LANES = 3, FROM = 1, TO = 2 };

typedef struct graph {
    crn_trace trace;
    crn_span spans[MOST];
    crn_span_edge edges[3 * MOST];
    crn_span_handoff handoffs[MOST];
    const char *lanes[LANES];
    uint8_t from[MOST], to[MOST];
} graph;

static int compare_edges(const void *left, const void *right)
{
    const crn_span_edge *a = left, *b = right;
    return CRN_ORDER(a->from, b->from);
}

/* Any parents and edges, circles among them: damaged captures have these. */
static void make(graph *graph, random_source *random, bool circles)
{
    *graph = (struct graph){.trace = {.spans = graph->spans,
                                      .edges = graph->edges,
                                      .handoffs = graph->handoffs,
                                      .lanes = graph->lanes,
                                      .lane_count = LANES}};
    uint32_t count = 1 + random_below(random, MOST);
    graph->trace.span_count = count;
    for (uint32_t s = 0; s < count; s++) {
        uint64_t start = random_below(random, 1000);
        graph->spans[s] = (crn_span){.start = start,
                                     .end = start + random_below(random, 100),
                                     .block = random_below(random, BLOCKS),
                                     .open = random_below(random, 20) == 0,
                                     .parent = CRN_SPAN_NONE};
        if (random_below(random, 3))
            graph->spans[s].parent = random_below(random, circles ? count : s + 1);
        if (!circles && graph->spans[s].parent == s)
            graph->spans[s].parent = CRN_SPAN_NONE;
        graph->from[s] = graph->spans[s].block == FROM;
        graph->to[s] = graph->spans[s].block == TO;
    }
    for (uint32_t e = random_below(random, 3 * count); e > 0; e--) {
        uint32_t one = random_below(random, count), other = random_below(random, count);
        if (!circles && one <= other)
            continue;
        graph->edges[graph->trace.edge_count++] =
            (crn_span_edge){.from = one,
                            .to = other,
                            .kind = random_below(random, 3) ? CRN_EDGE_FOLLOWS : CRN_EDGE_WAITS};
    }
    qsort(graph->edges, graph->trace.edge_count, sizeof *graph->edges, compare_edges);
}

/* The slow reference: visits all that is before a span, but nothing beyond an input. */
static void visit(const graph *graph, uint32_t span, uint8_t *seen, uint32_t *newest)
{
    uint32_t before[3 * MOST + 1], count = 0;
    if (graph->spans[span].parent < graph->trace.span_count)
        before[count++] = graph->spans[span].parent;
    for (uint32_t e = 0; e < graph->trace.edge_count; e++)
        if (graph->edges[e].from == span && graph->edges[e].kind == CRN_EDGE_FOLLOWS)
            before[count++] = graph->edges[e].to;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t s = before[i];
        if (seen[s]++)
            continue;
        if (!graph->from[s])
            visit(graph, s, seen, newest);
        else if (*newest == CRN_SPAN_NONE || graph->spans[s].start > graph->spans[*newest].start ||
                 (graph->spans[s].start == graph->spans[*newest].start && s < *newest))
            *newest = s;
    }
}

static void check_row(const graph *graph, const crn_latencies *found, const crn_latency_row *row,
                      bool newest)
{
    uint8_t seen[MOST] = {0};
    uint32_t wanted = CRN_SPAN_NONE, count;
    visit(graph, row->to, seen, &wanted);
    if (newest)
        assert_int_equal(row->from, wanted);
    assert_true(seen[row->from]);
    assert_true(graph->from[row->from] && graph->to[row->to]);
    uint64_t start = graph->spans[row->from].start, end = graph->spans[row->to].end;
    assert_int_equal(row->length, end > start ? end - start : 0);
    crn_latency_stage *stages = crn_latency_stages(&graph->trace, found, row, &count);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += stages[i].length;
    assert_int_equal(sum, row->length);
    assert_int_equal(stages[0].span, row->from);
    assert_int_equal(stages[count - 1].span, row->to);
    crn_free(stages);
}

/* With circles which input is found depends on where they are cut, but it is one that leads there.
 */
static void results_have_their_newest_input(void **state)
{
    (void)state;
    random_source random = {31};
    static graph graph;
    uint32_t rows = 0, unlinked = 0;
    for (int i = 0; i < ROUNDS; i++) {
        bool circles = i % 4 == 3;
        make(&graph, &random, circles);
        crn_latencies found = crn_latencies_make(&graph.trace, graph.from, graph.to);
        uint32_t results = 0, open = 0;
        for (uint32_t s = 0; s < graph.trace.span_count; s++) {
            results += graph.to[s];
            open += graph.to[s] && graph.spans[s].open;
        }
        assert_int_equal(found.count + found.unlinked + found.open, results);
        assert_int_equal(found.open, open);
        for (uint32_t r = 0; r < found.count; r++) {
            check_row(&graph, &found, &found.rows[r], !circles);
            if (r)
                assert_true(graph.spans[found.rows[r - 1].to].end <=
                            graph.spans[found.rows[r].to].end);
        }
        rows += found.count;
        unlinked += found.unlinked;
        crn_latencies_free(&found);
    }
    assert_true(rows > ROUNDS && unlinked > ROUNDS / 4);
}

/* ---- parts ---- */

static void hand_off(graph *graph, random_source *random)
{
    for (uint32_t s = 0; s < graph->trace.span_count; s++) {
        crn_span *span = &graph->spans[s];
        span->lane = random_below(random, LANES);
        span->handed_off = span->parent != CRN_SPAN_NONE && random_below(random, 3);
        if (span->handed_off && random_below(random, 3))
            graph->handoffs[graph->trace.handoff_count++] =
                (crn_span_handoff){.span = s, .taken = 1 + random_below(random, 1000)};
    }
}

/* Returns true if the lane waits at this time. */
static bool waits_at(const crn_moments *moments, const graph *graph, uint32_t lane, uint64_t time)
{
    bool waits = false, ours = false;
    for (uint32_t m = 0; m < moments->count; m++) {
        const crn_moment *moment = &moments->moments[m];
        if (moment->first)
            ours = graph->spans[moment->span].lane == lane;
        if (ours && moment->time <= time)
            waits = moment->waits && m + 1 < moments->count && !moment[1].first;
    }
    return waits;
}

static uint64_t handed_over_at(const graph *graph, uint32_t span, uint32_t next)
{
    const crn_span *its = &graph->spans[span], *other = &graph->spans[next];
    if (other->parent != span)
        return its->end;
    if (!other->handed_off)
        return other->start;
    for (uint32_t h = 0; h < graph->trace.handoff_count; h++)
        if (graph->handoffs[h].span == next && graph->handoffs[h].taken < its->end)
            return graph->handoffs[h].taken;
    return its->end;
}

enum { KINDS = 3 }; /* queueing, work, waiting */

/* Adds up one latency by block and kind. */
static void add_up(const graph *graph, const crn_moments *moments, const crn_latencies *found,
                   const crn_latency_row *row, double *parts)
{
    uint32_t count;
    crn_latency_stage *stages = crn_latency_stages(&graph->trace, found, row, &count);
    uint64_t time = graph->spans[row->from].start;
    for (uint32_t i = 0; i < count; i++) {
        const crn_span *span = &graph->spans[stages[i].span];
        bool last = i + 1 == count;
        for (uint64_t end = time + stages[i].length; time < end; time++) {
            bool over = !last && time >= handed_over_at(graph, stages[i].span, stages[i + 1].span);
            uint32_t block = over ? graph->spans[stages[i + 1].span].block : span->block;
            int kind = over ? 0 : waits_at(moments, graph, span->lane, time) ? 2 : 1;
            parts[KINDS * block + (uint32_t)kind]++;
        }
    }
    crn_free(stages);
}

/* Holds the parts against means and covariances of a full table, results by parts. */
static void check_parts(const crn_explain *explain, const crn_latencies *found,
                        double (*table)[KINDS * BLOCKS])
{
    double count = found->count, shares = 0, means = 0, extra = 0;
    for (uint32_t p = 0; p < explain->part_count; p++) {
        const crn_explain_part *part = &explain->parts[p];
        uint32_t place = KINDS * part->block + (uint32_t)part->kind - CRN_EXPLAIN_STAGE_QUEUE;
        double mean = 0, covariance = 0, squares = 0;
        for (uint32_t r = 0; r < found->count; r++)
            mean += table[r][place] / count;
        for (uint32_t r = 0; r < found->count; r++) {
            double off = table[r][place] - mean;
            covariance += off * ((double)found->rows[r].length - explain->mean) / count;
            squares += off * off / count;
        }
        assert_true(fabs(part->mean - mean) < 1e-6);
        assert_true(fabs(part->deviation - sqrt(squares)) < 1e-6);
        assert_true(fabs(part->share * explain->variance - covariance) < 1e-5);
        shares += part->share;
        means += part->mean;
        extra += part->extra;
    }
    assert_true(fabs(means - explain->mean) < 1e-6);
    assert_true(explain->variance == 0 || fabs(shares - 1) < 1e-6);
    assert_true(!explain->slow_count ||
                fabs(extra - (explain->slow_mean - explain->typical_mean)) < 1e-6);
}

static void latencies_are_divided(void **state)
{
    (void)state;
    random_source random = {32};
    static graph graph;
    static double table[MOST][KINDS * BLOCKS];
    double kinds[KINDS] = {0};
    for (int i = 0; i < ROUNDS / 4; i++) {
        make(&graph, &random, false);
        hand_off(&graph, &random);
        crn_spans *spans = crn_spans_make(&graph.trace, BLOCKS);
        crn_latencies found = crn_latencies_make(&graph.trace, graph.from, graph.to);
        crn_moments moments = crn_moments_make(spans);
        memset(table, 0, sizeof table);
        for (uint32_t r = 0; r < found.count; r++) {
            add_up(&graph, &moments, &found, &found.rows[r], table[r]);
            for (int p = 0; p < KINDS * BLOCKS; p++)
                kinds[p % KINDS] += table[r][p];
        }
        crn_explain *explain = crn_explain_latency_make(spans, &found, UINT64_MAX, i % 2 ? 500 : 0);
        assert_int_equal(explain->count, found.count);
        check_parts(explain, &found, table);
        crn_explain_free(explain);
        crn_moments_free(&moments);
        crn_latencies_free(&found);
        crn_spans_free(spans);
    }
    assert_true(kinds[0] > 1000 && kinds[1] > 1000 && kinds[2] > 1000);
}

static void jitter_is_the_mean_difference(void **state)
{
    (void)state;
    crn_latency_row rows[] = {{.length = 10}, {.length = 14}, {.length = 8}};
    crn_latencies latencies = {.rows = rows, .count = 3};
    assert_true(crn_latency_jitter(&latencies) == 5);
    latencies.count = 1;
    assert_true(crn_latency_jitter(&latencies) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_have_their_newest_input),
        cmocka_unit_test(latencies_are_divided),
        cmocka_unit_test(jitter_is_the_mean_difference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
