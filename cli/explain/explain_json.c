/* SPDX-License-Identifier: MIT
 *
 * The JSON of `cairn explain`: docs/REPORT_JSON.md.
 */
#include <stdio.h>

#include "base/memory.h"
#include "cli/common/json.h"
#include "explain.h"

static json_t *part_json(const crn_explain_report *report, const crn_explain_part *part)
{
    static const char *const kinds[] = {"self",  "number", "duration", "overlap", "waiting",
                                        "ready", "queue",  "work",     "wait"};
    json_t *json = json_object();
    json_object_set_new(json, "part", json_string(kinds[part->kind]));
    json_object_set_new(json, "block",
                        crn_explain_is_own(part->kind)
                            ? json_null()
                            : crn_json_block(report->source->profile, part->block));
    json_object_set_new(json, "share", crn_json_real(part->share));
    json_object_set_new(json, "mean", crn_json_real(part->mean));
    json_object_set_new(json, "deviation", crn_json_real(part->deviation));
    json_object_set_new(json, "slow", crn_json_real(part->slow));
    json_object_set_new(json, "typical", crn_json_real(part->typical));
    json_object_set_new(json, "extra", crn_json_real(part->extra));
    return json;
}

static json_t *value_json(const crn_explain_report *report, const crn_explain_factor *factor,
                          const char *text, double number)
{
    const crn_span_source *source = report->source;
    if (text)
        return crn_json_text(text);
    if (factor->kind == CRN_FACTOR_PARENT_BLOCK)
        return number > 0 ? crn_json_block(source->profile, (uint32_t)number) : json_null();
    if (factor->kind == CRN_FACTOR_LANE)
        return crn_json_text(source->trace->lanes[(uint32_t)number]);
    return crn_json_real(number);
}

static json_t *group_json(const crn_explain_report *report, const crn_explain_factor *factor,
                          const crn_factor_group *group)
{
    if (!group->count || (factor->number && !factor->ranges))
        return json_null();
    json_t *json = json_object();
    if (factor->number) {
        json_object_set_new(json, "from", crn_json_real(group->low));
        json_object_set_new(json, "to", crn_json_real(group->high));
    } else {
        json_object_set_new(json, "value", value_json(report, factor, group->text, group->low));
    }
    crn_json_set_number(json, "count", group->count);
    json_object_set_new(json, "mean", crn_json_real(group->mean));
    return json;
}

static json_t *factor_json(const crn_explain_report *report, const crn_explain_factor *factor)
{
    static const char *const kinds[] = {"attribute",        "parent_attribute", "iteration",
                                        "parent_iteration", "parent",           "lane"};
    static const char *const verdicts[] = {"explains", "chance", "constant", "few"};
    json_t *json = json_object();
    bool line = factor->number && !factor->ranges;
    json_object_set_new(json, "of", json_string(kinds[factor->kind]));
    json_object_set_new(json, "name", crn_json_text(factor->name));
    json_object_set_new(json, "verdict", json_string(verdicts[factor->verdict]));
    json_object_set_new(json, "explained", crn_json_real(factor->explained));
    json_object_set_new(json, "chance", crn_json_real(factor->chance));
    crn_json_set_number(json, "count", factor->count);
    crn_json_set_number(json, "values", factor->values);
    json_object_set_new(json, "slope", line ? crn_json_real(factor->slope) : json_null());
    json_object_set_new(json, "slowest", group_json(report, factor, &factor->slowest));
    json_object_set_new(json, "fastest", group_json(report, factor, &factor->fastest));
    json_object_set_new(json, "slow", crn_json_real(factor->slow));
    json_object_set_new(json, "typical", crn_json_real(factor->typical));
    json_object_set_new(json, "common",
                        factor->number
                            ? json_null()
                            : value_json(report, factor, factor->common, factor->common_number));
    return json;
}

static json_t *slow_json(const crn_explain *explain)
{
    if (!explain->slow_count)
        return json_null();
    json_t *json = json_object();
    crn_json_set_number(json, "count", explain->slow_count);
    crn_json_set_number(json, "from", explain->slow_from);
    json_object_set_new(json, "mean", crn_json_real(explain->slow_mean));
    crn_json_set_number(json, "typical_count", explain->typical_count);
    crn_json_set_number(json, "typical_from", explain->typical_from);
    crn_json_set_number(json, "typical_to", explain->typical_to);
    json_object_set_new(json, "typical_mean", crn_json_real(explain->typical_mean));
    return json;
}

static json_t *rest_json(const crn_explain_report *report)
{
    const crn_explain *rest = report->rest;
    if (!rest)
        return json_null();
    json_t *json = json_object(), *parts = json_array(), *factors = json_array();
    crn_json_set_number(json, "count", rest->count);
    crn_json_set_number(json, "max", rest->max);
    json_object_set_new(json, "variance", crn_json_real(rest->variance));
    for (uint32_t p = 0; p < rest->part_count && p < report->top; p++)
        json_array_append_new(parts, part_json(report, &rest->parts[p]));
    for (uint32_t f = 0; f < rest->factor_count && f < report->top; f++)
        json_array_append_new(factors, factor_json(report, &rest->factors[f]));
    json_object_set_new(json, "parts", parts);
    json_object_set_new(json, "factors", factors);
    return json;
}

static void write_items(FILE *out, const char *key,
                        json_t *(*make)(const crn_explain_report *, uint32_t),
                        const crn_explain_report *report, uint32_t count)
{
    fprintf(out, ",\n\"%s\":[", key);
    for (uint32_t i = 0; i < count && i < report->top; i++) {
        crn_json_write_element(out, i, make(report, i));
    }
    fputs("]", out);
}

static json_t *stages_json(const crn_explain_report *report)
{
    uint32_t count;
    json_t *all = json_array();
    crn_explain_stage *stages = crn_explain_stages(report, &count);
    for (uint32_t i = 0; i < count && i < report->top; i++) {
        const crn_explain_stage *stage = &stages[i];
        json_t *json = json_object();
        json_object_set_new(json, "block", crn_json_block(report->source->profile, stage->block));
        json_object_set_new(json, "mean", crn_json_real(stage->mean));
        json_object_set_new(json, "queue", crn_json_real(stage->queue));
        json_object_set_new(json, "work", crn_json_real(stage->work));
        json_object_set_new(json, "wait", crn_json_real(stage->wait));
        json_object_set_new(json, "slow", crn_json_real(stage->slow));
        json_object_set_new(json, "typical", crn_json_real(stage->typical));
        json_array_append_new(all, json);
    }
    crn_free(stages);
    return all;
}

static json_t *part_at(const crn_explain_report *report, uint32_t at)
{
    return part_json(report, &report->explain->parts[at]);
}

static json_t *factor_at(const crn_explain_report *report, uint32_t at)
{
    return factor_json(report, &report->explain->factors[at]);
}

void crn_explain_json(FILE *out, const crn_explain_report *report)
{
    const crn_explain *explain = report->explain;
    crn_words words;
    crn_explain_answer(&words, report);
    fputs("{\"schema\":\"cairn-explain/1\"", out);
    crn_json_write_member(out, "file", crn_json_text(report->source->path));
    crn_json_write_member(out, "block", crn_json_text(report->block));
    crn_json_write_member(out, "where", report->where ? crn_json_text(report->where) : json_null());
    crn_json_write_member(out, "answer", crn_json_text(words.text));
    crn_json_write_member(out, "count", crn_json_number(explain->count));
    crn_json_write_member(out, "open", crn_json_number(explain->open));
    crn_json_write_member(out, "nested", crn_json_number(explain->nested));
    crn_json_write_member(out, "outside", crn_json_number(explain->outside));
    crn_json_write_member(out, "mean", crn_json_real(explain->mean));
    crn_json_write_member(out, "deviation", crn_json_real(explain->deviation));
    crn_json_write_member(out, "variance", crn_json_real(explain->variance));
    crn_json_write_member(out, "min", crn_json_number(explain->min));
    crn_json_write_member(out, "median", crn_json_number(explain->median));
    crn_json_write_member(out, "p95", crn_json_number(explain->p95));
    crn_json_write_member(out, "p99", crn_json_number(explain->p99));
    crn_json_write_member(out, "max", crn_json_number(explain->max));
    crn_json_write_member(out, "half", crn_json_number(explain->half));
    crn_json_write_member(out, "slow", slow_json(explain));
    crn_json_write_member(out, "rest", rest_json(report));
    if (report->latencies)
        crn_json_write_member(out, "stages", stages_json(report));
    crn_json_write_member(out, "functions", crn_explain_functions_json(report));
    write_items(out, "parts", part_at, report, explain->part_count);
    write_items(out, "factors", factor_at, report, explain->factor_count);
    fputs("}\n", out);
}
