/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "cli/common/json.h"
#include "why.h"

enum { PATH_MOST = 256 };

static const char *const kinds[] = {[CRN_WHY_COST] = "cost",
                                    [CRN_WHY_CALLS] = "calls",
                                    [CRN_WHY_MOVED] = "moved",
                                    [CRN_WHY_CALLER_NEW] = "caller_new",
                                    [CRN_WHY_CALLER_GONE] = "caller_gone",
                                    [CRN_WHY_NEW] = "new",
                                    [CRN_WHY_GONE] = "gone"};

static json_t *pair_json(const double figures[CRN_SIDES])
{
    json_t *json = json_object();
    json_object_set_new(json, "before", json_real(figures[CRN_BEFORE]));
    json_object_set_new(json, "after", json_real(figures[CRN_AFTER]));
    return json;
}

static json_t *info_json(const crn_block_info *info)
{
    json_t *json = json_object();
    json_object_set_new(json, "name", crn_json_text(info->name));
    json_object_set_new(json, "file", crn_json_text(info->file));
    json_object_set_new(json, "line", json_integer(info->line));
    return json;
}

static json_t *path_json(const crn_why *why, uint32_t context)
{
    uint32_t path[PATH_MOST];
    size_t count = crn_why_path(why, context, path, PATH_MOST);
    json_t *json = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(json, crn_json_text(why->blocks[path[i]]->name));
    return json;
}

static json_t *cause_json(const crn_why_report *report, const crn_why_cause *cause)
{
    const crn_why *why = report->why;
    json_t *json = json_object();
    char *sentence = crn_why_sentence(why, cause);
    json_object_set_new(json, "kind", json_string(kinds[cause->kind]));
    json_object_set_new(json, "text", crn_json_text(sentence));
    json_object_set_new(json, "block", info_json(why->blocks[cause->block]));
    json_object_set_new(json, "caller",
                        cause->caller == CRN_WHY_NONE ? json_null()
                                                      : info_json(why->blocks[cause->caller]));
    json_object_set_new(json, "amount", json_real(cause->amount));
    json_object_set_new(json, "share", json_real(crn_why_share(why, cause)));
    json_object_set_new(json, "error", why->noise_known ? json_real(cause->error) : json_null());
    json_object_set_new(json, "chance", json_boolean(cause->chance));
    json_object_set_new(json, "calls", pair_json(cause->calls));
    json_object_set_new(json, "caller_calls", pair_json(cause->caller_calls));
    json_object_set_new(json, "calls_everywhere", pair_json(cause->block_calls));
    json_object_set_new(json, "cost", pair_json(cause->cost));
    json_object_set_new(json, "path", path_json(why, cause->context));
    free(sentence);
    return json;
}

void crn_why_json(FILE *out, const crn_why_report *report)
{
    const crn_why *why = report->why;
    size_t shown = why->cause_count;
    if (report->top && shown > report->top)
        shown = report->top;
    fputs("{\"schema\":\"cairn-why/1\"", out);
    crn_json_write_member(out, "metric", crn_json_text(report->metric));
    crn_json_write_member(out, "unit", crn_json_text(report->unit));
    crn_json_write_member(out, "runs",
                          json_pack("{s:I,s:I}", "before", (json_int_t)report->runs[CRN_BEFORE],
                                    "after", (json_int_t)report->runs[CRN_AFTER]));
    crn_json_write_member(out, "total", pair_json(why->total));
    crn_json_write_member(out, "interval",
                          why->noise_known ? json_pack("[f,f]", why->low, why->high) : json_null());
    crn_json_write_member(out, "chance", json_boolean(why->chance));
    crn_diff_warnings_json(out, &report->captures);
    crn_json_write_member(out, "estimated_paths", json_boolean(why->estimated));
    crn_json_write_member(out, "hidden", crn_json_number(why->cause_count - shown));
    fputs(",\n\"causes\":[", out);
    for (size_t i = 0; i < shown; i++) {
        crn_json_write_element(out, i, cause_json(report, &why->causes[i]));
    }
    fputs("],\n\"matches\":[", out);
    for (size_t i = 0; i < why->match_count; i++) {
        json_t *match = json_object();
        json_object_set_new(match, "before", info_json(why->matches[i].before));
        json_object_set_new(match, "after", info_json(why->matches[i].after));
        json_object_set_new(match, "likeness", json_real(why->matches[i].likeness));
        crn_json_write_element(out, i, match);
    }
    fputs("]}\n", out);
}
