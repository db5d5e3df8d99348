/* SPDX-License-Identifier: MIT
 *
 * The source view: a function's source, with costs by line.
 *
 * Addresses have lines. In other captures a function has only the line of its declaration, which
 * gets its whole cost.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/source_text.h"
#include "profile/profile.h"
#include "top.h"

enum { LINES_BEFORE = 3, LINES_MAX = 400, TAB = 4 };

uint64_t *crn_top_address_costs(const crn_profile *profile, const crn_symbols_place *places,
                                uint32_t metric)
{
    uint64_t *costs = crn_calloc(profile->block_count, sizeof *costs);
    for (uint32_t c = 1; c < profile->context_count; c++) {
        uint32_t at = c;
        while (at && places[profile->block[at]].allocates)
            at = profile->parent[at];
        costs[profile->block[at]] += crn_self(profile, metric, c);
    }
    return costs;
}

/* ---- text ---- */

/* Returns the text with spaces for tabs, and each line ended by NUL. */
static char *tidy(const char *text, size_t size)
{
    size_t tabs = 0, used = 0;
    for (size_t i = 0; i < size; i++)
        tabs += text[i] == '\t';
    char *tidied = crn_calloc(size + tabs * (TAB - 1) + 1, 1);
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\t') {
            memset(tidied + used, ' ', TAB);
            used += TAB;
        } else {
            tidied[used++] = text[i] == '\n' ? 0 : text[i] ? text[i] : '?';
        }
    }
    return tidied;
}

static uint32_t count_lines(const char *text, size_t size)
{
    uint32_t lines = size && text[size - 1] != '\n';
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    return lines;
}

/* Sets rows->source and returns its number of lines. If it cannot be read, sets a remark and
 * returns 0. */
static uint32_t read_source(crn_top_rows *rows, const char *name)
{
    const char *reason = *name ? "the file does not exist here" : "its file is not known";
    char *path = *name ? realpath(name, NULL) : NULL, *text = NULL;
    size_t size = 0;
    uint32_t lines = 0;
    if (path)
        text = crn_source_text(path, &size, &reason);
    if (text) {
        lines = count_lines(text, size);
        rows->source = tidy(text, size);
        reason = "the file is empty";
    }
    if (!lines)
        snprintf(rows->remark, sizeof rows->remark, "The source%s%.150s is not shown: %s.",
                 *name ? " " : "", name, reason);
    crn_free(text);
    free(path);
    return lines;
}

/* ---- lines ---- */

/* Chooses the lines from a few before the function's declaration up to the next function. */
static void choose_lines(const crn_profile *profile, const crn_block_info *function, uint32_t count,
                         uint32_t *first, uint32_t *last)
{
    uint32_t line = function->line ? function->line : 1, end = count;
    for (uint32_t b = 1; b < profile->block_count; b++)
        if (profile->blocks[b].line > line && profile->blocks[b].line <= end &&
            profile->blocks[b].parent == function->parent &&
            strcmp(profile->blocks[b].file, function->file) == 0)
            end = profile->blocks[b].line - 1;
    *first = line > LINES_BEFORE ? line - LINES_BEFORE : 1;
    if (*first > end) /* the file has become shorter */
        *first = end;
    *last = end - *first >= LINES_MAX ? *first + LINES_MAX - 1 : end;
}

static void add_lines(crn_top_rows *rows, uint32_t first, uint32_t last)
{
    const char *text = rows->source;
    for (uint32_t line = 1; line <= last; line++, text += strlen(text) + 1) {
        if (line < first)
            continue;
        crn_top_row *row = crn_top_rows_add(rows);
        row->identity = line;
        row->line = line;
        row->text = text;
    }
}

typedef struct window {
    crn_top_row *rows; /* one for each line */
    uint32_t first, last;
    const char *file;
} window;

static crn_top_row *row_of(const window *window, const char *file, uint32_t line)
{
    bool inside = line >= window->first && line <= window->last && strcmp(file, window->file) == 0;
    return inside ? &window->rows[line - window->first] : NULL;
}

/* Adds the figures of functions to the lines of their declarations. */
static void put_functions(const window *window, const crn_top_rows *rows, const crn_profile *shown,
                          bool self)
{
    crn_block_cost cost = crn_block_cost_make(shown, rows->metric, NULL);
    crn_block_cost calls = crn_block_cost_make(shown, CRN_METRIC_CALLS, NULL);
    for (uint32_t b = 1; b < shown->block_count; b++) {
        crn_top_row *row = row_of(window, shown->blocks[b].file, shown->blocks[b].line);
        if (!row)
            continue;
        row->block = &shown->blocks[b];
        row->inclusive += cost.inclusive[b];
        row->calls += calls.self[b];
        row->self += self ? cost.self[b] : 0;
    }
    crn_block_cost_free(&cost);
    crn_block_cost_free(&calls);
}

/* Adds the self costs of addresses to their lines; of those without a line, to the function's. */
static void put_addresses(const window *window, const crn_top_look *look, const uint64_t *costs)
{
    for (uint32_t b = 1; b < look->read->block_count; b++) {
        const crn_symbols_place *place = &look->places[b];
        const crn_block_info *function = &look->profile->blocks[place->block];
        crn_top_row *row =
            costs[b] ? row_of(window, function->file, place->line ? place->line : function->line)
                     : NULL;
        if (row)
            row->self += costs[b];
    }
}

static void put_costs(crn_top_rows *rows, const window *window, const crn_profile *shown,
                      const crn_top_look *look)
{
    bool addresses = look->read && look->places;
    const uint64_t *gained = addresses && rows->seconds > 0 ? look->gained[rows->metric] : NULL;
    put_functions(window, rows, shown, !addresses);
    if (addresses && rows->seconds > 0 && gained) {
        put_addresses(window, look, gained);
    } else if (addresses && !(rows->seconds > 0)) {
        uint64_t *costs = crn_top_address_costs(look->read, look->places, rows->metric);
        put_addresses(window, look, costs);
        crn_free(costs);
    }
}

void crn_top_line_rows(crn_top_rows *rows, const crn_profile *shown, const crn_top_look *look,
                       uint32_t block)
{
    const crn_block_info *function = &look->profile->blocks[block];
    uint32_t count = read_source(rows, function->file), first, last;
    if (!count)
        return;
    crn_top_rows_add(rows)->heading =
        look->read
            ? "self cost is at the lines of the code, total and calls where a function begins"
            : "costs are of whole functions, at the lines where they begin";
    choose_lines(look->profile, function, count, &first, &last);
    uint32_t before = rows->count;
    add_lines(rows, first, last);
    const window window = {rows->rows + before, first, last, function->file};
    put_costs(rows, &window, shown, look);
}
