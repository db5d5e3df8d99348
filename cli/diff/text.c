/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/table.h"
#include "cli/common/terminal.h"
#include "diff.h"
#include "warnings.h"

/* PATH_SHOWN: only so many of a path's last blocks are shown. */
enum { PATH_SHOWN = 6, PATH_SIZE = 1024 };

static const crn_profile *side_of(const crn_diff_report *report, const crn_diff_row *row,
                                  uint32_t *id)
{
    int side = row->id[CRN_AFTER] != CRN_DIFF_NONE ? CRN_AFTER : CRN_BEFORE;
    *id = row->id[side];
    return report->input.profile[side];
}

static void print_side(FILE *out, const crn_diff_report *report, int side)
{
    static const char *const labels[] = {"before", "after"};
    const crn_profile *profile = report->input.profile[side];
    crn_terminal_style(out, CRN_STYLE_DIM);
    fprintf(out, "%-8s", labels[side]);
    crn_terminal_style(out, CRN_STYLE_PLAIN);
    crn_terminal_text(out, report->paths[side], 0, false);
    const char *keys[] = {"command", "started"};
    for (int i = 0; i < 2; i++) {
        const char *value = crn_profile_note(profile, keys[i], NULL);
        if (!value)
            continue;
        fputs("  ", out);
        crn_terminal_text(out, value, crn_terminal_get()->width, false);
    }
    putc('\n', out);
}

/* Warns if the captures' figures were measured differently and therefore do not compare. */
static void warn_difference(FILE *out, const crn_diff_report *report, const char *key,
                            const char *what)
{
    const char *before = crn_profile_note(report->input.profile[CRN_BEFORE], key, "");
    const char *after = crn_profile_note(report->input.profile[CRN_AFTER], key, "");
    if (strcmp(before, after) == 0)
        return;
    crn_terminal_style(out, CRN_STYLE_WARM);
    fprintf(out, "warning ");
    crn_terminal_style(out, CRN_STYLE_PLAIN);
    fprintf(out, "%s is not the same: ", what);
    crn_terminal_text(out, before, 0, false);
    fprintf(out, " before, ");
    crn_terminal_text(out, after, 0, false);
    fputs(" after\n", out);
}

static void print_total(FILE *out, const crn_diff_report *report)
{
    char before[CRN_FIGURE_SIZE], after[CRN_FIGURE_SIZE];
    const crn_profile *profile = report->input.profile[CRN_BEFORE];
    const char *unit = profile->metrics[report->input.metric[CRN_BEFORE]].unit;
    const uint64_t *total = report->diff.total;
    crn_terminal_style(out, CRN_STYLE_DIM);
    fprintf(out, "%-8s", "total");
    crn_terminal_style(out, CRN_STYLE_PLAIN);
    fprintf(out, "%s %s %s ", crn_figure_alone(before, unit, total[CRN_BEFORE]),
            crn_terminal_get()->glyphs->arrow, crn_figure_alone(after, unit, total[CRN_AFTER]));
    crn_terminal_text(out, report->metric_name, 0, false);
    if (total[CRN_BEFORE])
        fprintf(out, ", %s%+.2f %%", crn_diff_total_is_chance(report) ? "~" : "",
                100 * ((double)total[CRN_AFTER] / (double)total[CRN_BEFORE] - 1));
    fputs("\n\n", out);
}

/* Writes the callers on a context's path, without the root: "… → a → b → ". */
static void path_prefix(char prefix[PATH_SIZE], const crn_profile *profile, uint32_t context)
{
    const crn_glyphs *glyphs = crn_terminal_get()->glyphs;
    const char *names[PATH_SHOWN];
    int count = 0;
    size_t used = 0;
    while (count < PATH_SHOWN - 1 && context && profile->parent[context]) {
        context = profile->parent[context];
        names[count++] = profile->blocks[profile->block[context]].name;
    }
    prefix[0] = 0;
    if (context && profile->parent[context])
        used = (size_t)snprintf(prefix, PATH_SIZE, "%s %s ", glyphs->ellipsis, glyphs->arrow);
    while (count--)
        used += (size_t)snprintf(prefix + used, PATH_SIZE - used, "%.60s %s ", names[count],
                                 glyphs->arrow);
}

bool crn_diff_is_chance(const crn_diff_report *report, const uint64_t figures[CRN_SIDES])
{
    const uint64_t *total = report->diff.total;
    if (figures[CRN_BEFORE] == total[CRN_BEFORE] && figures[CRN_AFTER] == total[CRN_AFTER])
        return crn_diff_total_is_chance(report);
    return figures[CRN_BEFORE] != figures[CRN_AFTER] &&
           crn_sampling_within_chance(report->diff.sampling, figures, CRN_INTERVAL_Z);
}

bool crn_diff_total_is_chance(const crn_diff_report *report)
{
    const uint64_t *total = report->diff.total;
    return total[CRN_BEFORE] != total[CRN_AFTER] &&
           crn_sampling_totals_within_chance(report->diff.sampling, total, CRN_INTERVAL_Z);
}

const char *crn_diff_why_apart(const crn_diff_row *row)
{
    static const char *const words[] = {
        [CRN_ABSENCE_NOT_PROFILED] = "not profiled", [CRN_ABSENCE_NOT_SAMPLED] = "not sampled"};
    return crn_diff_row_is_apart(row) ? words[row->absence] : NULL;
}

/* Prints a row's figures. If only one capture has the row although the program did not change,
 * prints no changes. */
static void print_figures(FILE *out, const crn_diff_report *report, crn_row *cells,
                          const crn_diff_row *row, bool calls)
{
    static const uint64_t none[CRN_SIDES];
    bool apart = crn_diff_row_is_apart(row);
    const uint64_t *self = apart ? none : row->self, *inclusive = apart ? none : row->inclusive;
    const uint64_t *counts = apart ? none : row->calls;
    crn_row_figure(out, cells, row->self[CRN_BEFORE]);
    crn_row_figure(out, cells, row->self[CRN_AFTER]);
    crn_row_change(out, cells, self[CRN_BEFORE], self[CRN_AFTER], crn_diff_is_chance(report, self));
    crn_row_change(out, cells, inclusive[CRN_BEFORE], inclusive[CRN_AFTER],
                   crn_diff_is_chance(report, inclusive));
    if (calls)
        crn_row_change(out, cells, counts[CRN_BEFORE], counts[CRN_AFTER], false);
}

static void print_row(FILE *out, const crn_diff_report *report, const crn_table *table,
                      const crn_diff_row *row, bool calls)
{
    crn_row cells = crn_row_begin(table);
    print_figures(out, report, &cells, row, calls);
    uint32_t id;
    const crn_profile *profile = side_of(report, row, &id);
    char prefix[PATH_SIZE] = "";
    if (report->contexts) {
        path_prefix(prefix, profile, id);
        id = profile->block[id];
    }
    char suffix[64] = "";
    if (crn_diff_why_apart(row))
        snprintf(suffix, sizeof suffix, " (%s %s)", crn_diff_why_apart(row),
                 profile == report->input.profile[CRN_AFTER] ? "before" : "after");
    crn_row_block(out, &cells, prefix, &profile->blocks[id], suffix);
}

static bool is_changed(const crn_diff_row *row)
{
    return row->self[CRN_BEFORE] != row->self[CRN_AFTER] ||
           row->inclusive[CRN_BEFORE] != row->inclusive[CRN_AFTER] ||
           row->calls[CRN_BEFORE] != row->calls[CRN_AFTER];
}

typedef struct extent {
    uint64_t self, inclusive, calls;
    uint32_t shown, hidden, same;
    bool chance; /* a shown change may be chance */
} extent;

static uint64_t larger(uint64_t largest, const uint64_t figures[CRN_SIDES])
{
    for (int side = 0; side < CRN_SIDES; side++)
        if (largest < figures[side])
            largest = figures[side];
    return largest;
}

/* Returns the largest figures of the rows and counts rows, at most `top` as shown; measures
 * names. */
static extent measure(const crn_diff_report *report, crn_table *table)
{
    extent extent = {.chance = crn_diff_total_is_chance(report)};
    for (uint32_t i = 0; i < report->diff.count; i++) {
        const crn_diff_row *row = &report->diff.rows[i];
        if (!is_changed(row)) {
            extent.same++;
        } else if (report->top && extent.shown == report->top) {
            extent.hidden++;
        } else {
            extent.shown++;
            extent.self = larger(extent.self, row->self);
            extent.inclusive = larger(extent.inclusive, row->inclusive);
            extent.calls = larger(extent.calls, row->calls);
            if (!crn_diff_row_is_apart(row))
                extent.chance |= crn_diff_is_chance(report, row->self) ||
                                 crn_diff_is_chance(report, row->inclusive);
            uint32_t id;
            const crn_profile *profile = side_of(report, row, &id);
            if (!report->contexts)
                crn_table_measure(table, "", &profile->blocks[id], "");
        }
    }
    return extent;
}

static void print_rest(FILE *out, const crn_diff_report *report, const extent *extent)
{
    const char *what = report->contexts ? "context" : "function";
    char count[CRN_FIGURE_SIZE];
    crn_terminal_style(out, CRN_STYLE_DIM);
    if (extent->chance)
        fputs("~: within chance; sampling alone can cause this difference\n", out);
    if (extent->hidden)
        fprintf(out, "%s more changed %s%s: --top 0 shows all\n",
                crn_figure_alone(count, "", extent->hidden), what, extent->hidden == 1 ? "" : "s");
    fprintf(out, "%s %s%s did not change\n", crn_figure_alone(count, "", extent->same), what,
            extent->same == 1 ? "" : "s");
    crn_terminal_style(out, CRN_STYLE_PLAIN);
}

void crn_diff_text(FILE *out, const crn_diff_report *report)
{
    const crn_profile *profile = report->input.profile[CRN_BEFORE];
    uint32_t metric = report->input.metric[CRN_BEFORE];
    const char *unit = profile->metrics[metric].unit;
    print_side(out, report, CRN_BEFORE);
    print_side(out, report, CRN_AFTER);
    crn_diff_warnings_text(out,
                           &(crn_diff_captures){report->input.profile, report->paths, CRN_SIDES});
    warn_difference(out, report, "wall", "the wall clock");
    warn_difference(out, report, "cpu", "the CPU clock");
    warn_difference(out, report, "tick_period", "the period of tick samples");
    print_total(out, report);

    crn_table table = {0};
    if (!report->contexts) {
        table.profile = profile;
        table.other = report->input.profile[CRN_AFTER];
    }
    extent extent = measure(report, &table);
    bool calls = metric != CRN_METRIC_CALLS && extent.calls;
    if (extent.shown) {
        crn_table_figure(&table, "self before", unit, extent.self, false);
        crn_table_figure(&table, "after", unit, extent.self, false);
        crn_table_change(&table, "change", unit, extent.self);
        crn_table_change(&table, "total", unit, extent.inclusive);
        if (calls)
            crn_table_change(&table, "calls", "", extent.calls);
        crn_table_head(out, &table, report->contexts ? "context" : "function");
    }
    /* Rows are sorted by one column: a row that changed only in another can come after unchanged
     * ones. */
    for (uint32_t i = 0, shown = 0; i < report->diff.count && shown < extent.shown; i++) {
        if (!is_changed(&report->diff.rows[i]))
            continue;
        print_row(out, report, &table, &report->diff.rows[i], calls);
        shown++;
    }
    print_rest(out, report, &extent);
}
