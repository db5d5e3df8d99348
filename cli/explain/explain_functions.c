/* SPDX-License-Identifier: MIT
 *
 * The functions in which slow spans spend more processor time, by samples.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "cli/common/texts.h"
#include "explain.h"

#define MOST_OF 0.8 /* a callee with this share of its caller's difference is named with it */

enum { NAMED = 4 /* functions of a chain that are named */ };

static double extra_of(const crn_sampled_function *function)
{
    return function->slow - function->typical;
}

static bool has_functions(const crn_explain *explain)
{
    return explain->functions.slow_samples || explain->functions.typical_samples;
}

/* ---- sentence ---- */

void crn_explain_add_functions(crn_words *words, const crn_explain_report *report)
{
    const crn_sampled_functions *its = &report->explain->functions;
    const crn_glyphs *glyphs = crn_terminal_get()->glyphs;
    char extra[CRN_FIGURE_SIZE];
    if (!its->count || extra_of(its->list) <= 0)
        return;
    crn_words_add(words, " Slow spans spend %s more processor time in ",
                  crn_texts_time(extra, extra_of(its->list)));
    for (uint32_t i = 0; i < its->count && i < NAMED; i++) {
        const crn_sampled_function *function = &its->list[i];
        if (i && (function->depth != i || extra_of(function) < MOST_OF * extra_of(&its->list[i - 1])))
            break;
        if (i)
            crn_words_add(words, " %s ", glyphs->arrow);
        crn_words_add(words, "%.200s", report->source->profile->blocks[function->block].name);
    }
    crn_words_add(words, ".");
}

/* ---- table ---- */

static void add_row(crn_texts *texts, const crn_explain_report *report,
                    const crn_sampled_function *function, double whole)
{
    char text[CRN_FIGURE_SIZE];
    crn_texts_row *row = crn_texts_add(texts);
    crn_texts_cell(row, 0, "%s", crn_texts_time(text, function->slow));
    crn_texts_cell(row, 1, "%s", crn_texts_time(text, function->typical));
    crn_texts_cell(row, 2, "%s", crn_texts_time(text, extra_of(function)));
    crn_texts_cell(row, 3, "%s", crn_texts_time(text, 2 * function->error));
    crn_texts_share(row, 4, whole > 0 ? extra_of(function) / whole : 0);
    snprintf(row->before, sizeof row->before, "%*s",
             (int)(2 * (function->depth < 60 ? function->depth : 60)), "");
    row->block = report->source->profile->blocks[function->block];
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
    for (uint32_t i = 0; i < its->count && i < report->top; i++)
        add_row(&texts, report, &its->list[i], whole);
    putc('\n', out);
    if (texts.count)
        crn_texts_print(out, &texts, "processor time of functions in slow spans");
    snprintf(line, sizeof line,
             "functions: by %" PRIu32 " samples in slow spans and %" PRIu32
             " in typical ones; %s%s",
             its->slow_samples, its->typical_samples,
             its->count ? "differences within chance are left out"
                        : "no difference is beyond chance",
             its->count > report->top ? "; --top 0 shows all" : "");
    crn_terminal_style(out, CRN_STYLE_DIM);
    crn_terminal_wrapped(out, line);
    crn_terminal_style(out, CRN_STYLE_PLAIN);
}

/* ---- JSON ---- */

static json_t *real(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

json_t *crn_explain_functions_json(const crn_explain_report *report)
{
    const crn_sampled_functions *its = &report->explain->functions;
    if (!has_functions(report->explain))
        return json_null();
    json_t *json = json_object(), *list = json_array();
    json_object_set_new(json, "slow_samples", crn_json_number(its->slow_samples));
    json_object_set_new(json, "typical_samples", crn_json_number(its->typical_samples));
    json_object_set_new(json, "slow", real(its->slow));
    json_object_set_new(json, "typical", real(its->typical));
    json_object_set_new(json, "error", real(its->error));
    for (uint32_t i = 0; i < its->count && i < report->top; i++) {
        const crn_sampled_function *function = &its->list[i];
        json_t *row = json_object();
        json_object_set_new(row, "block",
                            crn_json_block(report->source->profile, function->block));
        json_object_set_new(row, "depth", crn_json_number(function->depth));
        json_object_set_new(row, "slow", real(function->slow));
        json_object_set_new(row, "typical", real(function->typical));
        json_object_set_new(row, "error", real(function->error));
        json_array_append_new(list, row);
    }
    json_object_set_new(json, "list", list);
    return json;
}
