/* SPDX-License-Identifier: MIT
 *
 * Answers about spans: the tables of cairn spans, single spans, timelines and iterations. A choice
 * can restrict all of them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/span.h>

#include "base/memory.h"
#include "base/order.h"
#include "cli/common/cli.h"
#include "cli/common/json.h"
#include "profile/profile.h"
#include "spans/spans.h"
#include "view.h"

enum { PIXELS_DEFAULT = 1600, PIXELS_MAX = 8000, LANES_MAX = 256, ARROWS_MAX = 400 };
enum { POINTS_DEFAULT = 20000, POINTS_MAX = 100000, TOP_DEFAULT = 30, TOP_MAX = 10000 };

/* Sets `*kept`, by block, to 1 for the query's "block"; NULL, for all blocks, without one. On an
 * error prints a message and returns false. */
static bool blocks_of(const crn_view_file *file, const crn_view_query *query, uint8_t **kept)
{
    const char *name = crn_view_text(query, "block");
    uint32_t block;
    crn_error error;
    *kept = NULL;
    if (!name || !*name)
        return true;
    if (!crn_reference_block(file->plain, name, strlen(name), &block, &error)) {
        crn_cli_fail("%s", error.message);
        return false;
    }
    *kept = crn_calloc(file->plain->block_count, 1);
    (*kept)[block] = 1;
    return true;
}

static crn_spans_report report_of(crn_view *view, crn_view_file *file,
                                  const crn_view_choice *choice)
{
    crn_spans_report report = {.source = {.path = file->path,
                                          .profile = file->plain,
                                          .trace = choice ? choice->trace : file->trace,
                                          .spans = choice ? choice->spans : file->spans}};
    if (!choice)
        report.source.open = crn_view_sums_of(view, file, CRN_SUM_TABLE)->open;
    for (uint32_t s = 0; choice && s < report.source.trace->span_count; s++)
        report.source.open += report.source.trace->spans[s].open;
    return report;
}

/* Takes the table and the slowest spans from the sums over all spans. */
static void take_sums(crn_spans_report *report, const crn_view_sums *sums)
{
    report->table = &sums->table;
    if (report->slowest <= CRN_VIEW_LONGEST)
        report->longest = &sums->slowest;
}

static crn_missing missing_of(const crn_spans_report *report, const crn_view_sums *sums)
{
    crn_missing missing = sums->missing;
    if (missing.gaps.count > report->slowest)
        missing.gaps.count = report->slowest;
    return missing;
}

/* Returns the slowest of the chosen spans, by their numbers in the file's trace: their ancestors
 * need not be chosen. */
static crn_span_parts slowest_of(crn_spans_report *report, const crn_view_file *file,
                                 const crn_view_choice *choice)
{
    crn_span_parts parts = crn_spans_slowest(choice->spans, report->kept, report->slowest);
    for (uint32_t i = 0; i < parts.count; i++)
        parts.parts[i].span = choice->origins[parts.parts[i].span];
    report->source.trace = file->trace;
    report->source.spans = file->spans;
    return parts;
}

/* ---- the tables ---- */

static crn_span_sort sort_of(const crn_view_query *query)
{
    static const char *const names[] = {"total", "self", "count", "median", "p99", "max"};
    const char *name = crn_view_text(query, "sort");
    for (int i = 0; name && i < CRN_SPAN_SORTS; i++)
        if (strcmp(name, names[i]) == 0)
            return (crn_span_sort)i;
    return CRN_SPANS_BY_TOTAL;
}

bool crn_view_spans(FILE *out, crn_view *view, const crn_view_query *query)
{
    const char *name = crn_view_text(query, "view");
    const crn_view_choice *choice;
    crn_view_file *file = crn_view_file_chosen(view, query, &choice);
    uint64_t top;
    uint8_t *kept;
    if (!file || !crn_view_number(query, "top", TOP_DEFAULT, TOP_MAX, &top) ||
        !blocks_of(file, query, &kept))
        return false;
    crn_spans_report report = report_of(view, file, choice);
    crn_span_parts chosen = {0};
    bool all = !kept && !choice, known = false;
    bool missing = name && strcmp(name, "missing") == 0;
    bool slowest = name && strcmp(name, "slowest") == 0;
    report.kept = kept;
    report.sort = sort_of(query);
    report.top = report.slowest = top ? (uint32_t)top : UINT32_MAX;
    if (all)
        take_sums(&report, crn_view_sums_of(view, file,
                                            missing   ? CRN_SUM_MISSING
                                            : slowest ? CRN_SUM_SLOWEST
                                                      : CRN_SUM_TABLE));
    if (slowest)
        report.view = CRN_SPANS_VIEW_SLOWEST;
    if (slowest && choice) {
        chosen = slowest_of(&report, file, choice);
        report.longest = &chosen;
    }
    if (missing) {
        report.view = CRN_SPANS_VIEW_MISSING;
        known = all && report.slowest <= CRN_VIEW_LONGEST;
        report.missing = known ? missing_of(&report, file->sums)
                               : crn_missing_make(report.source.spans, kept, report.slowest);
    }
    crn_spans_json(out, &report);
    if (!known)
        crn_missing_free(&report.missing);
    crn_span_parts_free(&chosen);
    crn_free(kept);
    return true;
}

/* Answers with a span and its ancestors, chosen or not. With "chosen", its id is a number in the
 * choice. */
bool crn_view_span(FILE *out, crn_view *view, const crn_view_query *query)
{
    const crn_view_choice *choice;
    crn_view_file *file = crn_view_file_chosen(view, query, &choice);
    uint64_t id, chosen;
    if (!file || !crn_view_number(query, "id", 0, UINT32_MAX, &id) ||
        !crn_view_number(query, "chosen", 0, 1, &chosen))
        return false;
    if (chosen && choice && id < choice->trace->span_count)
        id = choice->origins[id];
    if (id >= file->trace->span_count) {
        crn_cli_fail("there is no span %llu", (unsigned long long)id);
        return false;
    }
    crn_spans_report report = {.source = {.path = file->path,
                                          .profile = file->plain,
                                          .trace = file->trace,
                                          .spans = file->spans}};
    json_t *json = crn_spans_span_json(&report, (uint32_t)id);
    json_object_set_new(json, "row", crn_json_number(file->chart->rows[id]));
    json_object_set_new(json, "lane_number", crn_json_number(file->trace->spans[id].lane));
    crn_json_write(out, json);
    return true;
}

/* Answers with the chosen spans by path, as boxes. */
bool crn_view_span_flame(FILE *out, crn_view *view, const crn_view_query *query)
{
    const crn_view_choice *choice;
    crn_view_file *file = crn_view_file_chosen(view, query, &choice);
    if (!file)
        return false;
    crn_view_part *part = &file->span_part;
    const char *key = choice ? choice->key : "all";
    if (!part->key || strcmp(part->key, key) != 0) {
        crn_view_part_clear(part);
        const crn_view_sums *sums = choice ? NULL : crn_view_sums_of(view, file, CRN_SUM_TREE);
        if (choice)
            part->owned = crn_span_tree(choice->spans, file->plain);
        part->profile = choice ? part->owned : sums->tree;
        part->blocks = crn_view_numbers_of(file->plain, part->profile);
        part->metric = CRN_METRIC_WALL;
        part->totals = part->owned_totals = crn_totals(part->profile, part->metric, NULL);
        part->key = crn_strdup(key);
    }
    return crn_view_write_part(out, part, query);
}

/* ---- timeline ---- */

static json_t *lane_json(const crn_view_file *file, const crn_view_choice *choice, uint32_t lane)
{
    uint32_t all = file->chart->first[lane + 1] - file->chart->first[lane];
    json_t *json = json_object();
    json_object_set_new(json, "lane", crn_json_number(lane));
    json_object_set_new(json, "name", crn_json_text(file->trace->lanes[lane]));
    json_object_set_new(json, "rows", crn_json_number(file->chart->row_counts[lane]));
    json_object_set_new(json, "spans", crn_json_number(choice ? choice->by_lane[lane] : all));
    return json;
}

static uint32_t block_of(const crn_view_file *file, uint32_t block)
{
    return block < file->plain->block_count ? block : 0;
}

/* Writes an iteration; above 2^53 as text, as browsers cannot represent it. */
static void write_iteration(FILE *out, int64_t iteration)
{
    const int64_t most = INT64_C(1) << 53;
    if (iteration == CAIRN_ITERATION_NONE)
        fputs("null", out);
    else
        fprintf(out, iteration > most || iteration < -most ? "\"%" PRId64 "\"" : "%" PRId64,
                iteration);
}

static void write_bars(FILE *out, const crn_view_file *file, const crn_chart_drawing *look,
                       uint8_t *used)
{
    fputs(",\n\"columns\":[\"lane\",\"row\",\"start\",\"end\",\"busy\",\"block\",\"count\","
          "\"span\",\"iteration\",\"open\"],\n\"bars\":[",
          out);
    for (uint32_t i = 0; i < look->bar_count; i++) {
        const crn_chart_bar *bar = &look->bars[i];
        const crn_span *span = &file->trace->spans[bar->span];
        uint32_t block = block_of(file, bar->block);
        used[block] = 1;
        fprintf(out, "%s[%u,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%u,%u,%u,", i ? ",\n" : "\n",
                bar->lane, bar->row, bar->start, bar->end, bar->busy, block, bar->count, bar->span);
        write_iteration(out, span->iteration);
        fprintf(out, ",%d]", span->open);
    }
    putc(']', out);
}

static void write_arrows(FILE *out, const crn_view_file *file, const crn_chart_drawing *look)
{
    static const char *const kinds[] = {"handoff", "waits", "follows"};
    const crn_trace *trace = file->trace;
    fputs(",\n\"arrows\":[", out);
    for (uint32_t i = 0; i < look->arrow_count; i++) {
        const crn_chart_arrow *arrow = &look->arrows[i];
        fprintf(out,
                "%s{\"kind\":\"%s\",\"from\":%u,\"to\":%u,\"from_lane\":%u,\"from_row\":%u,"
                "\"to_lane\":%u,\"to_row\":%u,\"left\":%" PRIu64 ",\"arrives\":%" PRIu64 "}",
                i ? ",\n" : "\n", kinds[arrow->kind], arrow->from, arrow->to,
                trace->spans[arrow->from].lane, file->chart->rows[arrow->from],
                trace->spans[arrow->to].lane, file->chart->rows[arrow->to], arrow->left,
                arrow->arrives);
    }
    putc(']', out);
}

static bool window_of(const crn_view_file *file, const crn_view_choice *choice,
                      const crn_view_query *query, crn_chart_window *window)
{
    uint64_t first, lanes;
    crn_view_window time;
    if (!crn_view_window_of(file, choice, query, PIXELS_DEFAULT, PIXELS_MAX, &time) ||
        !crn_view_number(query, "lane", 0, UINT32_MAX, &first) ||
        !crn_view_number(query, "lanes", LANES_MAX, LANES_MAX, &lanes))
        return false;
    window->from = time.from;
    window->to = time.to;
    window->pixels = time.pixels;
    window->first_lane = (uint32_t)first;
    window->lane_count = (uint32_t)lanes;
    window->most_arrows = ARROWS_MAX;
    window->kept = choice ? choice->kept : NULL;
    return true;
}

static json_t *counts_json(const crn_view_file *file, const crn_chart_window *window)
{
    crn_chart_counts counts = crn_chart_count(file->chart, window);
    json_t *json = json_object();
    json_object_set_new(json, "spans", crn_json_number(counts.spans));
    json_object_set_new(json, "handoffs", crn_json_number(counts.handoffs));
    json_object_set_new(json, "waits", crn_json_number(counts.waits));
    json_object_set_new(json, "follows", crn_json_number(counts.follows));
    return json;
}

static void write_look(FILE *out, const crn_view_file *file, const crn_view_choice *choice,
                       const crn_chart_window *window, const crn_chart_drawing *look)
{
    uint8_t *used = crn_calloc(file->plain->block_count, 1);
    json_t *lanes = json_array();
    for (uint32_t lane = 0; lane < file->trace->lane_count && lane < 4096; lane++)
        json_array_append_new(lanes, lane_json(file, choice, lane));
    fprintf(out, "{\"from\":%" PRIu64 ",\"to\":%" PRIu64 ",\"length\":%" PRIu64, window->from,
            window->to, file->trace->length);
    crn_json_write_member(out, "finest",
                          crn_json_number((window->to - window->from) / window->pixels));
    crn_json_write_member(out, "lanes", lanes);
    crn_json_write_member(out, "counters", crn_json_number(file->counters->count));
    crn_json_write_member(
        out, "moments",
        crn_json_number((uint64_t)file->trace->event_count + file->trace->off_core_count));
    crn_json_write_member(out, "arrows_left_out", crn_json_number(look->arrows_left_out));
    crn_json_write_member(out, "counts", counts_json(file, window));
    write_bars(out, file, look, used);
    write_arrows(out, file, look);
    crn_view_write_blocks(out, file->plain, used, NULL);
    fputs("}\n", out);
    crn_free(used);
}

bool crn_view_timeline(FILE *out, crn_view *view, const crn_view_query *query)
{
    const crn_view_choice *choice;
    crn_chart_window window;
    crn_view_file *file = crn_view_file_chosen(view, query, &choice);
    if (!file || !window_of(file, choice, query, &window))
        return false;
    crn_chart_drawing look = crn_chart_draw(file->chart, &window);
    write_look(out, file, choice, &window, &look);
    crn_chart_drawing_free(&look);
    return true;
}

static int compare_bars(const void *left, const void *right)
{
    const crn_chart_bar *a = left, *b = right;
    return CRN_ORDER(b->busy, a->busy) ?: CRN_ORDER(a->span, b->span);
}

uint32_t *crn_view_timeline_whole(FILE *out, const crn_view_file *file, uint32_t most,
                                  uint32_t *count)
{
    enum { FINEST = 1 << 16, ARROWS = 2000 };
    crn_chart_window window = {.to = file->trace->length + 1,
                               .pixels = file->trace->span_count <= most ? UINT32_MAX : FINEST,
                               .lane_count = file->trace->lane_count,
                               .most_arrows = ARROWS};
    crn_chart_drawing look = crn_chart_draw(file->chart, &window);
    while (look.bar_count > most && window.pixels > 1) {
        window.pixels /= 2;
        crn_chart_drawing_free(&look);
        look = crn_chart_draw(file->chart, &window);
    }
    write_look(out, file, NULL, &window, &look);
    qsort(look.bars, look.bar_count, look.bar_count ? sizeof *look.bars : 1, compare_bars);
    uint32_t *spans = crn_calloc((size_t)look.bar_count + 1, sizeof *spans);
    for (uint32_t i = 0; i < look.bar_count; i++)
        spans[i] = look.bars[i].span;
    *count = look.bar_count;
    crn_chart_drawing_free(&look);
    return spans;
}

/* ---- iterations ---- */

/* Returns the blocks with spans, the one with the most time first. */
static json_t *spanned_json(const crn_view_file *file, const crn_view_sums *sums)
{
    json_t *rows = json_array();
    for (uint32_t i = 0; i < sums->table.count; i++) {
        json_t *row = json_object();
        json_object_set_new(row, "block", crn_json_block(file->plain, sums->table.rows[i].block));
        json_object_set_new(row, "count", crn_json_number(sums->table.rows[i].count));
        json_array_append_new(rows, row);
    }
    return rows;
}

bool crn_view_iterations(FILE *out, crn_view *view, const crn_view_query *query)
{
    crn_view_file *file = crn_view_file_of(view, query);
    uint64_t block, most;
    if (!file || !crn_view_file_spans(view, file) ||
        !crn_view_number(query, "of", crn_view_sums_of(view, file, CRN_SUM_FIRST)->first,
                         UINT32_MAX, &block) ||
        !crn_view_number(query, "points", POINTS_DEFAULT, POINTS_MAX, &most))
        return false;
    uint32_t number = block_of(file, (uint32_t)block);
    crn_iterations all = crn_iterations_make(file->spans, number, NULL, most ? (uint32_t)most : 1);
    fputs("{\"block\":", out);
    crn_json_write(out, crn_json_block(file->plain, number));
    crn_json_write_member(out, "numbered", json_boolean(all.numbered));
    crn_json_write_member(out, "spans", crn_json_number(all.span_count));
    crn_json_write_member(out, "blocks", spanned_json(file, file->sums));
    fputs(",\n\"columns\":[\"iteration\",\"duration\",\"span\",\"count\"],\n\"points\":[", out);
    for (uint32_t i = 0; i < all.count; i++) {
        const crn_iteration_point *point = &all.points[i];
        fputs(i ? ",\n[" : "\n[", out);
        write_iteration(out, point->iteration);
        fprintf(out, ",%" PRIu64 ",%u,%u]", point->duration, point->span, point->count);
    }
    fputs("]}\n", out);
    crn_iterations_free(&all);
    return true;
}
