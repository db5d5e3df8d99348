/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "cli/common/json.h"
#include "diff.h"
#include "warnings.h"

static json_t *pair_json(const uint64_t figures[CRN_SIDES])
{
    json_t *json = json_object();
    json_object_set_new(json, "before", crn_json_number(figures[CRN_BEFORE]));
    json_object_set_new(json, "after", crn_json_number(figures[CRN_AFTER]));
    return json;
}

/* Returns the blocks of a context's path, from the root on. */
static json_t *path_json(const crn_profile *profile, uint32_t context)
{
    json_t *path = json_array();
    for (;; context = profile->parent[context]) {
        json_array_append_new(path, crn_json_block(profile, profile->block[context]));
        if (!context)
            break;
    }
    for (size_t i = 0, j = json_array_size(path) - 1; i < j; i++, j--) {
        json_t *first = json_incref(json_array_get(path, i));
        json_array_set(path, i, json_array_get(path, j));
        json_array_set_new(path, j, first);
    }
    return path;
}

static bool is_sampled(const crn_diff_report *report)
{
    const crn_sampling *sampling = report->diff.sampling;
    return sampling[CRN_BEFORE].unit > 0 || sampling[CRN_AFTER].unit > 0;
}

static void write_row(FILE *out, const crn_diff_report *report, const crn_diff_row *row)
{
    static const char *const keys[] = {"before", "after"};
    json_t *json = json_object();
    for (int side = 0; side < CRN_SIDES; side++) {
        const crn_profile *profile = report->input.profile[side];
        json_t *what = row->id[side] == CRN_DIFF_NONE ? json_null()
                       : report->contexts             ? path_json(profile, row->id[side])
                                                      : crn_json_block(profile, row->id[side]);
        json_object_set_new(json, keys[side], what);
    }
    json_object_set_new(json, "calls", pair_json(row->calls));
    json_object_set_new(json, "self", pair_json(row->self));
    json_object_set_new(json, "inclusive", pair_json(row->inclusive));
    if (crn_diff_why_apart(row))
        json_object_set_new(json, "apart", json_string(crn_diff_why_apart(row)));
    if (is_sampled(report)) {
        json_t *chance = json_object();
        json_object_set_new(chance, "self", json_boolean(crn_diff_is_chance(report, row->self)));
        json_object_set_new(chance, "inclusive",
                            json_boolean(crn_diff_is_chance(report, row->inclusive)));
        json_object_set_new(json, "chance", chance);
    }
    crn_json_write(out, json);
}

void crn_diff_json(FILE *out, const crn_diff_report *report)
{
    uint32_t shown = report->diff.count;
    if (report->top && shown > report->top)
        shown = report->top;
    fputs("{\"schema\":\"cairn-diff/1\"", out);
    crn_json_write_member(out, "before", crn_json_text(report->paths[CRN_BEFORE]));
    crn_json_write_member(out, "after", crn_json_text(report->paths[CRN_AFTER]));
    crn_json_write_member(out, "metric", crn_json_text(report->metric_name));
    crn_json_write_member(out, "total", pair_json(report->diff.total));
    if (is_sampled(report))
        crn_json_write_member(out, "total_chance", json_boolean(crn_diff_total_is_chance(report)));
    crn_diff_warnings_json(out,
                           &(crn_diff_captures){report->input.profile, report->paths, CRN_SIDES});
    crn_json_write_member(out, "hidden", crn_json_number(report->diff.count - shown));
    fprintf(out, ",\n\"%s\":[", report->contexts ? "contexts" : "blocks");
    for (uint32_t i = 0; i < shown; i++) {
        fputs(i ? ",\n" : "\n", out);
        write_row(out, report, &report->diff.rows[i]);
    }
    fputs("]}\n", out);
}
