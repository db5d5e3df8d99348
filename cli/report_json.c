/* SPDX-License-Identifier: MIT
 *
 * The report for programs. docs/REPORT_JSON.md is the schema. Rows are written one by
 * one, and contexts refer to their parents by number, so that neither memory nor nesting
 * grows with the profile.
 */
#include <jansson.h>
#include <stdio.h>

#include "base/memory.h"
#include "formats/names.h"
#include "report.h"

static json_t *text_json(const char *text)
{
    char *utf8 = crn_names_utf8(text);
    json_t *json = json_string(utf8);
    crn_free(utf8);
    return json;
}

/* JSON's integers in most readers end at 2^63. */
static json_t *number_json(uint64_t number)
{
    return number <= INT64_MAX ? json_integer((json_int_t)number) : json_real((double)number);
}

static void write_json(json_t *json)
{
    json_dumpf(json, stdout, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_decref(json);
}

static void write_member(const char *key, json_t *value)
{
    printf(",\n\"%s\":", key);
    write_json(value);
}

static json_t *block_json(const crn_profile *profile, uint32_t block)
{
    const crn_block_info *info = &profile->blocks[block];
    json_t *json = json_object();
    json_object_set_new(json, "id", number_json(block));
    json_object_set_new(json, "name", text_json(info->name));
    json_object_set_new(json, "file", text_json(info->file));
    json_object_set_new(json, "line", number_json(info->line));
    json_object_set_new(json, "column", number_json(info->column));
    return json;
}

/* The key is a metric's name, which may be anything. */
static void set_metric(json_t *object, const crn_profile *profile, uint32_t metric, uint64_t value)
{
    char *utf8 = crn_names_utf8(profile->metrics[metric].name);
    json_object_set_new(object, utf8, number_json(value));
    crn_free(utf8);
}

static void write_head(const crn_report *report)
{
    const crn_profile *profile = report->profile;
    json_t *notes = json_object(), *warnings = json_array(), *metrics = json_array();
    for (size_t i = 0; i < profile->note_count; i++) {
        char *key = crn_names_utf8(profile->notes[i].key);
        json_object_set_new(notes, key, text_json(profile->notes[i].value));
        crn_free(key);
    }
    for (size_t i = 0; i < profile->warning_count; i++)
        json_array_append_new(warnings, text_json(profile->warnings[i]));
    for (uint32_t m = 0; m < profile->metric_count; m++) {
        uint64_t total = 0;
        for (uint32_t c = 0; profile->values[m] && c < profile->context_count; c++)
            total += profile->values[m][c];
        json_t *metric = json_object();
        json_object_set_new(metric, "name", text_json(profile->metrics[m].name));
        json_object_set_new(metric, "unit", text_json(profile->metrics[m].unit));
        json_object_set_new(metric, "total", number_json(total));
        json_array_append_new(metrics, metric);
    }
    fputs("{\"schema\":\"cairn-report/1\"", stdout);
    write_member("capture", text_json(report->path));
    write_member("notes", notes);
    write_member("warnings", warnings);
    write_member("metrics", metrics);
    write_member("contexts", number_json(profile->context_count));
    write_member("blocks", number_json(profile->block_count));
    write_member("folded_calls", number_json(crn_folded_calls(profile)));
}

static void write_flat(const crn_report *report)
{
    const crn_profile *profile = report->profile;
    crn_flat flat = crn_flat_make(report);
    printf(",\n\"hidden\":%u,\n\"flat\":[", flat.hidden);
    for (uint32_t i = 0; i < flat.count; i++) {
        uint32_t block = flat.blocks[i];
        json_t *row = json_object(), *self = json_object(), *inclusive = json_object();
        for (uint32_t m = 0; m < report->metric_count; m++) {
            set_metric(self, profile, report->metrics[m], flat.cost[m].self[block]);
            set_metric(inclusive, profile, report->metrics[m], flat.cost[m].inclusive[block]);
        }
        json_object_set_new(row, "block", block_json(profile, block));
        json_object_set_new(row, "calls", number_json(flat.calls.self[block]));
        json_object_set_new(row, "self", self);
        json_object_set_new(row, "inclusive", inclusive);
        fputs(i ? ",\n" : "\n", stdout);
        write_json(row);
    }
    fputs("]", stdout);
    crn_flat_free(&flat, report);
}

static void write_context(const crn_tree_view *view, uint32_t metric, uint32_t c)
{
    const crn_profile *profile = view->profile;
    bool counts = !view->kept || view->kept[c];
    json_t *row = json_object(), *self = json_object(), *inclusive = json_object();
    set_metric(self, profile, metric, counts ? crn_self(profile, metric, c) : 0);
    set_metric(inclusive, profile, metric, view->tree.totals[c]);
    json_object_set_new(row, "context", number_json(c));
    json_object_set_new(row, "parent", c ? number_json(profile->parent[c]) : json_null());
    json_object_set_new(row, "block", block_json(profile, profile->block[c]));
    json_object_set_new(row, "calls",
                        number_json(counts ? crn_self(profile, CRN_METRIC_CALLS, c) : 0));
    json_object_set_new(row, "cycle_calls", number_json(counts ? view->cycles[c] : 0));
    json_object_set_new(row, "self", self);
    json_object_set_new(row, "inclusive", inclusive);
    write_json(row);
}

static void write_tree(const crn_report *report)
{
    crn_tree_view view = crn_tree_view_make(report);
    printf(",\n\"hidden\":%u,\n\"tree\":[", view.tree.hidden);
    for (uint32_t i = 0; i < view.tree.count; i++) {
        fputs(i ? ",\n" : "\n", stdout);
        write_context(&view, report->metrics[0], view.tree.rows[i].context);
    }
    fputs("]", stdout);
    crn_tree_view_free(&view);
}

static void set_cost(json_t *row, const crn_report *report, const crn_sequence_cost *cost)
{
    json_t *self = json_object(), *inclusive = json_object();
    set_metric(self, report->profile, report->metrics[0], cost->self);
    set_metric(inclusive, report->profile, report->metrics[0], cost->inclusive);
    json_object_set_new(row, "calls", number_json(cost->calls));
    json_object_set_new(row, "self", self);
    json_object_set_new(row, "inclusive", inclusive);
}

static json_t *neighbours_json(const crn_report *report, const crn_neighbour *neighbours,
                               uint32_t count)
{
    json_t *rows = json_array();
    for (uint32_t i = 0; i < count && (!report->top || i < report->top); i++) {
        json_t *row = json_object();
        json_object_set_new(row, "block", block_json(report->profile, neighbours[i].block));
        set_cost(row, report, &neighbours[i].cost);
        json_array_append_new(rows, row);
    }
    return rows;
}

static void write_sequence(const crn_report *report)
{
    const crn_profile *profile = report->profile;
    uint8_t *kept = crn_sequence_select(profile, NULL, report->drops, report->drop_count);
    crn_neighbourhood near =
        crn_neighbourhood_make(profile, &report->focus, report->metrics[0], kept);
    json_t *json = json_object(), *blocks = json_array();
    for (uint32_t i = 0; i < report->focus.length; i++)
        json_array_append_new(blocks, block_json(profile, report->focus.blocks[i]));
    json_object_set_new(json, "blocks", blocks);
    set_cost(json, report, &near.cost);
    if (report->before)
        json_object_set_new(json, "before",
                            neighbours_json(report, near.before, near.before_count));
    if (report->after)
        json_object_set_new(json, "after", neighbours_json(report, near.after, near.after_count));
    write_member("sequence", json);
    crn_neighbourhood_free(&near);
    crn_free(kept);
}

void crn_report_json(const crn_report *report)
{
    write_head(report);
    if (report->view == CRN_VIEW_TREE)
        write_tree(report);
    else if (report->view == CRN_VIEW_SEQUENCE)
        write_sequence(report);
    else
        write_flat(report);
    fputs("}\n", stdout);
}
