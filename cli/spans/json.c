/* SPDX-License-Identifier: MIT
 *
 * The JSON of `cairn spans`: docs/REPORT_JSON.md.
 */
#include <math.h>
#include <stdio.h>

#include <cairn/span.h>

#include "cli/common/json.h"
#include "spans.h"

static json_t *attribute_json(const crn_attribute *attribute)
{
    switch (attribute->kind) {
    case CRN_ATTRIBUTE_INTEGER:
        return json_integer(attribute->value.integer);
    case CRN_ATTRIBUTE_NUMBER: /* null if not finite */
        return crn_json_real(attribute->value.number);
    default:
        return crn_json_text(attribute->value.text);
    }
}

/* Adds "nan", "inf" or "-inf" beside the null of a number that JSON lacks. */
static void set_text(json_t *json, const crn_attribute *attribute)
{
    double value = attribute->value.number;
    if (attribute->kind == CRN_ATTRIBUTE_NUMBER && !isfinite(value))
        json_object_set_new(json, "text",
                            json_string(isnan(value) ? "nan"
                                        : value > 0  ? "inf"
                                                     : "-inf"));
}

static json_t *attributes_json(const crn_spans_report *report, uint32_t span)
{
    uint32_t count;
    const crn_attribute *attribute = crn_trace_attributes(report->source.trace, span, &count);
    json_t *json = json_array();
    for (; count; count--, attribute++) {
        json_t *one = json_object();
        json_object_set_new(one, "key", crn_json_text(report->source.trace->keys[attribute->key]));
        json_object_set_new(one, "value", attribute_json(attribute));
        set_text(one, attribute);
        json_array_append_new(json, one);
    }
    return json;
}

/* Returns a span's id, block and iteration. */
static json_t *name_json(const crn_spans_report *report, uint32_t span)
{
    if (span == CRN_SPAN_NONE)
        return json_null();
    const crn_span *its = &report->source.trace->spans[span];
    json_t *json = json_object();
    crn_json_set_number(json, "id", span);
    json_object_set_new(
        json, "block",
        crn_json_block(report->source.profile, crn_span_block(report->source.spans, span)));
    json_object_set_new(json, "iteration",
                        its->iteration == CAIRN_ITERATION_NONE ? json_null()
                                                               : json_integer(its->iteration));
    return json;
}

/* Adds the span's ancestors, the nearest first; "more" is true if the list is cut. */
static void set_ancestors(json_t *json, const crn_spans_report *report, uint32_t span)
{
    json_t *ancestors = json_array();
    uint32_t at = report->source.trace->spans[span].parent;
    for (int i = 0; at != CRN_SPAN_NONE && i < CRN_SPANS_ANCESTORS; i++) {
        json_array_append_new(ancestors, name_json(report, at));
        at = report->source.trace->spans[at].parent;
    }
    json_object_set_new(json, "ancestors", ancestors);
    json_object_set_new(json, "more", json_boolean(at != CRN_SPAN_NONE));
}

/* Adds the time without a core, waiting and ready, if it was recorded. */
static void set_off_core(json_t *json, const crn_spans_report *report, uint32_t span)
{
    const crn_trace *trace = report->source.trace;
    uint64_t ready = trace->ready ? trace->ready[span] : UINT64_MAX;
    if (ready == UINT64_MAX || trace->cpu[span] == UINT64_MAX)
        return;
    uint64_t duration = crn_span_duration(report->source.spans, span);
    uint64_t active = trace->cpu[span] + ready;
    crn_json_set_number(json, "waiting", duration > active ? duration - active : 0);
    crn_json_set_number(json, "ready", ready);
}

json_t *crn_spans_span_json(const crn_spans_report *report, uint32_t span)
{
    const crn_span *its = &report->source.trace->spans[span];
    json_t *json = name_json(report, span);
    json_object_set_new(json, "lane", crn_json_text(report->source.trace->lanes[its->lane]));
    crn_json_set_number(json, "start", its->start);
    crn_json_set_number(json, "duration", crn_span_duration(report->source.spans, span));
    crn_json_set_number(json, "self", crn_span_self(report->source.spans, span));
    set_off_core(json, report, span);
    json_object_set_new(json, "open", json_boolean(its->open));
    json_object_set_new(json, "handed_off", json_boolean(its->handed_off));
    json_object_set_new(json, "orphaned", json_boolean(its->orphaned));
    json_object_set_new(json, "attributes", attributes_json(report, span));
    set_ancestors(json, report, span);
    return json;
}

static void write_item(FILE *out, bool first, json_t *json)
{
    fputs(first ? "\n" : ",\n", out);
    crn_json_write(out, json);
}

static json_t *row_json(const crn_spans_report *report, const crn_span_row *row)
{
    json_t *json = json_object(), *bins = json_array();
    json_object_set_new(json, "block", crn_json_block(report->source.profile, row->block));
    crn_json_set_number(json, "count", row->count);
    crn_json_set_number(json, "open", row->open);
    crn_json_set_number(json, "total", row->total);
    crn_json_set_number(json, "self", row->self);
    crn_json_set_number(json, "min", row->min);
    crn_json_set_number(json, "median", row->median);
    crn_json_set_number(json, "p99", row->p99);
    crn_json_set_number(json, "max", row->max);
    if (report->source.trace->cpu) {
        crn_json_set_number(json, "cpu", row->cpu);
        crn_json_set_number(json, "cpu_wall", row->cpu_wall);
    }
    json_object_set_new(json, "weight", json_real(row->weight));
    for (int i = 0; i < CRN_SPAN_BINS; i++)
        json_array_append_new(bins, crn_json_number(row->bins[i]));
    json_object_set_new(json, "bins", bins);
    return json;
}

static void write_blocks(FILE *out, const crn_spans_report *report)
{
    crn_span_table table =
        report->table ? crn_span_table_sorted(report->table, report->sort)
                      : crn_span_table_make(report->source.spans, report->kept, report->sort);
    uint32_t shown = table.count < report->top ? table.count : report->top;
    json_t *edges = json_array();
    for (int i = 0; i <= CRN_SPAN_BINS; i++)
        json_array_append_new(edges, crn_json_number(table.edges[i]));
    crn_json_write_member(out, "edges", edges);
    crn_json_write_member(out, "hidden", crn_json_number(table.count - shown));
    fputs(",\n\"blocks\":[", out);
    for (uint32_t i = 0; i < shown; i++)
        write_item(out, i == 0, row_json(report, &table.rows[i]));
    fputs("]}\n", out);
    crn_span_table_free(&table);
}

static json_t *path_json(const crn_spans_report *report, uint32_t node)
{
    const crn_path_node *nodes = report->groups.paths.nodes;
    json_t *json = json_array();
    for (int i = 0; node && i < CRN_SPANS_ANCESTORS; node = nodes[node].parent, i++)
        json_array_append_new(json, crn_json_block(report->source.profile, nodes[node].block));
    return json;
}

static json_t *group_json(const crn_spans_report *report, const crn_span_group *group)
{
    static const char *const kinds[] = {"numbers", "text",  "block", "path",
                                        "lane",    "other", "none"};
    const crn_span_source *source = &report->source;
    json_t *json = json_object();
    json_object_set_new(json, "kind", json_string(kinds[group->kind]));
    switch (group->kind) {
    case CRN_GROUP_NUMBERS:
        json_object_set_new(json, "from", json_real(group->low));
        json_object_set_new(json, "to", json_real(group->high));
        break;
    case CRN_GROUP_TEXT:
        json_object_set_new(json, "value", crn_json_text(group->text));
        break;
    case CRN_GROUP_BLOCK:
        json_object_set_new(json, "value", crn_json_block(source->profile, group->id));
        break;
    case CRN_GROUP_PATH:
        json_object_set_new(json, "value", path_json(report, group->id));
        break;
    case CRN_GROUP_LANE:
        json_object_set_new(json, "value", crn_json_text(source->trace->lanes[group->id]));
        break;
    default:
        break;
    }
    json_object_set_new(json, "values", crn_json_number(group->values));
    return json;
}

static void write_groups(FILE *out, const crn_spans_report *report)
{
    const crn_span_groups *groups = &report->groups;
    json_t *edges = json_array();
    for (int i = 0; i <= CRN_SPAN_BINS; i++)
        json_array_append_new(edges, crn_json_number(groups->edges[i]));
    crn_json_write_member(out, "by", crn_json_text(report->by));
    crn_json_write_member(out, "edges", edges);
    crn_json_write_member(out, "hidden_blocks", crn_json_number(groups->hidden_blocks));
    fputs(",\n\"groups\":[", out);
    for (uint32_t g = 0; g < groups->count; g++) {
        json_t *json = row_json(report, &groups->groups[g].row);
        json_object_set_new(json, "group", group_json(report, &groups->groups[g]));
        write_item(out, g == 0, json);
    }
    fputs("]}\n", out);
}

static void write_slowest(FILE *out, const crn_spans_report *report)
{
    const crn_span_parts *known = report->longest;
    crn_span_parts slowest = {0};
    if (!known)
        slowest = crn_spans_slowest(report->source.spans, report->kept, report->slowest);
    const crn_span_parts *all = known ? known : &slowest;
    fputs(",\n\"slowest\":[", out);
    for (uint32_t i = 0; i < all->count && i < report->slowest; i++)
        write_item(out, i == 0, crn_spans_span_json(report, all->parts[i].span));
    fputs("]}\n", out);
    crn_span_parts_free(&slowest);
}

static json_t *missing_json(const crn_spans_report *report, const crn_missing_row *row)
{
    json_t *json = json_object();
    json_object_set_new(json, "block", crn_json_block(report->source.profile, row->block));
    crn_json_set_number(json, "count", row->count);
    crn_json_set_number(json, "total", row->total);
    crn_json_set_number(json, "missing", row->missing);
    return json;
}

static json_t *gap_json(const crn_spans_report *report, const crn_span_part *gap)
{
    json_t *json = json_object();
    json_object_set_new(json, "span", name_json(report, gap->span));
    crn_json_set_number(json, "start", gap->start);
    crn_json_set_number(json, "missing", gap->length);
    json_object_set_new(json, "before", name_json(report, gap->before));
    json_object_set_new(json, "after", name_json(report, gap->after));
    return json;
}

static void write_missing(FILE *out, const crn_spans_report *report)
{
    const crn_missing *missing = &report->missing;
    uint32_t shown = missing->count < report->top ? missing->count : report->top;
    crn_json_write_member(out, "total", crn_json_number(missing->total));
    crn_json_write_member(out, "missing", crn_json_number(missing->missing));
    crn_json_write_member(out, "share",
                          json_real(crn_missing_share(missing->missing, missing->total)));
    crn_json_write_member(out, "gap_count", crn_json_number(missing->gap_count));
    crn_json_write_member(out, "hidden", crn_json_number(missing->count - shown));
    fputs(",\n\"blocks\":[", out);
    for (uint32_t i = 0; i < shown; i++)
        write_item(out, i == 0, missing_json(report, &missing->rows[i]));
    fputs("],\n\"gaps\":[", out);
    for (uint32_t i = 0; i < missing->gaps.count; i++)
        write_item(out, i == 0, gap_json(report, &missing->gaps.parts[i]));
    fputs("]}\n", out);
}

void crn_spans_json(FILE *out, const crn_spans_report *report)
{
    static void (*const write[])(FILE *, const crn_spans_report *) = {
        [CRN_SPANS_VIEW_BLOCKS] = write_blocks,
        [CRN_SPANS_VIEW_GROUPS] = write_groups,
        [CRN_SPANS_VIEW_SLOWEST] = write_slowest,
        [CRN_SPANS_VIEW_MISSING] = write_missing,
    };
    const crn_trace *trace = report->source.trace;
    fputs("{\"schema\":\"cairn-spans/1\"", out);
    crn_json_write_member(out, "file", crn_json_text(report->source.path));
    crn_json_write_member(out, "spans", crn_json_number(trace->span_count));
    crn_json_write_member(out, "open", crn_json_number(report->source.open));
    crn_json_write_member(out, "dropped", crn_json_number(trace->dropped));
    crn_json_write_member(out, "dropped_limit", crn_json_number(trace->limited));
    crn_json_write_member(out, "dropped_late", crn_json_number(trace->late));
    crn_json_write_member(out, "recycled", crn_json_number(trace->recycled));
    crn_json_write_member(out, "skipped", crn_json_number(trace->skipped));
    crn_json_write_member(out, "trees_skipped", crn_json_number(trace->trees_skipped));
    crn_json_write_member(out, "details_dropped", crn_json_number(trace->details_dropped));
    crn_json_write_member(out, "dangling", crn_json_number(trace->dangling));
    crn_json_write_member(out, "length", crn_json_number(trace->length));
    write[report->view](out, report);
}
