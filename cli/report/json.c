/* SPDX-License-Identifier: MIT
 *
 * Writes the report as JSON; docs/REPORT_JSON.md has the schema. Rows are written one at a time,
 * and contexts refer to their parents by number: neither memory nor nesting grows with the profile.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli/common/json.h"
#include "formats/names.h"
#include "report.h"

/* Sets the member called like a metric, whose name can be any text. */
static void set_by_metric(json_t *object, const crn_profile *profile, uint32_t metric,
                          json_t *value)
{
    char *utf8 = crn_text_copy(profile->metrics[metric].name, false);
    json_object_set_new(object, utf8, value);
    crn_free(utf8);
}

static void set_metric(json_t *object, const crn_profile *profile, uint32_t metric, uint64_t value)
{
    set_by_metric(object, profile, metric, crn_json_number(value));
}

/* Returns the interval as integers, rounded outwards. */
static json_t *interval_json(crn_interval interval)
{
    json_t *ends = json_array();
    json_array_append_new(ends, crn_json_number((uint64_t)floor(interval.low)));
    json_array_append_new(ends, crn_json_number((uint64_t)ceil(interval.high)));
    return ends;
}

/* Returns a share, rounded to a millionth. */
static json_t *share_json(double share)
{
    return json_real(round(share * 1e6) / 1e6);
}

static json_t *shares_json(crn_interval interval)
{
    json_t *ends = json_array();
    json_array_append_new(ends, share_json(interval.low));
    json_array_append_new(ends, share_json(interval.high));
    return ends;
}

/* Adds row.interval[what][metric] = [low, high] if the figure has few samples. */
static void set_interval(json_t *row, const crn_report *report, const char *what, uint32_t place,
                         uint64_t value)
{
    if (!crn_report_is_uncertain(report, place, value))
        return;
    json_t *intervals = json_object_get(row, "interval");
    if (!intervals) {
        intervals = json_object();
        json_object_set_new(row, "interval", intervals);
    }
    json_t *of = json_object_get(intervals, what);
    if (!of) {
        of = json_object();
        json_object_set_new(intervals, what, of);
    }
    set_by_metric(of, report->profile, report->metrics[place],
                  interval_json(crn_sampling_interval(&report->sampling[place], value)));
}

/* Adds row[what] = {metric: value}; also its interval, unless it is exact (`whole`). */
static void set_figure(json_t *row, const crn_report *report, const char *what, uint32_t place,
                       uint64_t value, bool whole)
{
    json_t *figures = json_object_get(row, what);
    if (!figures) {
        figures = json_object();
        json_object_set_new(row, what, figures);
    }
    set_metric(figures, report->profile, report->metrics[place], value);
    if (!whole)
        set_interval(row, report, what, place, value);
}

json_t *crn_report_sampling_json(const crn_sampling *sampling)
{
    json_t *json = json_object();
    json_object_set_new(json, "asked", crn_json_number((uint64_t)sampling->asked));
    json_object_set_new(json, "reached",
                        sampling->samples ? crn_json_number((uint64_t)(sampling->reached + 0.5))
                                          : json_null());
    json_object_set_new(json, "samples", crn_json_number(sampling->samples));
    json_object_set_new(json, "unit", crn_json_number((uint64_t)(sampling->unit + 0.5)));
    json_object_set_new(json, "error", crn_json_number((uint64_t)(sampling->error + 0.5)));
    json_object_set_new(json, "open", json_boolean(sampling->open));
    json_object_set_new(json, "kernel_ticks", json_boolean(sampling->in_ticks));
    return json;
}

/* Writes how many blocks have no row; with --keep also the blocks that it left out. */
static void write_rest(FILE *out, const crn_report *report, const crn_unshown *rest)
{
    crn_json_write_member(out, "hidden", crn_json_number(rest->hidden));
    if (!report->shown)
        return;
    json_t *unwanted = json_object(), *self = json_object();
    json_object_set_new(unwanted, "blocks", crn_json_number(rest->unwanted));
    set_metric(self, report->profile, report->metrics[0], rest->unwanted_self);
    json_object_set_new(unwanted, "self", self);
    crn_json_write_member(out, "unwanted", unwanted);
}

/* Writes the capture's state. */
static void write_state(FILE *out, const crn_report *report)
{
    static const char *const names[] = {"ended", "running", "killed", "unclosed"};
    crn_report_state state = crn_report_state_of(report);
    crn_json_write_member(out, "state", json_string(names[state]));
    if (state != CRN_REPORT_ENDED)
        crn_json_write_member(
            out, "unaccounted_ns",
            crn_json_number(crn_profile_note_number(report->profile, "unaccounted_ns")));
}

static void write_head(FILE *out, const crn_report *report)
{
    const crn_profile *profile = report->profile;
    json_t *notes = json_object(), *warnings = json_array(), *metrics = json_array();
    for (size_t i = 0; i < profile->note_count; i++) {
        char *key = crn_text_copy(profile->notes[i].key, false);
        json_object_set_new(notes, key, crn_json_text(profile->notes[i].value));
        crn_free(key);
    }
    for (size_t i = 0; i < profile->warning_count; i++)
        json_array_append_new(warnings, crn_json_text(profile->warnings[i]));
    for (uint32_t m = 0; m < profile->metric_count; m++) {
        json_t *metric = json_object();
        json_object_set_new(metric, "name", crn_json_text(profile->metrics[m].name));
        json_object_set_new(metric, "unit", crn_json_text(profile->metrics[m].unit));
        json_object_set_new(metric, "total", crn_json_number(crn_report_total(report, m)));
        crn_sampling sampling = crn_sampling_of(profile, m);
        if (sampling.unit > 0)
            json_object_set_new(metric, "sampling", crn_report_sampling_json(&sampling));
        json_array_append_new(metrics, metric);
    }
    fputs("{\"schema\":\"cairn-report/1\"", out);
    crn_json_write_member(out, "capture", crn_json_text(report->path));
    crn_json_write_member(out, "notes", notes);
    crn_json_write_member(out, "warnings", warnings);
    crn_json_write_member(out, "metrics", metrics);
    json_t *memory = crn_report_memory_json(profile);
    if (memory)
        crn_json_write_member(out, "memory", memory);
    crn_json_write_member(out, "contexts", crn_json_number(profile->context_count));
    crn_json_write_member(out, "blocks", crn_json_number(profile->block_count));
    crn_json_write_member(out, "folded_calls", crn_json_number(crn_folded_calls(profile)));
    write_state(out, report);
}

static void write_flat(FILE *out, const crn_report *report)
{
    const crn_profile *profile = report->profile;
    crn_flat flat = crn_flat_make(report);
    write_rest(out, report, &flat.rest);
    fputs(",\n\"flat\":[", out);
    for (uint32_t i = 0; i < flat.count; i++) {
        uint32_t block = flat.blocks[i];
        json_t *row = json_object();
        json_object_set_new(row, "block", crn_json_block(profile, block));
        json_object_set_new(row, "calls", crn_json_number(flat.calls.self[block]));
        if (report->small)
            json_object_set_new(row, "small_calls", crn_json_number(flat.small.self[block]));
        for (uint32_t m = 0; m < report->metric_count; m++) {
            set_figure(row, report, "self", m, flat.cost[m].self[block], false);
            set_figure(row, report, "inclusive", m, flat.cost[m].inclusive[block], !block);
        }
        if (report->waits)
            json_object_set_new(row, "waits",
                                crn_json_number(crn_flat_waited(report, &flat, block)));
        if (report->ready)
            json_object_set_new(row, "ready", crn_json_number(flat.ready.self[block]));
        crn_json_write_element(out, i, row);
    }
    fputs("]", out);
    crn_flat_free(&flat, report);
}

/* State of the writer of a tree. Trees have millions of rows: repeated parts are converted to text
 * once. */
typedef struct tree_writer {
    const crn_report *report;
    const crn_tree_view *view;
    char *metric;  /* the metric's name as JSON */
    char **blocks; /* by block: the block as JSON; NULL until needed */
} tree_writer;

static char *json_text(json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY);
    json_decref(json);
    return text;
}

static const char *block_text(tree_writer *writer, uint32_t block)
{
    if (!writer->blocks[block])
        writer->blocks[block] = json_text(crn_json_block(writer->view->profile, block));
    return writer->blocks[block];
}

static void write_number(FILE *out, const char *before, uint64_t number)
{
    fputs(before, out);
    if (number <= INT64_MAX)
        fprintf(out, "%" PRIu64, number);
    else
        crn_json_write(out, crn_json_number(number));
}

static void write_figure(FILE *out, const tree_writer *writer, const char *what, uint64_t value)
{
    fprintf(out, ",\"%s\":{%s", what, writer->metric);
    write_number(out, ":", value);
    putc('}', out);
}

/* Writes the row's member `interval` if a figure has few samples. */
static void write_interval(FILE *out, const tree_writer *writer, uint64_t self, uint64_t inclusive,
                           bool whole)
{
    json_t *row = json_object();
    if (!writer->view->upside_down)
        set_interval(row, writer->report, "self", 0, self);
    if (!whole)
        set_interval(row, writer->report, "inclusive", 0, inclusive);
    json_t *interval = json_object_get(row, "interval");
    if (interval) {
        fputs(",\"interval\":", out);
        crn_json_write(out, json_incref(interval));
    }
    json_decref(row);
}

static void write_context(FILE *out, tree_writer *writer, uint32_t c)
{
    const crn_tree_view *view = writer->view;
    const crn_profile *profile = view->profile;
    bool counts = !view->kept || view->kept[c];
    uint64_t self = counts ? crn_self(profile, writer->report->metrics[0], c) : 0;
    write_number(out, "{\"context\":", c);
    if (c)
        write_number(out, ",\"parent\":", profile->parent[c]);
    else
        fputs(",\"parent\":null", out);
    fprintf(out, ",\"block\":%s", block_text(writer, profile->block[c]));
    write_number(out, ",\"calls\":", view->calls[c]);
    if (!view->upside_down) {
        write_number(out, ",\"cycle_calls\":", counts ? view->cycles[c] : 0);
        write_figure(out, writer, "self", self);
    }
    write_figure(out, writer, "inclusive", view->tree.totals[c]);
    if (writer->report->sampling[0].unit > 0)
        write_interval(out, writer, self, view->tree.totals[c], !c);
    putc('}', out);
}

static void write_tree(FILE *out, const crn_report *report)
{
    crn_tree_view view = crn_tree_view_make(report, true);
    char *utf8 = crn_text_copy(report->profile->metrics[report->metrics[0]].name, false);
    tree_writer writer = {report, &view, json_text(json_string(utf8)),
                          crn_calloc(view.profile->block_count, sizeof *writer.blocks)};
    crn_free(utf8);
    fprintf(out, ",\n\"hidden\":%u,\n\"tree\":[", view.tree.hidden);
    for (uint32_t i = 0; i < view.tree.count; i++) {
        fputs(i ? ",\n" : "\n", out);
        write_context(out, &writer, view.tree.rows[i].context);
    }
    fputs("]", out);
    for (uint32_t b = 0; b < view.profile->block_count; b++)
        free(writer.blocks[b]);
    crn_free(writer.blocks);
    free(writer.metric);
    crn_tree_view_free(&view);
}

static void set_cost(json_t *row, const crn_report *report, const crn_sequence_cost *cost)
{
    json_object_set_new(row, "calls", crn_json_number(cost->calls));
    set_figure(row, report, "self", 0, cost->self, false);
    set_figure(row, report, "inclusive", 0, cost->inclusive, false);
}

static json_t *neighbours_json(const crn_report *report, const crn_neighbour *neighbours,
                               uint32_t count)
{
    json_t *rows = json_array();
    for (uint32_t i = 0; i < count && (!report->top || i < report->top); i++) {
        json_t *row = json_object();
        json_object_set_new(row, "block", crn_json_block(report->profile, neighbours[i].block));
        set_cost(row, report, &neighbours[i].cost);
        json_array_append_new(rows, row);
    }
    return rows;
}

static void write_sequence(FILE *out, const crn_report *report)
{
    const crn_profile *profile = report->profile;
    uint8_t *kept = crn_sequence_select(profile, NULL, report->drops, report->drop_count);
    uint64_t *owned;
    const uint64_t *totals = crn_report_totals(report, report->metrics[0], kept, &owned);
    crn_neighbourhood near =
        crn_neighbourhood_of(profile, &report->focus, report->metrics[0], kept, totals);
    crn_free(owned);
    json_t *json = json_object(), *blocks = json_array();
    for (uint32_t i = 0; i < report->focus.length; i++)
        json_array_append_new(blocks, crn_json_block(profile, report->focus.blocks[i]));
    json_object_set_new(json, "blocks", blocks);
    set_cost(json, report, &near.cost);
    if (report->before)
        json_object_set_new(json, "before",
                            neighbours_json(report, near.before, near.before_count));
    if (report->after)
        json_object_set_new(json, "after", neighbours_json(report, near.after, near.after_count));
    crn_json_write_member(out, "sequence", json);
    crn_neighbourhood_free(&near);
    crn_free(kept);
}

static void write_stack(FILE *out, const crn_report *report)
{
    crn_stack_view view = crn_stack_view_make(report);
    write_rest(out, report, &view.rest);
    fputs(",\n\"stack\":[", out);
    for (uint32_t i = 0; i < view.count; i++) {
        uint32_t block = view.blocks[i];
        json_t *row = json_object();
        json_object_set_new(row, "block", crn_json_block(report->profile, block));
        set_figure(row, report, "current", 0, view.stack.current[block], false);
        set_figure(row, report, "stack", 0, view.stack.stack[block], false);
        set_figure(row, report, "collector", 0, view.stack.collector[block], false);
        crn_json_write_element(out, i, row);
    }
    fputs("]", out);
    crn_stack_view_free(&view);
}

static void write_compare(FILE *out, const crn_report *report)
{
    const char *what = report->sort == CRN_SORT_INCLUSIVE ? "inclusive" : "self";
    crn_compare_view view = crn_compare_view_make(report);
    fprintf(out, ",\n\"hidden\":%u,\n\"compare\":[", view.hidden);
    for (uint32_t i = 0; i < view.count; i++) {
        const crn_compare_row *compared = &view.compare.rows[i];
        json_t *row = json_object();
        json_object_set_new(row, "block", crn_json_block(report->profile, compared->block));
        json_object_set_new(row, "calls", crn_json_number(view.calls[compared->block]));
        for (uint32_t side = 0; side < 2; side++)
            set_figure(row, report, what, side, compared->values[side], false);
        json_object_set_new(row, "apart", share_json(compared->apart));
        json_object_set_new(row, "apart_interval", shares_json(compared->interval));
        json_object_set_new(row, "chance", json_boolean(crn_compare_is_chance(compared)));
        if (report->waits)
            json_object_set_new(row, "waits",
                                crn_json_number(crn_compare_view_waited(report, &view, compared)));
        if (view.ready)
            json_object_set_new(row, "ready", crn_json_number(view.ready[compared->block]));
        crn_json_write_element(out, i, row);
    }
    fputs("]", out);
    crn_compare_view_free(&view);
}

static void write_zero(FILE *out, const crn_report *report)
{
    crn_zero_view view = crn_zero_view_make(report);
    json_t *files = json_array();
    for (uint32_t i = 0; i < view.file_count; i++) {
        json_t *file = json_object();
        json_object_set_new(file, "file", crn_json_text(view.files[i].name));
        json_object_set_new(file, "ran", crn_json_number(view.files[i].ran));
        json_object_set_new(file, "known", crn_json_number(view.files[i].known));
        json_array_append_new(files, file);
    }
    crn_json_write_member(out, "ran", crn_json_number(view.ran));
    crn_json_write_member(out, "known", crn_json_number(view.known));
    crn_json_write_member(out, "files", files);
    crn_json_write_member(out, "hidden", crn_json_number(view.hidden));
    fputs(",\n\"zero\":[", out);
    for (uint32_t i = 0; i < view.count; i++) {
        crn_json_write_element(out, i, crn_json_block(report->profile, view.blocks[i]));
    }
    fputs("]", out);
    crn_zero_view_free(&view);
}

void crn_report_json(FILE *out, const crn_report *report)
{
    static void (*const views[])(FILE *, const crn_report *) = {
        write_flat, write_tree, write_sequence, write_stack, write_compare, write_zero};
    write_head(out, report);
    views[report->view](out, report);
    fputs("}\n", out);
}
