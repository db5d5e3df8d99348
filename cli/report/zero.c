/* SPDX-License-Identifier: MIT
 *
 * The view of blocks that never ran. If each branch is a block, it is a coverage report.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "cli/common/terminal.h"
#include "report.h"

static int compare_places(const void *left, const void *right, void *data)
{
    const crn_profile *profile = data;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const crn_block_info *one = &profile->blocks[a], *other = &profile->blocks[b];
    return strcmp(one->file, other->file)
               ?: CRN_ORDER(one->line, other->line)
               ?: CRN_ORDER(one->column, other->column)
               ?: strcmp(one->name, other->name)
               ?: CRN_ORDER(a, b);
}

/* Returns, by block, 1 if it, or a block that it called, has calls or cost. Free it with
 * crn_free. */
static uint8_t *find_ran(const crn_profile *profile)
{
    uint8_t *ran = crn_calloc(profile->block_count, 1);
    uint8_t *used = crn_calloc(profile->context_count, 1); /* by context: it or one below it ran */
    for (uint32_t c = profile->context_count; c-- > 0;) {  /* callees before their callers */
        for (uint32_t m = 0; !used[c] && m < profile->metric_count; m++)
            used[c] = crn_self(profile, m, c) != 0;
        used[profile->parent[c]] |= used[c];
        ran[profile->block[c]] |= used[c];
    }
    crn_free(used);
    return ran;
}

/* Counts blocks, which are sorted by file, for each file with a block that did not run. */
static void add_up_files(crn_zero_view *view, const crn_profile *profile, const uint32_t *blocks,
                         const uint8_t *ran)
{
    view->files = crn_calloc((size_t)view->known + 1, sizeof *view->files);
    for (uint32_t i = 0, next; i < view->known; i = next) {
        struct crn_zero_file *file = &view->files[view->file_count];
        *file = (struct crn_zero_file){.name = profile->blocks[blocks[i]].file};
        for (next = i;
             next < view->known && strcmp(profile->blocks[blocks[next]].file, file->name) == 0;
             next++)
            file->ran += ran[blocks[next]];
        file->known = next - i;
        view->file_count += file->ran < file->known;
    }
}

crn_zero_view crn_zero_view_make(const crn_report *report)
{
    const crn_profile *profile = report->profile;
    crn_zero_view view = {.blocks = crn_calloc(profile->block_count, sizeof *view.blocks)};
    uint32_t *known = crn_calloc(profile->block_count, sizeof *known);
    uint8_t *ran = find_ran(profile);
    for (uint32_t b = 1; b < profile->block_count; b++)
        if (crn_report_shows(report, b) && b != profile->folded_block)
            known[view.known++] = b;
    qsort_r(known, view.known, sizeof *known, compare_places, (void *)profile);
    for (uint32_t i = 0; i < view.known; i++) {
        view.ran += ran[known[i]];
        if (!ran[known[i]])
            view.blocks[view.count++] = known[i];
    }
    add_up_files(&view, profile, known, ran);
    crn_free(known);
    crn_free(ran);
    if (report->top && view.count > report->top) {
        view.hidden = view.count - report->top;
        view.count = report->top;
    }
    return view;
}

void crn_zero_view_free(crn_zero_view *view)
{
    crn_free(view->blocks);
    crn_free(view->files);
    *view = (crn_zero_view){0};
}

/* Prints, by file, the share of blocks that ran, unless all did. A single file needs no table: the
 * last line has its share. */
static void print_files(FILE *out, const crn_zero_view *view)
{
    char percent[CRN_FIGURE_SIZE];
    uint32_t most = 0;
    for (uint32_t i = 0; i < view->file_count; i++)
        most = most < view->files[i].known ? view->files[i].known : most;
    if (view->file_count < 2)
        return;
    crn_table table = {0};
    crn_table_figure(&table, "ran", "", most, false);
    crn_table_figure(&table, "of", "", most, false);
    crn_table_text(&table, "%", 5);
    putc('\n', out);
    crn_table_head(out, &table, "file");
    for (uint32_t i = 0; i < view->file_count; i++) {
        const struct crn_zero_file *file = &view->files[i];
        crn_row row = crn_row_begin(&table);
        crn_row_figure(out, &row, file->ran);
        crn_row_figure(out, &row, file->known);
        crn_figure_fixed(percent, crn_percent(file->ran, file->known), 1);
        crn_row_text(out, &row, CRN_STYLE_PLAIN, percent);
        crn_row_block(out, &row, "",
                      &(crn_block_info){.name = *file->name ? file->name : "?", .file = ""}, "");
    }
}

static void print_rest(FILE *out, const crn_zero_view *view)
{
    char figure[CRN_FIGURE_SIZE], all[CRN_FIGURE_SIZE];
    crn_terminal_style(out, CRN_STYLE_DIM);
    if (view->hidden)
        fprintf(out, "%s more never ran: --top 0 shows all\n",
                crn_figure_alone(figure, "", view->hidden));
    fprintf(out, "%s of %s blocks ran: %.1f %%%s\n", crn_figure_alone(figure, "", view->ran),
            crn_figure_alone(all, "", view->known), crn_percent(view->ran, view->known),
            view->ran == view->known ? "; cairn cc --zero also adds functions that never ran" : "");
    crn_terminal_style(out, CRN_STYLE_PLAIN);
}

void crn_report_zero(FILE *out, const crn_report *report)
{
    const crn_profile *profile = report->profile;
    crn_zero_view view = crn_zero_view_make(report);
    crn_table table = {.profile = profile, .exact = true};
    for (uint32_t i = 0; i < view.count; i++)
        crn_table_measure(&table, "", &profile->blocks[view.blocks[i]], "");
    if (view.count)
        crn_table_head(out, &table, "never ran");
    for (uint32_t i = 0; i < view.count; i++) {
        crn_row row = crn_row_begin(&table);
        crn_row_block(out, &row, "", &profile->blocks[view.blocks[i]], "");
    }
    print_files(out, &view);
    print_rest(out, &view);
    crn_zero_view_free(&view);
}
