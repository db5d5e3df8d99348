/* SPDX-License-Identifier: MIT
 *
 * The JSON of `cairn critical`: docs/REPORT_JSON.md.
 */
#include <stdio.h>

#include <cairn/span.h>

#include "cli/common/json.h"
#include "critical.h"

static json_t *slack_json(uint64_t slack)
{
    return slack == CRN_SLACK_ANY ? json_null() : crn_json_number(slack);
}

static json_t *row_json(const crn_critical_report *report, uint32_t at)
{
    const crn_critical_row *row = &report->critical->rows[at];
    json_t *json = json_object();
    json_object_set_new(json, "block", crn_json_block(report->source->profile, row->block));
    crn_json_set_number(json, "count", row->count);
    crn_json_set_number(json, "on_path", row->on_path);
    crn_json_set_number(json, "time", row->time);
    crn_json_set_number(json, "self", row->self);
    json_object_set_new(json, "slack", slack_json(row->slack));
    return json;
}

static json_t *span_json(const crn_critical_report *report, uint32_t span)
{
    const crn_span_source *source = report->source;
    if (span == CRN_SPAN_NONE)
        return json_null();
    int64_t iteration = source->trace->spans[span].iteration;
    json_t *json = json_object();
    crn_json_set_number(json, "id", span);
    json_object_set_new(json, "block",
                        crn_json_block(source->profile, crn_span_block(source->spans, span)));
    json_object_set_new(json, "iteration",
                        iteration == CAIRN_ITERATION_NONE ? json_null() : json_integer(iteration));
    json_object_set_new(json, "lane",
                        crn_json_text(source->trace->lanes[source->trace->spans[span].lane]));
    json_object_set_new(json, "slack", slack_json(report->critical->slack[span]));
    return json;
}

static json_t *step_json(const crn_critical_report *report, uint32_t at)
{
    static const char *const vias[] = {"begin", "lane", "handoff", "wait", "follows"};
    const crn_path_step *step = &report->critical->steps[at];
    json_t *json = json_object();
    crn_json_set_number(json, "start", step->start);
    crn_json_set_number(json, "duration", step->end - step->start);
    json_object_set_new(json, "via", json_string(vias[step->via]));
    json_object_set_new(json, "span", span_json(report, step->span));
    return json;
}

static void write_items(FILE *out, const crn_critical_report *report, const char *key,
                        uint32_t count, json_t *(*make)(const crn_critical_report *, uint32_t))
{
    fprintf(out, ",\n\"%s\":[", key);
    for (uint32_t i = 0; i < count; i++) {
        crn_json_write_element(out, i, make(report, i));
    }
    fputs("]", out);
}

void crn_critical_json(FILE *out, const crn_critical_report *report)
{
    const crn_critical *critical = report->critical;
    uint32_t shown = critical->row_count < report->top ? critical->row_count : report->top;
    fputs("{\"schema\":\"cairn-critical/1\"", out);
    crn_json_write_member(out, "file", crn_json_text(report->source->path));
    crn_json_write_member(out, "to", span_json(report, report->span));
    crn_json_write_member(out, "start", crn_json_number(critical->start));
    crn_json_write_member(out, "end", crn_json_number(critical->end));
    crn_json_write_member(out, "idle", crn_json_number(critical->idle));
    crn_json_write_member(out, "ignored", crn_json_number(critical->ignored));
    crn_json_write_member(out, "steps", crn_json_number(critical->step_count));
    crn_json_write_member(out, "hidden", crn_json_number(critical->row_count - shown));
    write_items(out, report, "blocks", shown, row_json);
    if (report->path)
        write_items(out, report, "path", critical->step_count, step_json);
    fputs("}\n", out);
}
