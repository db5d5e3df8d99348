/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>

#include "base/memory.h"
#include "cli/common/json.h"
#include "cli/common/texts.h"
#include "fleet.h"

static const double SURE = 0.05; /* adjusted p values below it are beyond noise */

static bool is_sure(const crn_fleet_change *change)
{
    return change->p < SURE;
}

static double growth(const crn_fleet_change *change)
{
    return change->before > 0 ? change->after / change->before - 1 : INFINITY;
}

static bool is_above(const crn_fleet_change *change, const crn_fleet_shown *shown)
{
    return shown->fail_above >= 0 && is_sure(change) && growth(change) > shown->fail_above;
}

static json_t *change_json(const crn_fleet_groups *groups, const crn_fleet_change *change)
{
    json_t *json = json_object();
    if (change->column != UINT32_MAX) {
        json_object_set_new(json, "name", crn_json_text(groups->names[change->column]));
        json_object_set_new(json, "file", crn_json_text(groups->files[change->column]));
        json_object_set_new(json, "line", json_integer(groups->lines[change->column]));
    }
    json_object_set_new(json, "before", json_real(change->before));
    json_object_set_new(json, "after", json_real(change->after));
    json_object_set_new(json, "change_low", crn_json_real(change->low));
    json_object_set_new(json, "change_high", crn_json_real(change->high));
    json_object_set_new(json, "p", json_real(change->p));
    json_object_set_new(json, "beyond_noise", json_boolean(is_sure(change)));
    return json;
}

static void print_json(FILE *out, const crn_fleet_groups *groups, const crn_fleet_compare *compare,
                       const crn_fleet_shown *shown)
{
    json_t *json = json_object(), *rows = json_array();
    json_object_set_new(json, "metric", crn_json_text(shown->metric));
    json_object_set_new(json, "unit", crn_json_text(shown->unit));
    json_object_set_new(json, "runs_before", json_integer((json_int_t)groups->costs.runs[0]));
    json_object_set_new(json, "runs_after", json_integer((json_int_t)groups->costs.runs[1]));
    json_object_set_new(json, "whole", change_json(groups, &compare->whole));
    for (size_t i = 0; i < compare->count && (!shown->limit || i < shown->limit); i++)
        json_array_append_new(rows, change_json(groups, &compare->changes[i]));
    json_object_set_new(json, "functions", rows);
    crn_json_write(out, json);
}

/* Puts "+3.1 % (+1.0 to +5.2)", or "new" if there was no cost before. */
static void put_change(crn_texts_row *row, size_t cell, const crn_fleet_change *change)
{
    if (!(change->before > 0))
        crn_texts_cell(row, cell, "new");
    else
        crn_texts_cell(row, cell, "%+.1f %% (%+.1f to %+.1f)", 100 * growth(change),
                       100 * change->low, 100 * change->high);
    row->styles[cell] = !is_sure(change)     ? CRN_STYLE_DIM
                        : growth(change) > 0 ? CRN_STYLE_HOT
                                             : CRN_STYLE_WARM;
}

static const char *verdict(const crn_fleet_change *change)
{
    if (!is_sure(change))
        return "within noise";
    return growth(change) > 0 ? "slower" : "faster";
}

bool crn_fleet_print_compare(FILE *out, const crn_fleet_groups *groups,
                             const crn_fleet_compare *compare, const crn_fleet_shown *shown)
{
    char before[CRN_FIGURE_SIZE], after[CRN_FIGURE_SIZE];
    bool above = is_above(&compare->whole, shown);
    for (size_t i = 0; i < compare->count; i++)
        above |= is_above(&compare->changes[i], shown);
    if (shown->json) {
        print_json(out, groups, compare, shown);
        return above;
    }
    const crn_fleet_change *whole = &compare->whole;
    fprintf(out, "%s a run: %s before (%zu runs), %s after (%zu runs): %+.1f %%, %s\n\n",
            shown->metric, crn_figure_alone(before, shown->unit, (uint64_t)whole->before),
            groups->costs.runs[0], crn_figure_alone(after, shown->unit, (uint64_t)whole->after),
            groups->costs.runs[1], 100 * growth(whole), verdict(whole));
    crn_texts texts = {.columns = 4, .titles = {"before", "after", "change (95 %)", "verdict"}};
    for (size_t i = 0; i < compare->count && (!shown->limit || i < shown->limit); i++) {
        const crn_fleet_change *change = &compare->changes[i];
        crn_texts_row *row = crn_texts_add(&texts);
        row->block = (crn_block_info){.name = groups->names[change->column],
                                      .file = groups->files[change->column],
                                      .line = groups->lines[change->column]};
        crn_texts_cell(row, 0, "%s",
                       crn_figure_alone(before, shown->unit, (uint64_t)change->before));
        crn_texts_cell(row, 1, "%s", crn_figure_alone(after, shown->unit, (uint64_t)change->after));
        put_change(row, 2, change);
        crn_texts_cell(row, 3, "%s", verdict(change));
    }
    crn_texts_print(out, &texts, "function");
    return above;
}
