/* SPDX-License-Identifier: MIT
 *
 * The report for programs. docs/REPORT_JSON.md is the schema. Rows are written one by
 * one, and contexts refer to their parents by number, so that neither memory nor nesting
 * grows with the profile.
 */
#include <stdio.h>

#include "base/memory.h"
#include "formats/names.h"
#include "json.h"
#include "report.h"

/* The key is a metric's name, which may be anything. */
static void set_metric(json_t *object, const crn_profile *profile, uint32_t metric, uint64_t value)
{
    char *utf8 = crn_names_utf8(profile->metrics[metric].name);
    json_object_set_new(object, utf8, crn_json_number(value));
    crn_free(utf8);
}

static void write_head(const crn_report *report)
{
    const crn_profile *profile = report->profile;
    json_t *notes = json_object(), *warnings = json_array(), *metrics = json_array();
    for (size_t i = 0; i < profile->note_count; i++) {
        char *key = crn_names_utf8(profile->notes[i].key);
        json_object_set_new(notes, key, crn_json_text(profile->notes[i].value));
        crn_free(key);
    }
    for (size_t i = 0; i < profile->warning_count; i++)
        json_array_append_new(warnings, crn_json_text(profile->warnings[i]));
    for (uint32_t m = 0; m < profile->metric_count; m++) {
        json_t *metric = json_object();
        json_object_set_new(metric, "name", crn_json_text(profile->metrics[m].name));
        json_object_set_new(metric, "unit", crn_json_text(profile->metrics[m].unit));
        json_object_set_new(metric, "total", crn_json_number(crn_metric_total(profile, m)));
        json_array_append_new(metrics, metric);
    }
    fputs("{\"schema\":\"cairn-report/1\"", stdout);
    crn_json_write_member("capture", crn_json_text(report->path));
    crn_json_write_member("notes", notes);
    crn_json_write_member("warnings", warnings);
    crn_json_write_member("metrics", metrics);
    crn_json_write_member("contexts", crn_json_number(profile->context_count));
    crn_json_write_member("blocks", crn_json_number(profile->block_count));
    crn_json_write_member("folded_calls", crn_json_number(crn_folded_calls(profile)));
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
        json_object_set_new(row, "block", crn_json_block(profile, block));
        json_object_set_new(row, "calls", crn_json_number(flat.calls.self[block]));
        json_object_set_new(row, "self", self);
        json_object_set_new(row, "inclusive", inclusive);
        fputs(i ? ",\n" : "\n", stdout);
        crn_json_write(row);
    }
    fputs("]", stdout);
    crn_flat_free(&flat, report);
}

static void write_context(const crn_tree_view *view, uint32_t metric, uint32_t c)
{
    const crn_profile *profile = view->profile;
    bool counts = !view->kept || view->kept[c];
    json_t *row = json_object(), *inclusive = json_object();
    set_metric(inclusive, profile, metric, view->tree.totals[c]);
    json_object_set_new(row, "context", crn_json_number(c));
    json_object_set_new(row, "parent", c ? crn_json_number(profile->parent[c]) : json_null());
    json_object_set_new(row, "block", crn_json_block(profile, profile->block[c]));
    json_object_set_new(row, "calls", crn_json_number(view->calls[c]));
    if (!view->upside_down) {
        json_t *self = json_object();
        set_metric(self, profile, metric, counts ? crn_self(profile, metric, c) : 0);
        json_object_set_new(row, "cycle_calls", crn_json_number(counts ? view->cycles[c] : 0));
        json_object_set_new(row, "self", self);
    }
    json_object_set_new(row, "inclusive", inclusive);
    crn_json_write(row);
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
    json_object_set_new(row, "calls", crn_json_number(cost->calls));
    json_object_set_new(row, "self", self);
    json_object_set_new(row, "inclusive", inclusive);
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

static void write_sequence(const crn_report *report)
{
    const crn_profile *profile = report->profile;
    uint8_t *kept = crn_sequence_select(profile, NULL, report->drops, report->drop_count);
    crn_neighbourhood near =
        crn_neighbourhood_make(profile, &report->focus, report->metrics[0], kept);
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
    crn_json_write_member("sequence", json);
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
