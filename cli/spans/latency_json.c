/* SPDX-License-Identifier: MIT
 *
 * The JSON of `cairn latency`: docs/REPORT_JSON.md.
 */
#include <stdio.h>

#include <cairn/span.h>

#include "base/memory.h"
#include "cli/common/json.h"
#include "latency.h"

static json_t *ranks_json(const uint64_t ranks[CRN_LATENCY_SHARES], uint64_t most)
{
    static const char *const names[CRN_LATENCY_SHARES] = {"median", "p90", "p99"};
    json_t *json = json_object();
    for (int i = 0; i < CRN_LATENCY_SHARES; i++)
        crn_json_set_number(json, names[i], ranks[i]);
    crn_json_set_number(json, "max", most);
    return json;
}

static void set_iteration(json_t *json, const crn_span *span)
{
    json_object_set_new(json, "iteration",
                        span->iteration == CAIRN_ITERATION_NONE ? json_null()
                                                                : json_integer(span->iteration));
}

static json_t *stage_json(const crn_latency_report *report, const crn_latency_stage *stage)
{
    const crn_span *span = &report->source->trace->spans[stage->span];
    json_t *json = json_object();
    crn_json_set_number(json, "id", stage->span);
    json_object_set_new(json, "block", crn_json_block(report->source->profile, span->block));
    set_iteration(json, span);
    crn_json_set_number(json, "time", stage->length);
    return json;
}

static json_t *row_json(const crn_latency_report *report, const crn_latency_row *row)
{
    uint32_t count;
    crn_latency_stage *stages =
        crn_latency_stages(report->source->trace, &report->latencies, row, &count);
    json_t *json = json_object(), *all = json_array();
    crn_json_set_number(json, "from", row->from);
    crn_json_set_number(json, "to", row->to);
    crn_json_set_number(json, "start", report->source->trace->spans[row->from].start);
    crn_json_set_number(json, "latency", row->length);
    crn_json_set_number(json, "age", row->age);
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(all, stage_json(report, &stages[i]));
    json_object_set_new(json, "stages", all);
    crn_free(stages);
    return json;
}

static json_t *part_json(const crn_latency_report *report, const crn_latency_part *part)
{
    json_t *json = json_object();
    json_object_set_new(json, "block", crn_json_block(report->source->profile, part->block));
    crn_json_set_number(json, "count", part->count);
    crn_json_set_number(json, "total", part->length);
    return json;
}

/* Returns a frame for the results `first` to `last` - 1: the slowest of them. */
static json_t *frame_json(const crn_latency_report *report, uint32_t first, uint32_t last)
{
    const crn_latency_row *rows = report->latencies.rows, *slowest = &rows[first];
    uint32_t missed = 0, count;
    for (uint32_t i = first; i < last; i++) {
        slowest = rows[i].length > slowest->length ? &rows[i] : slowest;
        missed += report->deadline && rows[i].length > report->deadline;
    }
    json_t *json = json_object(), *chain = json_array();
    crn_latency_stage *stages =
        crn_latency_stages(report->source->trace, &report->latencies, slowest, &count);
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(chain, crn_json_number(stages[i].span));
    crn_free(stages);
    crn_json_set_number(json, "count", last - first);
    crn_json_set_number(json, "missed", missed);
    crn_json_set_number(json, "start", report->source->trace->spans[slowest->from].start);
    crn_json_set_number(json, "latency", slowest->length);
    crn_json_set_number(json, "age", slowest->age);
    set_iteration(json, &report->source->trace->spans[slowest->to]);
    json_object_set_new(json, "chain", chain);
    return json;
}

static json_t *frames_json(const crn_latency_report *report)
{
    uint32_t count = report->latencies.count;
    uint64_t shown = count < report->frames ? count : report->frames;
    json_t *frames = json_array();
    for (uint64_t i = 0; i < shown; i++)
        json_array_append_new(frames, frame_json(report, (uint32_t)(i * count / shown),
                                                 (uint32_t)((i + 1) * count / shown)));
    return frames;
}

void crn_latency_json(FILE *out, const crn_latency_report *report)
{
    const crn_latencies *latencies = &report->latencies;
    json_t *json = json_object(), *parts = json_array(), *slowest = json_array();
    json_object_set_new(json, "schema", json_string("cairn-latency/1"));
    json_object_set_new(json, "capture", crn_json_text(report->source->path));
    json_object_set_new(json, "from", crn_json_text(report->from));
    json_object_set_new(json, "to", crn_json_text(report->to));
    crn_json_set_number(json, "count", latencies->count);
    crn_json_set_number(json, "unlinked", latencies->unlinked);
    crn_json_set_number(json, "open", latencies->open);
    crn_json_set_number(json, "total", report->sum);
    crn_json_set_number(json, "min", report->least);
    json_object_set_new(json, "latency", ranks_json(report->ranks, report->most));
    json_object_set_new(json, "age", ranks_json(report->ages, report->oldest));
    json_object_set_new(json, "jitter", json_real(crn_latency_jitter(latencies)));
    json_object_set_new(json, "deadline",
                        report->deadline ? crn_json_number(report->deadline) : json_null());
    crn_json_set_number(json, "missed", report->missed);
    for (uint32_t i = 0; i < report->part_count; i++)
        json_array_append_new(parts, part_json(report, &report->parts[i]));
    json_object_set_new(json, "stages", parts);
    for (uint32_t i = 0; i < latencies->count && i < report->top; i++)
        json_array_append_new(slowest, row_json(report, &latencies->rows[report->slowest[i]]));
    json_object_set_new(json, "slowest", slowest);
    json_object_set_new(json, "frames", frames_json(report));
    crn_json_write(out, json);
}
