/* SPDX-License-Identifier: MIT
 *
 * The tables of `cairn explain`.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "cli/common/terminal.h"
#include "cli/common/texts.h"
#include "explain.h"

static void print_dim(FILE *out, const char *text)
{
    crn_terminal_style(out, CRN_STYLE_DIM);
    crn_terminal_wrapped(out, text);
    crn_terminal_style(out, CRN_STYLE_PLAIN);
}

/* ---- parts ---- */

static const char *figure(char text[CRN_FIGURE_SIZE], const crn_explain_part *part, double value)
{
    if (part->kind == CRN_EXPLAIN_NUMBER)
        return crn_texts_number(text, value);
    if (part->kind != CRN_EXPLAIN_OVERLAP)
        return crn_texts_time(text, value);
    if (!isfinite(value))
        return strcpy(text, "-");
    snprintf(text, CRN_FIGURE_SIZE, "%.0f %%", 100 * value);
    return text;
}

static void name_part(crn_texts_row *row, const crn_explain_report *report,
                      const crn_explain_part *part)
{
    static const char *const before[] = {[CRN_EXPLAIN_SELF] = "self time",
                                         [CRN_EXPLAIN_NUMBER] = "calls of ",
                                         [CRN_EXPLAIN_DURATION] = "duration of ",
                                         [CRN_EXPLAIN_OVERLAP] = "overlap of ",
                                         [CRN_EXPLAIN_WAITING] = "self time without a processor",
                                         [CRN_EXPLAIN_READY] = "ready, no core free",
                                         [CRN_EXPLAIN_STAGE_QUEUE] = "queueing before ",
                                         [CRN_EXPLAIN_STAGE_WORK] = "work of ",
                                         [CRN_EXPLAIN_STAGE_WAIT] = "waiting of "};
    snprintf(row->before, sizeof row->before, "%s", before[part->kind]);
    if (part->kind == CRN_EXPLAIN_SELF && report->explain->has_cpu)
        snprintf(row->before, sizeof row->before, "work");
    if (part->kind == CRN_EXPLAIN_WAITING && report->explain->has_ready)
        snprintf(row->before, sizeof row->before, "waiting");
    if (!crn_explain_is_own(part->kind))
        row->block = report->source->profile->blocks[part->block];
}

typedef double part_weight(const crn_explain_part *part);

static double share_of(const crn_explain_part *part)
{
    return part->share;
}

static double extra_of(const crn_explain_part *part)
{
    return part->extra;
}

typedef struct place {
    double weight;
    uint32_t part;
} place;

static int compare_places(const void *left, const void *right)
{
    const place *a = left, *b = right;
    return CRN_ORDER(b->weight, a->weight) ?: CRN_ORDER(a->part, b->part);
}

static int compare_sizes(const void *left, const void *right)
{
    const place *a = left, *b = right;
    return CRN_ORDER(fabs(b->weight), fabs(a->weight)) ?: CRN_ORDER(a->part, b->part);
}

/* Chooses the `top` parts with the largest weights by magnitude, and sorts them by weight. Returns
 * their number. */
static uint32_t choose(const crn_explain_report *report, part_weight *weight, place *places)
{
    const crn_explain *explain = report->explain;
    for (uint32_t p = 0; p < explain->part_count; p++)
        places[p] = (place){weight(&explain->parts[p]), p};
    qsort(places, explain->part_count, sizeof *places, compare_sizes);
    uint32_t shown = explain->part_count < report->top ? explain->part_count : report->top;
    qsort(places, shown, sizeof *places, compare_places);
    return shown;
}

static void print_parts(FILE *out, const crn_explain_report *report)
{
    const crn_explain *explain = report->explain;
    const crn_explain *rest = report->rest;
    crn_texts texts = {.columns = rest ? 4 : 3,
                       .titles = {"variance %", "mean", "std dev", "of the rest %"},
                       .ranks = {0, 1, 2, 3}};
    char text[CRN_FIGURE_SIZE];
    place *places = crn_calloc(explain->part_count + (size_t)1, sizeof *places);
    uint32_t shown = choose(report, share_of, places);
    double left = 1;
    for (uint32_t i = 0; i < shown; i++) {
        const crn_explain_part *part = &explain->parts[places[i].part];
        crn_texts_row *row = crn_texts_add(&texts);
        left -= part->share;
        crn_texts_share(row, 0, part->share);
        crn_texts_cell(row, 1, "%s", figure(text, part, part->mean));
        crn_texts_cell(row, 2, "%s", figure(text, part, part->deviation));
        const crn_explain_part *same =
            rest ? crn_explain_part_of(rest, part->kind, part->block) : NULL;
        crn_texts_share(row, 3, same ? same->share : 0);
        name_part(row, report, part);
    }
    if (shown < explain->part_count) {
        crn_texts_row *row = crn_texts_add(&texts);
        crn_texts_share(row, 0, left);
        snprintf(row->before, sizeof row->before, "%" PRIu32 " more: --top 0 shows all",
                 explain->part_count - shown);
    }
    crn_free(places);
    putc('\n', out);
    crn_texts_print(out, &texts, "because of");
}

/* ---- stages of a latency ---- */

static void print_stages(FILE *out, const crn_explain_report *report)
{
    crn_texts texts = {.columns = 5,
                       .titles = {"mean", "%", "queueing", "work", "waiting"},
                       .ranks = {0, 0, 1, 1, 1}};
    char text[CRN_FIGURE_SIZE];
    uint32_t count;
    crn_explain_stage *stages = crn_explain_stages(report, &count);
    for (uint32_t i = 0; i < count && i < report->top; i++) {
        const double times[] = {stages[i].queue, stages[i].work, stages[i].wait};
        crn_texts_row *row = crn_texts_add(&texts);
        crn_texts_cell(row, 0, "%s", crn_texts_time(text, stages[i].mean));
        crn_texts_share(row, 1, stages[i].mean / report->explain->mean);
        for (size_t k = 0; k < 3; k++)
            crn_texts_cell(row, 2 + k, "%s", times[k] > 0 ? crn_texts_time(text, times[k]) : "-");
        row->block = report->source->profile->blocks[stages[i].block];
    }
    putc('\n', out);
    crn_texts_print(out, &texts, "stage: from its hand-over to that of the next");
    if (count > report->top) {
        char line[64];
        snprintf(line, sizeof line, "%" PRIu32 " more: --top 0 shows all", count - report->top);
        print_dim(out, line);
    }
    crn_free(stages);
}

/* ---- factors ---- */

static void describe(crn_words *words, const crn_explain_report *report,
                     const crn_explain_factor *factor)
{
    crn_explain_factor_words(words, factor);
    crn_words_add(words, ": ");
    if (factor->verdict == CRN_VERDICT_CONSTANT) {
        crn_words_add(words, "constant");
    } else if (factor->verdict == CRN_VERDICT_FEW) {
        crn_words_add(words, "%" PRIu32 " values in %" PRIu32 " spans, too few to tell",
                      factor->values, factor->count);
    } else if (factor->verdict == CRN_VERDICT_CHANCE) {
        crn_words_add(words, "within chance");
    } else {
        crn_explain_effect_words(words, report, factor);
    }
}

static void print_factors(FILE *out, const crn_explain_report *report)
{
    const crn_explain *explain = report->explain;
    const crn_explain *rest = report->rest;
    crn_texts texts = {.columns = rest ? 5 : 4,
                       .titles = {"explains %", "chance %", "spans", "values", "of the rest %"},
                       .ranks = {0, 1, 2, 4, 3}};
    uint32_t hidden = 0, constant = 0;
    for (uint32_t f = 0; f < explain->factor_count; f++) {
        const crn_explain_factor *factor = &explain->factors[f];
        if (factor->verdict == CRN_VERDICT_CONSTANT) {
            constant++;
            continue;
        }
        if (texts.count == report->top) {
            hidden++;
            continue;
        }
        crn_texts_row *row = crn_texts_add(&texts);
        bool tested = factor->verdict != CRN_VERDICT_FEW;
        crn_texts_share(row, 0, factor->verdict == CRN_VERDICT_EXPLAINS ? factor->explained : 0);
        crn_texts_cell(row, 1,
                       !tested                   ? "-"
                       : factor->chance < 0.0001 ? "<0.01"
                       : factor->chance < 0.1    ? "%.2f"
                                                 : "%.0f",
                       100 * factor->chance);
        crn_texts_cell(row, 2, "%" PRIu32, factor->count);
        crn_texts_cell(row, 3, "%" PRIu32, factor->values);
        const crn_explain_factor *same = rest ? crn_explain_factor_of(rest, factor) : NULL;
        bool explains = same && same->verdict == CRN_VERDICT_EXPLAINS;
        crn_texts_share(row, 4, explains ? same->explained : 0);
        crn_words words;
        words.text[words.used = 0] = 0;
        bool rest_only = explains && factor->verdict == CRN_VERDICT_CHANCE;
        describe(&words, report, rest_only ? same : factor);
        if (rest_only)
            crn_words_add(&words, ", of the rest");
        snprintf(row->before, sizeof row->before, "%.500s", words.text);
    }
    if (!texts.count)
        return;
    putc('\n', out);
    crn_texts_print(out, &texts, "attributes");
    if (hidden || constant) {
        char line[128];
        snprintf(line, sizeof line, "not shown: %" PRIu32 " with one value only%s", constant,
                 hidden ? ", and more: --top 0 shows all" : "");
        print_dim(out, line);
    }
}

/* ---- slow against typical ---- */

static void add_slow_part(crn_texts *texts, const crn_explain_report *report,
                          const crn_explain_part *part)
{
    const crn_explain *explain = report->explain;
    char text[CRN_FIGURE_SIZE];
    crn_texts_row *row = crn_texts_add(texts);
    crn_texts_cell(row, 0, "%s", figure(text, part, part->slow));
    crn_texts_cell(row, 1, "%s", figure(text, part, part->typical));
    crn_texts_cell(row, 2, "%s", part->extra == 0 ? "-" : crn_texts_time(text, part->extra));
    crn_texts_share(row, 3, part->extra / (explain->slow_mean - explain->typical_mean));
    name_part(row, report, part);
}

static void add_slow_factor(crn_texts *texts, const crn_explain_report *report,
                            const crn_explain_factor *factor)
{
    char text[CRN_FIGURE_SIZE];
    crn_words words;
    words.text[words.used = 0] = 0;
    crn_texts_row *row = crn_texts_add(texts);
    if (factor->number) {
        crn_explain_factor_words(&words, factor);
        crn_texts_cell(row, 0, "%s", crn_texts_number(text, factor->slow));
        crn_texts_cell(row, 1, "%s", crn_texts_number(text, factor->typical));
        crn_words_add(&words, ", mean");
    } else {
        crn_texts_cell(row, 0, "%.0f %%", 100 * factor->slow);
        crn_texts_cell(row, 1, "%.0f %%", 100 * factor->typical);
        crn_explain_group_words(&words, report, factor,
                                &(crn_factor_group){.text = factor->common,
                                                    .low = factor->common_number,
                                                    .high = factor->common_number});
    }
    snprintf(row->before, sizeof row->before, "%.500s", words.text);
}

/* Returns true if the factor's value differs between slow and typical spans enough to be shown. */
static bool differs(const crn_explain_factor *factor)
{
    if (!isfinite(factor->slow) || !isfinite(factor->typical))
        return false;
    double most = fmax(fabs(factor->slow), fabs(factor->typical));
    return fabs(factor->slow - factor->typical) > 0.1 * most;
}

static void print_rest(FILE *out, const crn_explain *rest)
{
    char line[128], time[CRN_FIGURE_SIZE];
    snprintf(line, sizeof line,
             "the rest: without the slowest twentieth, %" PRIu32 " that took more than %s",
             rest->longer, crn_texts_time(time, (double)rest->max));
    print_dim(out, line);
}

static void print_slow_none(FILE *out, const crn_explain_report *report)
{
    char line[64];
    snprintf(line, sizeof line, "slow: %s %s (--slow)",
             report->slow > report->explain->max ? "no" : "every",
             report->latencies ? "result" : "span");
    print_dim(out, line);
}

static void print_slow(FILE *out, const crn_explain_report *report)
{
    const crn_explain *explain = report->explain;
    if (!explain->slow_count || !explain->typical_count) {
        if (report->slow)
            print_slow_none(out, report);
        return;
    }
    crn_texts texts = {
        .columns = 4, .titles = {"slow", "typical", "extra", "%"}, .ranks = {0, 0, 1, 0}};
    char from[CRN_FIGURE_SIZE], low[CRN_FIGURE_SIZE], high[CRN_FIGURE_SIZE], line[256];
    crn_texts_row *whole = crn_texts_add(&texts);
    crn_texts_cell(whole, 0, "%s", crn_texts_time(from, explain->slow_mean));
    crn_texts_cell(whole, 1, "%s", crn_texts_time(from, explain->typical_mean));
    crn_texts_cell(whole, 2, "%s",
                   crn_texts_time(from, explain->slow_mean - explain->typical_mean));
    snprintf(whole->before, sizeof whole->before, "total");
    place *places = crn_calloc(explain->part_count + (size_t)1, sizeof *places);
    uint32_t shown = choose(report, extra_of, places);
    for (uint32_t i = 0; i < shown; i++)
        add_slow_part(&texts, report, &explain->parts[places[i].part]);
    crn_free(places);
    for (uint32_t f = 0, more = 0; f < explain->factor_count && more < report->top; f++)
        if (differs(&explain->factors[f])) {
            add_slow_factor(&texts, report, &explain->factors[f]);
            more++;
        }
    putc('\n', out);
    crn_texts_print(out, &texts, report->latencies ? "slow results" : "slow spans");
    snprintf(line, sizeof line,
             "slow: %" PRIu32 " from %s on (%s); typical: %" PRIu32
             " between %s and %s%s; extra: a row's part of the difference",
             explain->slow_count, crn_texts_time(from, (double)explain->slow_from),
             report->slow ? "--slow" : "p99", explain->typical_count,
             crn_texts_time(low, (double)explain->typical_from),
             crn_texts_time(high, (double)explain->typical_to),
             report->slow ? "" : " (the quartiles)");
    print_dim(out, line);
}

/* ---- entry ---- */

static void print_summary(FILE *out, const crn_explain_report *report)
{
    const crn_explain *explain = report->explain;
    char mean[CRN_FIGURE_SIZE], deviation[CRN_FIGURE_SIZE], min[CRN_FIGURE_SIZE],
        median[CRN_FIGURE_SIZE], max[CRN_FIGURE_SIZE], line[512];
    snprintf(line, sizeof line,
             "%" PRIu32 " %s: mean %s, standard deviation %s, from %s to %s, median %s",
             explain->count, report->latencies ? "results" : "spans",
             crn_texts_time(mean, explain->mean), crn_texts_time(deviation, explain->deviation),
             crn_texts_time(min, (double)explain->min), crn_texts_time(max, (double)explain->max),
             crn_texts_time(median, (double)explain->median));
    crn_terminal_wrapped(out, line);
    if (report->latencies) {
        if (explain->open) {
            snprintf(line, sizeof line, "left out: %" PRIu32 " open", explain->open);
            print_dim(out, line);
        }
    } else if (explain->nested || explain->open) {
        snprintf(line, sizeof line,
                 "left out: %" PRIu32 " inside another span of %.200s, %" PRIu32 " open",
                 explain->nested, report->block, explain->open);
        print_dim(out, line);
    }
    if (explain->outside) {
        snprintf(
            line, sizeof line,
            "%" PRIu64
            " children ran after their span had ended, or before it began: they are not counted",
            explain->outside);
        print_dim(out, line);
    }
}

void crn_explain_text(FILE *out, const crn_explain_report *report)
{
    crn_words words;
    crn_explain_answer(&words, report);
    crn_terminal_style(out, CRN_STYLE_TITLE);
    crn_terminal_wrapped(out, words.text);
    crn_terminal_style(out, CRN_STYLE_PLAIN);
    if (report->explain->variance > 0) {
        print_summary(out, report);
        if (report->latencies)
            print_stages(out, report);
        print_parts(out, report);
        print_factors(out, report);
        if (report->rest)
            print_rest(out, report->rest);
        print_slow(out, report);
        crn_explain_functions_text(out, report);
    }
    crn_span_source_warn(out, report->source);
}
