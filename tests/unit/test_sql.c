/* SPDX-License-Identifier: MIT
 *
 * test_sql.c - SQL tables, compared with the analysis of the same capture; conditions that the
 * tables evaluate, compared with SQLite's evaluation by row; refused statements.
 */
#include <stdlib.h>
#include <string.h>

#include <cairn/span.h>

#include "base/memory.h"
#include "profile/profile.h"
#include "support/asking.h"
#include "support/cases.h"
#include "support/scratch.h"

/* ---- spans ---- */

static void assert_optional(crn_statement *statement, uint32_t column, bool there, int64_t value)
{
    assert_int_equal(is_null(statement, column), !there);
    if (there)
        assert_int_equal(integer_at(statement, column), value);
}

static void the_spans_are_those_of_the_trace(void **state)
{
    (void)state;
    random_source random = {1};
    for (uint64_t round = 0; round < scale(100); round++) {
        asked asked = asked_make(&random, 1 + random_below(&random, 100));
        crn_query *query = open_query(&asked.file, 1);
        crn_statement *rows = ask(query, "select name, iteration, start, end, duration, self, cpu,"
                                         " parent, lane, open, handed_off, block, capture, id"
                                         " from spans");
        for (uint32_t s = 0; s < asked.trace->span_count; s++) {
            const crn_span *its = &asked.trace->spans[s];
            uint32_t block = crn_span_block(asked.spans, s);
            assert_true(next_row(rows));
            assert_string_equal(text_at(rows, 0), asked.profile->blocks[block].name);
            assert_optional(rows, 1, its->iteration != CAIRN_ITERATION_NONE, its->iteration);
            assert_int_equal(integer_at(rows, 2), its->start);
            assert_int_equal(integer_at(rows, 3), its->end);
            assert_int_equal(integer_at(rows, 4), crn_span_duration(asked.spans, s));
            assert_int_equal(integer_at(rows, 5), crn_span_self(asked.spans, s));
            bool cpu = asked.trace->cpu && asked.trace->cpu[s] != UINT64_MAX;
            assert_optional(rows, 6, cpu, cpu ? (int64_t)asked.trace->cpu[s] : 0);
            assert_optional(rows, 7, its->parent != CRN_SPAN_NONE, its->parent);
            assert_int_equal(integer_at(rows, 8), its->lane);
            assert_int_equal(integer_at(rows, 9), its->open);
            assert_int_equal(integer_at(rows, 10), its->handed_off);
            assert_int_equal(integer_at(rows, 11), block);
            assert_int_equal(integer_at(rows, 12), 0);
            assert_int_equal(integer_at(rows, 13), s);
        }
        assert_false(next_row(rows));
        crn_statement_free(rows);
        crn_query_close(query);
        asked_free(&asked);
    }
}

/* Conditions, with the column itself and with a plus sign that hides it from the table. */
static void tables_filter_like_sqlite(void **state)
{
    (void)state;
    static const char *const columns[] = {"id",       "iteration",  "start",  "end",
                                          "duration", "self",       "parent", "lane",
                                          "open",     "handed_off", "block",  "capture"};
    static const char *const operators[] = {"=", "<", "<=", ">", ">=", "<>", "is", "is not"};
    static const char *const values[] = {"0",   "1",     "2",      "7",     "0.5",   "3.0",
                                         "-1",  "NULL",  "'1'",    "'x'",   "40",    "50000",
                                         "1e5", "90000", "-1e300", "1e300", "x'00'", "20000.5"};
    static const char *const names[] = {
        "name = 'render'",          "name like 'REN%'", "name glob 'd*'",
        "name = \"it's\"",          "name is null",     "name > 'm'",
        "name in ('main', 'draw')", "name = 5",         "name = 'DRAW' collate nocase"};
    random_source random = {2};
    uint64_t found = 0;
    for (uint64_t round = 0; round < scale(60); round++) {
        asked asked = asked_make(&random, 1 + random_below(&random, 100));
        crn_query *query = open_query(&asked.file, 1);
        for (int i = 0; i < 30; i++) {
            char plain[512] = "", hidden[512] = "", left[700], right[700];
            uint32_t terms = 1 + random_below(&random, 3);
            for (uint32_t t = 0; t < terms; t++) {
                size_t used = strlen(plain), other = strlen(hidden);
                const char *join = t ? " and " : "";
                if (random_chance(&random, 1, 4)) {
                    const char *name = names[random_below(&random, COUNT(names))];
                    snprintf(plain + used, sizeof plain - used, "%s%s", join, name);
                    snprintf(hidden + other, sizeof hidden - other, "%s+%s", join, name);
                    continue;
                }
                const char *key = asked.trace->keys[random_below(&random, asked.trace->key_count)];
                bool attribute = random_chance(&random, 1, 4);
                const char *column = columns[random_below(&random, COUNT(columns))];
                const char *op = operators[random_below(&random, COUNT(operators))];
                const char *value = values[random_below(&random, COUNT(values))];
                if (attribute) {
                    const char *text = random_chance(&random, 1, 2) ? value : "'m'";
                    snprintf(plain + used, sizeof plain - used, "%s\"%s\" %s %s", join, key, op,
                             text);
                    snprintf(hidden + other, sizeof hidden - other, "%s+\"%s\" %s %s", join, key,
                             op, text);
                    continue;
                }
                snprintf(plain + used, sizeof plain - used, "%s%s %s %s", join, column, op, value);
                /* The same affinity as the column has. */
                snprintf(hidden + other, sizeof hidden - other, "%scast(%s as integer) %s %s", join,
                         column, op, value);
            }
            snprintf(left, sizeof left, "select id, name from spans where %s order by id", plain);
            snprintf(right, sizeof right, "select id, name from spans where %s order by +id",
                     hidden);
            assert_same_answers(query, left, right);
            snprintf(left, sizeof left, "select count(*) from spans where %s", plain);
            found += (uint64_t)number_of(query, left);
        }
        crn_query_close(query);
        asked_free(&asked);
    }
    assert_true(found > 0);
}

static void tables_sort_like_sqlite(void **state)
{
    (void)state;
    static const char *const columns[] = {"name",  "iteration", "start", "end",  "duration",
                                          "self",  "parent",    "lane",  "open", "handed_off",
                                          "block", "capture",   "cpu",   "id",   "weight"};
    random_source random = {3};
    for (uint64_t round = 0; round < scale(100); round++) {
        asked asked = asked_make(&random, 1 + random_below(&random, 100));
        crn_query *query = open_query(&asked.file, 1);
        for (int i = 0; i < 10; i++) {
            char plain[256] = "", hidden[256] = "", bare[256] = "", left[1000], right[1000];
            for (uint32_t t = 1 + random_below(&random, 3); t; t--) {
                char quoted[64];
                const char *key = asked.trace->keys[random_below(&random, asked.trace->key_count)];
                snprintf(quoted, sizeof quoted, "\"%s\"", key);
                const char *column = random_chance(&random, 1, 3)
                                         ? quoted
                                         : columns[random_below(&random, COUNT(columns))];
                const char *way = random_chance(&random, 1, 2) ? "" : " desc";
                sprintf(plain + strlen(plain), "%s%s, ", column, way);
                sprintf(hidden + strlen(hidden), "+%s%s, ", column, way);
                sprintf(bare + strlen(bare), "%s, ", column);
            }
            const char *condition = random_chance(&random, 1, 2) ? "1" : "iteration > 0";
            snprintf(left, sizeof left, "select id from spans where %s order by %s id", condition,
                     plain);
            snprintf(right, sizeof right, "select id from spans where %s order by %s +id",
                     condition, hidden);
            assert_same_answers(query, left, right);
            bare[strlen(bare) - 2] = 0;
            hidden[strlen(hidden) - 2] = 0;
            for (char *c = hidden; (c = strstr(c, " desc"));)
                memset(c, ' ', 5);
            snprintf(left, sizeof left,
                     "select count(*), sum(id), sum(duration), sum(self), min(name) from spans "
                     "group by %s order by 2, 1",
                     bare);
            snprintf(right, sizeof right,
                     "select count(*), sum(id), sum(duration), sum(self), min(name) from spans "
                     "group by %s order by 2, 1",
                     hidden);
            assert_same_answers(query, left, right);
        }
        crn_query_close(query);
        asked_free(&asked);
    }
}

static void attributes_are_those_of_the_trace(void **state)
{
    (void)state;
    random_source random = {4};
    for (uint64_t round = 0; round < scale(60); round++) {
        asked asked = asked_make(&random, 1 + random_below(&random, 100));
        crn_query *query = open_query(&asked.file, 1);
        crn_statement *rows = ask(query, "select span, key, value, kind, capture from attributes");
        for (uint32_t a = 0; a < asked.trace->attribute_count; a++) {
            const crn_attribute *its = &asked.trace->attributes[a];
            assert_true(next_row(rows));
            assert_int_equal(integer_at(rows, 0), its->span);
            assert_string_equal(text_at(rows, 1), asked.trace->keys[its->key]);
            crn_value value = crn_statement_value(rows, 2);
            if (its->kind == CRN_ATTRIBUTE_TEXT)
                assert_string_equal(value.text, its->value.text);
            else if (its->kind == CRN_ATTRIBUTE_INTEGER)
                assert_int_equal(value.integer, its->value.integer);
            else if (its->value.number == its->value.number)
                assert_true(value.number == its->value.number);
        }
        assert_false(next_row(rows));
        crn_statement_free(rows);
        for (uint32_t k = 0; k < asked.trace->key_count; k++) {
            char left[512], right[512];
            snprintf(left, sizeof left, "select id, \"%s\" from spans order by duration, id",
                     asked.trace->keys[k]);
            snprintf(right, sizeof right,
                     "select s.id, (select value from attributes a where a.span = s.id and"
                     " a.key = '%s' order by a.rowid desc limit 1) from spans s"
                     " order by duration, id",
                     asked.trace->keys[k]);
            assert_same_answers(query, left, right);
            snprintf(left, sizeof left,
                     "select id, attribute(id, '%s') from spans"
                     " order by duration, id",
                     asked.trace->keys[k]);
            assert_same_answers(query, left, right);
        }
        crn_query_close(query);
        asked_free(&asked);
    }
}

static void edges_of_spans_are_those_of_the_trace(void **state)
{
    (void)state;
    random_source random = {5};
    uint64_t edges = 0;
    for (uint64_t round = 0; round < scale(60); round++) {
        asked asked = asked_make(&random, 1 + random_below(&random, 100));
        crn_query *query = open_query(&asked.file, 1);
        for (uint32_t e = 0; e < asked.trace->edge_count; e++) {
            const crn_span_edge *its = &asked.trace->edges[e];
            char sql[256];
            snprintf(sql, sizeof sql,
                     "select count(*) from span_edges where span = %u and other = %u"
                     " and kind = '%s' and ifnull(at, 0) = %llu",
                     its->from, its->to, its->kind == CRN_EDGE_WAITS ? "waits" : "follows",
                     (unsigned long long)its->at);
            assert_true(number_of(query, sql) > 0);
        }
        edges += asked.trace->edge_count;
        assert_int_equal(number_of(query, "select count(*) from span_edges where kind in "
                                          "('waits', 'follows')"),
                         asked.trace->edge_count);
        assert_same_answers(query,
                            "select span, other from span_edges where kind = 'handoff'"
                            " order by 1",
                            "select id, parent from spans where handed_off and parent is not null"
                            " order by 1");
        crn_query_close(query);
        asked_free(&asked);
    }
    assert_true(edges > 0);
}

/* ---- figures ---- */

static void the_summary_is_that_of_cairn_spans(void **state)
{
    (void)state;
    random_source random = {6};
    for (uint64_t round = 0; round < scale(100); round++) {
        asked asked = asked_make(&random, 1 + random_below(&random, 200));
        crn_query *query = open_query(&asked.file, 1);
        crn_span_table table = crn_span_table_make(asked.spans, NULL, CRN_SPANS_BY_TOTAL);
        assert_int_equal(number_of(query, "select count(*) from summary"), table.count);
        for (uint32_t i = 0; i < table.count; i++) {
            const crn_span_row *its = &table.rows[i];
            char sql[256];
            snprintf(sql, sizeof sql,
                     "select count, open, total, self, min, median, p99, max from summary "
                     "where block = %u",
                     its->block);
            crn_statement *row = ask(query, sql);
            assert_true(next_row(row));
            bool ended = its->count > its->open;
            assert_int_equal(integer_at(row, 0), its->count);
            assert_int_equal(integer_at(row, 1), its->open);
            assert_int_equal(integer_at(row, 2), its->total);
            assert_int_equal(integer_at(row, 3), its->self);
            assert_optional(row, 4, ended, (int64_t)its->min);
            assert_optional(row, 5, ended, (int64_t)its->median);
            assert_optional(row, 6, ended, (int64_t)its->p99);
            assert_optional(row, 7, ended, (int64_t)its->max);
            crn_statement_free(row);
        }
        assert_same_answers(query,
                            "select name, count, total, self, median, p90, p99 from summary"
                            " where count > open order by block",
                            "select name, count(*), sum(duration), sum(self),"
                            " median(case when not open then duration end),"
                            " percentile(case when not open then duration end, 90),"
                            " percentile(case when not open then duration end, 99)"
                            " from spans group by block having sum(not open) > 0 order by block");
        crn_span_table_free(&table);
        crn_query_close(query);
        asked_free(&asked);
    }
}

static void missing_and_slowest_are_those_of_cairn_spans(void **state)
{
    (void)state;
    random_source random = {7};
    for (uint64_t round = 0; round < scale(60); round++) {
        asked asked = asked_make(&random, 1 + random_below(&random, 100));
        crn_query *query = open_query(&asked.file, 1);
        crn_missing missing = crn_missing_make(asked.spans, NULL, 0);
        if (missing.count) {
            assert_int_equal(number_of(query, "select sum(missing) from missing"), missing.missing);
            assert_int_equal(number_of(query, "select sum(total) from missing"), missing.total);
        }
        assert_int_equal(number_of(query, "select count(*) from missing"), missing.count);
        crn_span_parts slowest = crn_spans_slowest(asked.spans, NULL, 5);
        crn_statement *rows = ask(query, "select id, duration, self from slowest limit 5");
        for (uint32_t i = 0; i < slowest.count; i++) {
            assert_true(next_row(rows));
            assert_int_equal(integer_at(rows, 1), slowest.parts[i].length);
        }
        assert_false(next_row(rows));
        crn_statement_free(rows);
        crn_span_parts_free(&slowest);
        crn_missing_free(&missing);
        crn_query_close(query);
        asked_free(&asked);
    }
}

/* Computes for how long at least one span was open on a lane, from all pairs of consecutive
 * events. */
static uint64_t busy_slowly(const crn_trace *trace, uint32_t lane)
{
    uint64_t busy = 0;
    for (uint32_t m = 0; m < 2 * trace->span_count; m++) {
        uint64_t from = m % 2 ? trace->spans[m / 2].end : trace->spans[m / 2].start;
        uint64_t next = UINT64_MAX;
        bool counted = false, open = false;
        for (uint32_t s = 0; s < trace->span_count; s++) {
            const crn_span *its = &trace->spans[s];
            counted |= (2 * s < m && its->start == from) || (2 * s + 1 < m && its->end == from);
            next = its->start > from && its->start < next ? its->start : next;
            next = its->end > from && its->end < next ? its->end : next;
            open |= its->lane == lane && its->start <= from && its->end > from;
        }
        busy += open && !counted ? next - from : 0;
    }
    return busy;
}

static void assert_lanes_are_busy(const crn_query_file *file, const crn_trace *trace)
{
    crn_query *query = open_query(file, 1);
    crn_statement *rows = ask(query, "select id, spans, first, last, busy from threads"
                                     " order by id");
    for (uint32_t lane = 0; lane < trace->lane_count; lane++) {
        uint64_t count = 0, first = UINT64_MAX, last = 0;
        for (uint32_t s = 0; s < trace->span_count; s++) {
            const crn_span *its = &trace->spans[s];
            if (its->lane != lane)
                continue;
            count++;
            first = its->start < first ? its->start : first;
            last = its->end > last ? its->end : last;
        }
        assert_true(next_row(rows));
        assert_int_equal(integer_at(rows, 0), lane);
        assert_int_equal(integer_at(rows, 1), count);
        assert_optional(rows, 2, count, (int64_t)first);
        assert_optional(rows, 3, count, (int64_t)last);
        assert_optional(rows, 4, count, (int64_t)busy_slowly(trace, lane));
        assert_true(!count || busy_slowly(trace, lane) <= last - first);
    }
    assert_false(next_row(rows));
    crn_statement_free(rows);
    crn_query_close(query);
}

static void a_lane_is_busy_at_no_moment_twice(void **state)
{
    (void)state;
    random_source random = {11};
    for (uint64_t round = 0; round < scale(60); round++) {
        asked asked = asked_make(&random, 1 + random_below(&random, 60));
        assert_lanes_are_busy(&asked.file, asked.trace);
        /* Unordered spans of one lane: no file has them, but callers may. */
        crn_trace *trace = asked.trace;
        for (uint32_t s = 0; s < trace->span_count; s++) {
            trace->spans[s].start = random_below(&random, 300);
            trace->spans[s].end = trace->spans[s].start + random_below(&random, 30);
        }
        assert_lanes_are_busy(&asked.file, trace);
        asked_free(&asked);
    }
}

/* main, within it wait, within that three jobs, one after the other, that main asked for. */
static void a_helping_thread_is_busy_once(void **state)
{
    (void)state;
    random_source random = {12};
    asked asked = asked_make(&random, 100);
    crn_span spans[] = {
        {.start = 0, .end = 100, .parent = CRN_SPAN_NONE},
        {.start = 1, .end = 99, .parent = 0},
        {.start = 2, .end = 30, .parent = 0, .handed_off = true},
        {.start = 30, .end = 60, .parent = 0, .handed_off = true},
        {.start = 60, .end = 90, .parent = 0, .handed_off = true},
    };
    const char *lane = "main";
    crn_trace trace = {.span_count = COUNT(spans), .spans = spans, .lane_count = 1, .lanes = &lane};
    crn_query *query =
        open_query(&(crn_query_file){.path = "m", .profile = asked.profile, .trace = &trace}, 1);
    assert_int_equal(number_of(query, "select busy from threads"), 100);
    crn_query_close(query);
    asked_free(&asked);
}

static void contexts_and_edges_add_up(void **state)
{
    (void)state;
    random_source random = {8};
    for (uint64_t round = 0; round < scale(60); round++) {
        asked asked = asked_make(&random, 10);
        const crn_profile *profile = asked.profile;
        crn_query *query = open_query(&asked.file, 1);
        uint64_t *inclusive = crn_totals(profile, CRN_METRIC_WALL, NULL);
        crn_statement *rows = ask(query, "select id, parent, name, calls, wall, wall_inclusive, "
                                         "block, path(id), depth from contexts");
        for (uint32_t c = 0; c < profile->context_count; c++) {
            assert_true(next_row(rows));
            assert_int_equal(integer_at(rows, 0), c);
            assert_optional(rows, 1, c > 0, profile->parent[c]);
            assert_string_equal(text_at(rows, 2), profile->blocks[profile->block[c]].name);
            assert_int_equal(integer_at(rows, 3), crn_self(profile, CRN_METRIC_CALLS, c));
            assert_int_equal(integer_at(rows, 4), crn_self(profile, CRN_METRIC_WALL, c));
            assert_int_equal(integer_at(rows, 5), inclusive[c]);
            assert_int_equal(integer_at(rows, 6), profile->block[c]);
            int64_t arrows = 0;
            for (const char *at = text_at(rows, 7); (at = strstr(at, " > ")); at++)
                arrows++;
            assert_int_equal(arrows, c ? integer_at(rows, 8) - 1 : 0);
        }
        assert_false(next_row(rows));
        crn_statement_free(rows);
        crn_free(inclusive);
        /* Calls are counted on edges; the root's are strands. */
        assert_same_answers(query, "select id, calls from contexts where id > 0",
                            "select target, sum(calls) from edges group by target");
        assert_same_answers(query, "select sum(calls) from calls", "select sum(calls) from edges");
        assert_same_answers(query, "select metric, sum(self) from costs group by metric",
                            "select name, total from metrics where total > 0 order by name");
        crn_block_cost cost = crn_block_cost_make(profile, CRN_METRIC_WALL, NULL);
        rows = ask(query, "select block, wall, wall_inclusive from functions");
        while (next_row(rows)) {
            assert_int_equal(integer_at(rows, 1), cost.self[integer_at(rows, 0)]);
            assert_int_equal(integer_at(rows, 2), cost.inclusive[integer_at(rows, 0)]);
        }
        crn_statement_free(rows);
        crn_block_cost_free(&cost);
        crn_query_close(query);
        asked_free(&asked);
    }
}

/* ---- several captures ---- */

static void ids_continue_across_captures(void **state)
{
    (void)state;
    random_source random = {9};
    for (uint64_t round = 0; round < scale(30); round++) {
        asked one = asked_make(&random, 1 + random_below(&random, 60));
        asked other = asked_make(&random, 1 + random_below(&random, 60));
        crn_query_file files[] = {one.file, other.file};
        crn_query *query = open_query(files, 2), *second = open_query(&other.file, 1);
        uint32_t first = one.trace->span_count;
        char sql[512];
        assert_int_equal(number_of(query, "select count(*) from spans"),
                         first + other.trace->span_count);
        snprintf(sql, sizeof sql,
                 "select id - %u, parent - %u, name, duration, self, ancestry(id) from spans"
                 " where capture = 1 order by id",
                 first, first);
        char *left = answer_of(query, sql);
        char *right = answer_of(second, "select id, parent, name, duration, self, ancestry(id)"
                                        " from spans order by id");
        assert_string_equal(left, right);
        free(left);
        free(right);
        /* Joins on ids use the index. */
        static const char *const joins[] = {
            "select count(*) from spans s left join blocks b on b.id = s.block"
            " where b.name is not s.name or b.capture is not s.capture",
            "select count(*) from spans s left join lanes l on l.id = s.lane"
            " where l.capture is not s.capture",
            "select count(*) from attributes a left join spans s on s.id = a.span"
            " where s.capture is not a.capture",
            "select count(*) from span_edges e left join spans s on s.id = e.span"
            " where s.capture is not e.capture",
            "select count(*) from edges e left join contexts s on s.id = e.source"
            " left join contexts t on t.id = e.target"
            " where s.capture is not e.capture or t.capture is not e.capture",
            "select count(*) from spans s join spans p on p.id = s.parent"
            " where s.capture is not p.capture",
        };
        for (size_t i = 0; i < COUNT(joins); i++)
            assert_int_equal(number_of(query, joins[i]), 0);
        assert_same_answers(query,
                            "select id, (select count(*) from spans c where c.parent = s.id)"
                            " from spans s order by id",
                            "select id, (select count(*) from spans c where +c.parent = s.id)"
                            " from spans s order by id");
        crn_query_close(query);
        crn_query_close(second);
        asked_free(&one);
        asked_free(&other);
    }
}

/* ---- choosing ---- */

static void an_expression_chooses_spans(void **state)
{
    (void)state;
    random_source random = {10};
    crn_error error;
    asked asked = asked_make(&random, 100);
    uint8_t *chosen = crn_query_select(asked.profile, asked.trace,
                                       "iteration > 100 and name = \"render\" -- both", &error);
    assert_non_null(chosen);
    for (uint32_t s = 0; s < asked.trace->span_count; s++) {
        const crn_span *its = &asked.trace->spans[s];
        const char *name = asked.profile->blocks[crn_span_block(asked.spans, s)].name;
        assert_int_equal(chosen[s], its->iteration > 100 && strcmp(name, "render") == 0);
    }
    crn_free(chosen);
    static const struct {
        const char *expression, *says;
    } wrong[] = {
        {"iteration >", "incomplete"},
        {"iteraton > 5", "no such column: iteraton; line 1, column 1, at: iteraton > 5"},
        {"1\nand (nam = 2)", "line 2, column 6, at: nam = 2)"},
        {"1; select 2", "one expression"},
        {"", "incomplete"},
        {"id in (select load_extension('x'))", "load_extension"},
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        error = (crn_error){0};
        assert_null(crn_query_select(asked.profile, asked.trace, wrong[i].expression, &error));
        if (!strstr(error.message, wrong[i].says))
            print_error("%s: %s\n", wrong[i].expression, error.message);
        assert_non_null(strstr(error.message, wrong[i].says));
        assert_null(strchr(error.message, '\n'));
    }
    asked_free(&asked);
}

/* ---- refused statements ---- */

static void nothing_but_reading_is_allowed(void **state)
{
    (void)state;
    static const char *const refused[] = {
        "create table t(x)",
        "create temp table t(x)",
        "create view v as select 1",
        "create virtual table v using spans",
        "insert into spans(id) values (1)",
        "update spans set id = 1",
        "delete from spans",
        "drop view summary",
        "drop table spans",
        "alter table spans rename to s",
        "attach ':memory:' as other",
        "detach main",
        "pragma writable_schema = 1",
        "pragma journal_mode",
        "pragma query_only = 0",
        "select * from pragma_table_info('spans')",
        "begin",
        "savepoint s",
        "vacuum into 'x'",
        "analyze",
        "select load_extension('x')",
        "select fts3_tokenizer('simple')",
        "update sqlite_schema set sql = ''",
        "delete from sqlite_schema",
    };
    random_source random = {11};
    asked asked = asked_make(&random, 50);
    crn_query *query = open_query(&asked.file, 1);
    for (size_t i = 0; i < COUNT(refused); i++) {
        const char *rest;
        crn_error error;
        crn_statement *statement = crn_statement_new(query, refused[i], &rest, &error);
        if (statement)
            print_error("%s\n", refused[i]);
        assert_null(statement);
        assert_int_not_equal(error.code, 0);
        assert_null(strchr(error.message, '\n'));
    }
    static const char *const too_much[] = {
        "select length(zeroblob(1000000000))",
        "with recursive r(x) as (select 'xxxxxxxxxxxxxxxx' union all select x || x from r) "
        "select max(length(x)) from r",
    };
    for (size_t i = 0; i < COUNT(too_much); i++) {
        const char *rest;
        crn_error error = {0};
        crn_statement *statement = crn_statement_new(query, too_much[i], &rest, &error);
        if (statement)
            assert_int_equal(crn_statement_step(statement, &error), -1);
        assert_int_not_equal(error.code, 0);
        crn_statement_free(statement);
    }
    crn_query_close(query);
    asked_free(&asked);
}

static void a_running_query_can_be_stopped(void **state)
{
    (void)state;
    random_source random = {12};
    crn_error error = {0};
    asked asked = asked_make(&random, 50);
    crn_query *query = open_query(&asked.file, 1);
    crn_statement *statement = ask(query, "with recursive r(x) as (select 1 union all select x + 1 "
                                          "from r) select count(*) from r");
    crn_query_stop(query);
    assert_int_equal(crn_statement_step(statement, &error), -1);
    assert_string_equal(error.message, "stopped");
    crn_statement_free(statement);
    crn_query_close(query);
    asked_free(&asked);
}

/* ---- the schema in the documents and in --schema ---- */

static void the_tables_are_those_that_are_described(void **state)
{
    (void)state;
    random_source random = {13};
    asked asked = asked_make(&random, 50);
    crn_query *query = open_query(&asked.file, 1);
    for (const crn_schema_table *table = crn_schema; table->name; table++) {
        if (!table->columns)
            continue;
        char sql[256];
        snprintf(sql, sizeof sql, "select * from %s limit 1", table->name);
        crn_statement *statement = ask(query, sql);
        uint32_t columns = crn_statement_columns(statement), at = 0;
        bool any = next_row(statement);
        for (const crn_schema_column *column = table->columns; column->name; column++) {
            bool open = strcmp(column->name, "KEY") == 0 || strcmp(column->name, "*") == 0;
            if (open)
                continue;
            assert_true(at < columns);
            assert_string_equal(crn_statement_column(statement, at), column->name);
            crn_value value = any ? crn_statement_value(statement, at) : (crn_value){0};
            if (strcmp(column->type, "INTEGER") == 0)
                assert_true(value.kind == CRN_VALUE_NULL || value.kind == CRN_VALUE_INTEGER);
            if (strcmp(column->type, "TEXT") == 0)
                assert_true(value.kind == CRN_VALUE_NULL || value.kind == CRN_VALUE_TEXT);
            at++;
        }
        if (strcmp(table->name, "spans_wide") != 0)
            assert_int_equal(at, columns);
        crn_statement_free(statement);
    }
    assert_int_equal(number_of(query, "select count(*) from sqlite_schema where type = 'view'"), 7);
    crn_query_close(query);
    asked_free(&asked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_spans_are_those_of_the_trace),
        cmocka_unit_test(tables_filter_like_sqlite),
        cmocka_unit_test(tables_sort_like_sqlite),
        cmocka_unit_test(attributes_are_those_of_the_trace),
        cmocka_unit_test(edges_of_spans_are_those_of_the_trace),
        cmocka_unit_test(the_summary_is_that_of_cairn_spans),
        cmocka_unit_test(missing_and_slowest_are_those_of_cairn_spans),
        cmocka_unit_test(a_lane_is_busy_at_no_moment_twice),
        cmocka_unit_test(a_helping_thread_is_busy_once),
        cmocka_unit_test(contexts_and_edges_add_up),
        cmocka_unit_test(ids_continue_across_captures),
        cmocka_unit_test(an_expression_chooses_spans),
        cmocka_unit_test(nothing_but_reading_is_allowed),
        cmocka_unit_test(a_running_query_can_be_stopped),
        cmocka_unit_test(the_tables_are_those_that_are_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
