/* SPDX-License-Identifier: MIT
 *
 * The tables of `cairn critical`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "cli/common/terminal.h"
#include "cli/common/texts.h"
#include "critical.h"

static double share_of(const crn_critical *critical, uint64_t time)
{
    uint64_t whole = critical->end - critical->start;
    return whole ? (double)time / (double)whole : 0;
}

static void print_answer(FILE *out, const crn_critical_report *report)
{
    const crn_critical *critical = report->critical;
    char time[CRN_FIGURE_SIZE], percent[CRN_FIGURE_SIZE];
    crn_words words = {.used = 0};
    words.text[0] = 0;
    crn_words_add(&words, "%s to the end of ",
                  crn_texts_time(time, (double)(critical->end - critical->start)));
    if (report->span == CRN_SPAN_NONE)
        crn_words_add(&words, "the recording");
    else
        crn_words_span(&words, report->source, report->span);
    for (uint32_t i = 0; i < 3 && i < critical->row_count; i++) {
        const crn_critical_row *row = &critical->rows[i];
        if (i && share_of(critical, row->time) < 0.005)
            break;
        crn_words_add(&words, "%s%.200s %s", i ? ", " : ". On the critical path: ",
                      report->source->profile->blocks[row->block].name,
                      crn_texts_percent(percent, share_of(critical, row->time)));
    }
    if (critical->idle)
        crn_words_add(&words, "; no recorded span %s",
                      crn_texts_percent(percent, share_of(critical, critical->idle)));
    crn_terminal_style(out, CRN_STYLE_TITLE);
    crn_terminal_wrapped(out, words.text);
    crn_terminal_style(out, CRN_STYLE_PLAIN);
    putc('\n', out);
}

/* ---- by block ---- */

static void print_rows(FILE *out, const crn_critical_report *report)
{
    const crn_critical *critical = report->critical;
    crn_texts texts = {.columns = 6,
                       .titles = {"on path", "%", "spans", "of", "self", "slack"},
                       .ranks = {0, 0, 3, 4, 2, 1}};
    char text[CRN_FIGURE_SIZE];
    uint32_t shown = critical->row_count < report->top ? critical->row_count : report->top;
    for (uint32_t i = 0; i < shown; i++) {
        const crn_critical_row *its = &critical->rows[i];
        crn_texts_row *row = crn_texts_add(&texts);
        crn_texts_cell(row, 0, "%s", its->time ? crn_texts_time(text, (double)its->time) : "-");
        crn_texts_share(row, 1, share_of(critical, its->time));
        crn_texts_cell(row, 2, its->on_path ? "%" PRIu32 : "-", its->on_path);
        crn_texts_cell(row, 3, "%" PRIu32, its->count);
        crn_texts_cell(row, 4, "%s", its->self ? crn_texts_time(text, (double)its->self) : "-");
        crn_texts_cell(row, 5, "%s",
                       its->slack == CRN_SLACK_ANY ? "any"
                       : its->slack                ? crn_texts_time(text, (double)its->slack)
                                                   : "none");
        row->block = report->source->profile->blocks[its->block];
    }
    if (critical->idle) {
        crn_texts_row *row = crn_texts_add(&texts);
        crn_texts_cell(row, 0, "%s", crn_texts_time(text, (double)critical->idle));
        crn_texts_share(row, 1, share_of(critical, critical->idle));
        for (size_t c = 2; c < 6; c++)
            crn_texts_cell(row, c, "-");
        snprintf(row->before, sizeof row->before, "(no recorded span)");
    }
    crn_texts_print(out, &texts, "span name");
    crn_terminal_style(out, CRN_STYLE_DIM);
    if (shown < critical->row_count)
        fprintf(out, "%" PRIu32 " more span name%s: --top 0 shows all\n",
                critical->row_count - shown, critical->row_count - shown == 1 ? "" : "s");
    crn_terminal_style(out, CRN_STYLE_PLAIN);
}

/* ---- step by step ---- */

static int compare_lengths(const void *left, const void *right, void *steps)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const crn_path_step *one = (const crn_path_step *)steps + a;
    const crn_path_step *other = (const crn_path_step *)steps + b;
    uint64_t its = one->end - one->start, others = other->end - other->start;
    return CRN_ORDER(others, its) ?: CRN_ORDER(a, b);
}

/* Returns, by step, 1 if it is one of the `top` longest. Free it with crn_free. */
static uint8_t *choose_steps(const crn_critical_report *report)
{
    const crn_critical *critical = report->critical;
    uint32_t count = critical->step_count;
    uint8_t *shown = crn_calloc(count + (size_t)1, 1);
    uint32_t *order = crn_calloc(count + (size_t)1, sizeof *order);
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    qsort_r(order, count, sizeof *order, compare_lengths, critical->steps);
    for (uint32_t i = 0; i < count && i < report->top; i++)
        shown[order[i]] = 1;
    crn_free(order);
    return shown;
}

/* Describes a step in which no span ran. The way in which the next step begins tells why. */
static const char *nothing(const crn_critical *critical, uint32_t at)
{
    static const char *const because[] = {
        [CRN_VIA_BEGIN] = "",
        [CRN_VIA_LANE] = "(no recorded span)",
        [CRN_VIA_HANDOFF] = "(handed off, not yet begun)",
        [CRN_VIA_WAIT] = "(ended, the waiting span has not continued yet)",
        [CRN_VIA_FOLLOWS] = "(ended, the following span has not begun yet)"};
    if (critical->steps[at].via == CRN_VIA_BEGIN)
        return "(before the first known event)";
    return at + 1 < critical->step_count ? because[critical->steps[at + 1].via] : "";
}

static void describe(crn_words *words, const crn_critical_report *report, uint32_t at)
{
    const crn_path_step *step = &report->critical->steps[at];
    static const char *const vias[] = {[CRN_VIA_BEGIN] = "",
                                       [CRN_VIA_LANE] = "",
                                       [CRN_VIA_HANDOFF] = "handed off: ",
                                       [CRN_VIA_WAIT] = "waits for: ",
                                       [CRN_VIA_FOLLOWS] = "follows: "};
    const crn_span_source *source = report->source;
    if (step->span == CRN_SPAN_NONE) {
        crn_words_add(words, "%s", nothing(report->critical, at));
        return;
    }
    crn_words_add(words, "%s", vias[step->via]);
    crn_words_span(words, source, step->span);
    uint32_t parent = source->trace->spans[step->span].parent;
    if (parent == CRN_SPAN_NONE)
        return;
    crn_words_add(words, "  in ");
    crn_words_path(words, source, parent);
}

static void add_hidden(crn_texts *texts, const crn_critical *critical, uint32_t from, uint32_t upto)
{
    char text[CRN_FIGURE_SIZE];
    uint64_t start = critical->steps[from].start;
    crn_texts_row *row = crn_texts_add(texts);
    crn_texts_cell(row, 0, "%s", crn_texts_time(text, (double)start));
    crn_texts_cell(row, 1, "%s",
                   crn_texts_time(text, (double)(critical->steps[upto - 1].end - start)));
    crn_texts_share(row, 2, share_of(critical, critical->steps[upto - 1].end - start));
    for (size_t c = 0; c < 3; c++)
        row->styles[c] = CRN_STYLE_DIM;
    snprintf(row->before, sizeof row->before, "%s %" PRIu32 " shorter step%s",
             crn_terminal_get()->glyphs->ellipsis, upto - from, upto - from == 1 ? "" : "s");
}

static void put_lane(crn_texts_row *row, const crn_critical_report *report,
                     const crn_path_step *step)
{
    enum { LONGEST = 16 };
    const crn_trace *trace = report->source->trace;
    if (step->span != CRN_SPAN_NONE)
        crn_terminal_fit(row->cells[3], CRN_TEXTS_CELL, trace->lanes[trace->spans[step->span].lane],
                         LONGEST, false);
}

static void print_path(FILE *out, const crn_critical_report *report)
{
    const crn_critical *critical = report->critical;
    crn_texts texts = {.columns = 4, .titles = {"at", "for", "%", "lane"}, .ranks = {1, 0, 0, 2}};
    char text[CRN_FIGURE_SIZE];
    uint8_t *shown = choose_steps(report);
    for (uint32_t i = 0; i < critical->step_count;) {
        const crn_path_step *step = &critical->steps[i];
        if (!shown[i]) {
            uint32_t from = i;
            while (i < critical->step_count && !shown[i])
                i++;
            add_hidden(&texts, critical, from, i);
            continue;
        }
        crn_texts_row *row = crn_texts_add(&texts);
        crn_words words = {.used = 0};
        words.text[0] = 0;
        describe(&words, report, i);
        crn_texts_cell(row, 0, "%s", crn_texts_time(text, (double)step->start));
        crn_texts_cell(row, 1, "%s", crn_texts_time(text, (double)(step->end - step->start)));
        crn_texts_share(row, 2, share_of(critical, step->end - step->start));
        put_lane(row, report, step);
        snprintf(row->before, sizeof row->before, "%.511s", words.text);
        i++;
    }
    crn_free(shown);
    crn_texts_print(out, &texts, "the critical path");
    if (critical->step_count > report->top) {
        crn_terminal_style(out, CRN_STYLE_DIM);
        fprintf(out, "the %" PRIu32 " longest of %" PRIu32 " steps: --top 0 shows all\n",
                report->top, critical->step_count);
        crn_terminal_style(out, CRN_STYLE_PLAIN);
    }
}

void crn_critical_text(FILE *out, const crn_critical_report *report)
{
    print_answer(out, report);
    if (report->path)
        print_path(out, report);
    else
        print_rows(out, report);
    if (report->critical->ignored) {
        crn_terminal_style(out, CRN_STYLE_WARM);
        fprintf(out, "%" PRIu64 " edge%s back in time or in a cycle: ignored\n",
                report->critical->ignored, report->critical->ignored == 1 ? " leads" : "s lead");
        crn_terminal_style(out, CRN_STYLE_PLAIN);
    }
    crn_span_source_warn(out, report->source);
}
