/* SPDX-License-Identifier: MIT
 *
 * The functions in which slow spans spend more processor time, by samples.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "cli/common/texts.h"
#include "explain.h"

/* Least shares of the caller's difference with which the sentence names a callee, too, and with
 * which an only callee joins its caller's row. */
#define MOST_OF 0.8
#define NEARLY_ALL 0.95

enum { NAMED = 3 /* only the last functions of a chain are named */ };

static double extra_of(const crn_sampled_function *function)
{
    return function->slow - function->typical;
}

static bool has_functions(const crn_explain *explain)
{
    return explain->functions.slow_samples || explain->functions.typical_samples;
}

/* Returns true if function i calls function i + 1, and that has at least `share` of i's
 * difference. */
static bool is_carried_on(const crn_sampled_functions *its, uint32_t i, double share)
{
    return i + 1 < its->count && its->list[i + 1].depth == its->list[i].depth + 1 &&
           extra_of(&its->list[i + 1]) >= share * extra_of(&its->list[i]);
}

/* Appends the last NAMED names of functions `first` to `last`, each of which calls the next. */
static void add_chain(crn_words *words, const crn_explain_report *report, uint32_t first,
                      uint32_t last)
{
    const crn_glyphs *glyphs = crn_terminal_get()->glyphs;
    const crn_sampled_functions *its = &report->explain->functions;
    if (last - first >= NAMED) {
        crn_words_add(words, "%s %s ", glyphs->ellipsis, glyphs->arrow);
        first = last - NAMED + 1;
    }
    for (uint32_t i = first; i <= last; i++)
        crn_words_add(words, i == first ? "%s%.120s" : " %s %.120s",
                      i == first ? "" : glyphs->arrow,
                      report->source->profile->blocks[its->list[i].block].name);
}

/* ---- sentence ---- */

void crn_explain_add_functions(crn_words *words, const crn_explain_report *report)
{
    const crn_sampled_functions *its = &report->explain->functions;
    char extra[CRN_FIGURE_SIZE];
    uint32_t last = 0;
    if (!its->count || extra_of(its->list) <= 0)
        return;
    while (is_carried_on(its, last, MOST_OF))
        last++;
    crn_words_add(words, " Slow spans spend %s more processor time in ",
                  crn_texts_time(extra, extra_of(&its->list[last])));
    add_chain(words, report, 0, last);
    crn_words_add(words, ".");
}

/* ---- table ---- */

/* Adds a row for the function `first` and the chain of only callees below it, as long as each has
 * nearly all of its caller's difference. Returns the last function of the row. */
static uint32_t add_row(crn_texts *texts, const crn_explain_report *report, uint32_t first,
                        uint32_t indent, double whole)
{
    const crn_sampled_functions *its = &report->explain->functions;
    char text[CRN_FIGURE_SIZE];
    crn_words words;
    uint32_t last = first;
    while (is_carried_on(its, last, NEARLY_ALL) && its->list[last + 1].only)
        last++;
    const crn_sampled_function *function = &its->list[last];
    crn_texts_row *row = crn_texts_add(texts);
    crn_texts_cell(row, 0, "%s", crn_texts_time(text, function->slow));
    crn_texts_cell(row, 1, "%s", crn_texts_time(text, function->typical));
    crn_texts_cell(row, 2, "%s", crn_texts_time(text, extra_of(function)));
    crn_texts_cell(row, 3, "%s", crn_texts_time(text, 2 * function->error));
    crn_texts_share(row, 4, whole > 0 ? extra_of(function) / whole : 0);
    words.text[words.used = 0] = 0;
    add_chain(&words, report, first, last);
    row->block = report->source->profile->blocks[function->block];
    size_t name = strlen(row->block.name), used = words.used < name ? 0 : words.used - name;
    snprintf(row->before, sizeof row->before, "%*s%.*s", (int)(2 * (indent < 60 ? indent : 60)), "",
             (int)used, words.text);
    return last;
}

void crn_explain_functions_text(FILE *out, const crn_explain_report *report)
{
    const crn_sampled_functions *its = &report->explain->functions;
    char line[256];
    if (!has_functions(report->explain))
        return;
    crn_texts texts = {.columns = 5,
                       .titles = {"slow", "typical", "extra", "± 95 %", "%"},
                       .ranks = {0, 0, 1, 2, 1}};
    double whole = its->slow - its->typical;
    uint32_t *indents = crn_calloc(its->count + (size_t)1, sizeof *indents); /* by depth of call */
    uint32_t at = 0;
    for (; at < its->count && texts.count < report->top; at++) {
        uint32_t first = at, indent = indents[its->list[first].depth];
        at = add_row(&texts, report, first, indent, whole);
        for (uint32_t depth = its->list[first].depth; depth <= its->list[at].depth; depth++)
            indents[depth + 1] = indent + 1;
    }
    crn_free(indents);
    putc('\n', out);
    if (texts.count)
        crn_texts_print(out, &texts, "processor time of functions in slow spans");
    snprintf(
        line, sizeof line,
        "functions: by %" PRIu32 " samples in slow spans and %" PRIu32 " in typical ones; %s%s",
        its->slow_samples, its->typical_samples,
        its->count ? "differences within chance are left out" : "no difference is beyond chance",
        at < its->count ? "; --top 0 shows all" : "");
    crn_terminal_style(out, CRN_STYLE_DIM);
    crn_terminal_wrapped(out, line);
    crn_terminal_style(out, CRN_STYLE_PLAIN);
}

/* ---- JSON ---- */

json_t *crn_explain_functions_json(const crn_explain_report *report)
{
    const crn_sampled_functions *its = &report->explain->functions;
    if (!has_functions(report->explain))
        return json_null();
    json_t *json = json_object(), *list = json_array();
    json_object_set_new(json, "slow_samples", crn_json_number(its->slow_samples));
    json_object_set_new(json, "typical_samples", crn_json_number(its->typical_samples));
    json_object_set_new(json, "slow", crn_json_real(its->slow));
    json_object_set_new(json, "typical", crn_json_real(its->typical));
    json_object_set_new(json, "error", crn_json_real(its->error));
    for (uint32_t i = 0; i < its->count && i < report->top; i++) {
        const crn_sampled_function *function = &its->list[i];
        json_t *row = json_object();
        json_object_set_new(row, "block", crn_json_block(report->source->profile, function->block));
        json_object_set_new(row, "depth", crn_json_number(function->depth));
        json_object_set_new(row, "slow", crn_json_real(function->slow));
        json_object_set_new(row, "typical", crn_json_real(function->typical));
        json_object_set_new(row, "error", crn_json_real(function->error));
        json_array_append_new(list, row);
    }
    json_object_set_new(json, "list", list);
    return json;
}
