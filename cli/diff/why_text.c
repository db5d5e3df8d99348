/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/figure.h"
#include "cli/common/terminal.h"
#include "why.h"

enum { PATH_MOST = 8, SENTENCES = 3 };
#define SENTENCE_LEAST 0.05 /* share of the change below which a cause gets no sentence */

static const char *name_of(const crn_why *why, uint32_t block)
{
    return block == CRN_WHY_NONE ? "[root]" : why->blocks[block]->name;
}

static void write_count(FILE *out, double count)
{
    char figure[CRN_FIGURE_SIZE];
    if (count < 100 && fabs(count - round(count)) > 0.005)
        fprintf(out, "%.2f", count);
    else
        fputs(crn_figure_alone(figure, "", (uint64_t)llround(count)), out);
}

/* "10 to 30" */
static void write_counts(FILE *out, const double counts[CRN_SIDES])
{
    write_count(out, counts[CRN_BEFORE]);
    fputs(" to ", out);
    write_count(out, counts[CRN_AFTER]);
}

static void write_times(FILE *out, double ratio)
{
    if (ratio >= 1.995)
        fprintf(out, "%.*f times as often", ratio < 9.95 ? 1 : 0, ratio);
    else if (ratio >= 1)
        fprintf(out, "%.1f %% more often", 100 * (ratio - 1));
    else
        fprintf(out, "%.1f %% less often", 100 * (1 - ratio));
}

static void write_calls(FILE *out, const crn_why *why, const crn_why_cause *cause)
{
    double per_call[CRN_SIDES];
    bool same = true;
    for (int side = 0; side < CRN_SIDES; side++) {
        double callers = cause->caller_calls[side];
        per_call[side] = callers > 0 ? cause->calls[side] / callers : cause->calls[side];
        same &= fabs(callers - cause->caller_calls[CRN_BEFORE]) < 1e-9 * (callers + 1);
    }
    if (per_call[CRN_BEFORE] <= 0) {
        fprintf(out, "%s calls %s", name_of(why, cause->caller), name_of(why, cause->block));
        return;
    }
    fprintf(out, "%s calls %s ", name_of(why, cause->caller), name_of(why, cause->block));
    write_times(out, per_call[CRN_AFTER] / per_call[CRN_BEFORE]);
    fputs(same ? " (" : " in each of its own calls (", out);
    write_counts(out, same ? cause->calls : per_call);
    fputs(same ? " calls)" : " each)", out);
}

static void write_cost(FILE *out, const crn_why *why, const crn_why_cause *cause)
{
    double per_call[CRN_SIDES] = {0};
    bool known = true;
    for (int side = 0; side < CRN_SIDES; side++) {
        known &= cause->calls[side] > 0 && cause->cost[side] > 0;
        per_call[side] = known ? cause->cost[side] / cause->calls[side] : 0;
    }
    fprintf(out, "the self cost of %s %s", name_of(why, cause->block),
            cause->amount > 0 ? "grew" : "fell");
    if (known)
        fprintf(out, ": %+.1f %% a call", 100 * (per_call[CRN_AFTER] / per_call[CRN_BEFORE] - 1));
    else if (cause->cost[CRN_BEFORE] > 0)
        fprintf(out, ": %+.1f %%", 100 * (cause->cost[CRN_AFTER] / cause->cost[CRN_BEFORE] - 1));
}

static void write_moved(FILE *out, const crn_why *why, const crn_why_cause *cause)
{
    fprintf(out, "other functions call %s now, ", name_of(why, cause->block));
    if (cause->calls[CRN_BEFORE] > 0)
        write_times(out, cause->calls[CRN_AFTER] / cause->calls[CRN_BEFORE]);
    fputs(" (", out);
    write_counts(out, cause->calls);
    fputs(" calls)", out);
    uint32_t path[PATH_MOST];
    size_t count = crn_why_path(why, cause->context, path, PATH_MOST);
    if (count > 1)
        fprintf(out, ": %s does", name_of(why, path[count - 2]));
}

char *crn_why_sentence(const crn_why *why, const crn_why_cause *cause)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return strdup("");
    const char *name = name_of(why, cause->block), *caller = name_of(why, cause->caller);
    switch (cause->kind) {
    case CRN_WHY_COST:
        write_cost(out, why, cause);
        break;
    case CRN_WHY_CALLS:
        write_calls(out, why, cause);
        break;
    case CRN_WHY_MOVED:
        write_moved(out, why, cause);
        break;
    case CRN_WHY_CALLER_NEW:
        fprintf(out, "%s calls %s now", caller, name);
        break;
    case CRN_WHY_CALLER_GONE:
        fprintf(out, "%s no longer calls %s", caller, name);
        break;
    case CRN_WHY_NEW:
        fprintf(out, "%s is new, called by %s", name, caller);
        break;
    case CRN_WHY_GONE:
        fprintf(out, "%s is gone, which %s called", name, caller);
        break;
    }
    fclose(out);
    return text;
}

double crn_why_share(const crn_why *why, const crn_why_cause *cause)
{
    double change = why->total[CRN_AFTER] - why->total[CRN_BEFORE];
    double share = change != 0 ? cause->amount / change : 0;
    return fabs(share) < 0.005 ? 0 : share; /* prints no -0 % */
}

static void write_amount(FILE *out, const crn_why_report *report, double amount)
{
    char figure[CRN_FIGURE_SIZE];
    fprintf(out, "%s%s", amount < 0 ? "-" : "+",
            crn_figure_alone(figure, report->unit, (uint64_t)llround(fabs(amount))));
}

/* Returns false for ticks, calls and other metrics that should be equal in all runs. */
static bool is_clock(const crn_why_report *report)
{
    return strcmp(report->unit, CRN_UNIT_TIME) == 0;
}

static void print_total(FILE *out, const crn_why_report *report)
{
    const crn_why *why = report->why;
    const double *total = why->total;
    char before[CRN_FIGURE_SIZE], after[CRN_FIGURE_SIZE];
    fprintf(out, "%s to %s %s, ",
            crn_figure_alone(before, report->unit, (uint64_t)llround(total[CRN_BEFORE])),
            crn_figure_alone(after, report->unit, (uint64_t)llround(total[CRN_AFTER])),
            report->metric);
    write_amount(out, report, total[CRN_AFTER] - total[CRN_BEFORE]);
    if (total[CRN_BEFORE] > 0)
        fprintf(out, " (%+.1f %%)", 100 * (total[CRN_AFTER] / total[CRN_BEFORE] - 1));
    if (why->noise_known) {
        fputs("; 95 % interval ", out);
        write_amount(out, report, why->low);
        fputs(" to ", out);
        write_amount(out, report, why->high);
        fprintf(out, ", means of %zu and %zu runs", report->runs[CRN_BEFORE],
                report->runs[CRN_AFTER]);
    }
    fputs(".\n", out);
    if (!why->noise_known && is_clock(report))
        fputs("One run on a side: how much runs differ by themselves is not known. Give several.\n",
              out);
    if (why->estimated)
        fputs("Call paths are estimated from the numbers of calls by caller: no paths were "
              "recorded.\n",
              out);
    if (why->chance)
        fprintf(out, "This is no change: the %s explains it.\n",
                why->noise_known ? "noise between runs" : "chance of sampling");
}

static bool gets_sentence(const crn_why *why, const crn_why_cause *cause)
{
    return !cause->chance && fabs(crn_why_share(why, cause)) >= SENTENCE_LEAST;
}

static void print_sentences(FILE *out, const crn_why_report *report)
{
    const crn_why *why = report->why;
    size_t said = 0;
    for (size_t i = 0; !why->chance && i < why->cause_count && said < SENTENCES; i++) {
        const crn_why_cause *cause = &why->causes[i];
        if (!gets_sentence(why, cause))
            continue;
        char *sentence = crn_why_sentence(why, cause);
        crn_terminal_text(out, sentence, 0, false);
        fputs(": ", out);
        write_amount(out, report, cause->amount);
        fprintf(out, ", %.0f %% of the change.\n", 100 * crn_why_share(why, cause));
        free(sentence);
        said++;
    }
}

static void print_path(FILE *out, const crn_why *why, const crn_why_cause *cause)
{
    uint32_t path[PATH_MOST];
    size_t count = crn_why_path(why, cause->context, path, PATH_MOST);
    fputs("            ", out);
    if (count == PATH_MOST)
        fprintf(out, "%s ", crn_terminal_get()->glyphs->ellipsis);
    for (size_t i = 0; i < count; i++) {
        if (i)
            fprintf(out, " %s ", crn_terminal_get()->glyphs->arrow);
        crn_terminal_text(out, name_of(why, path[i]), 0, false);
    }
    putc('\n', out);
}

/* Returns how many causes, sorted by size, to print: all; or with a limit, those with a share that
 * is not 0, but at least one. */
static size_t rows_shown(const crn_why_report *report)
{
    const crn_why *why = report->why;
    size_t shown = 0;
    while (shown < why->cause_count &&
           (!report->top ||
            (shown < report->top && (!shown || crn_why_share(why, &why->causes[shown]) != 0))))
        shown++;
    return shown;
}

static void print_causes(FILE *out, const crn_why_report *report)
{
    const crn_why *why = report->why;
    size_t shown = rows_shown(report);
    if (shown)
        fprintf(out, "\n    change  share  cause\n");
    for (size_t i = 0; i < shown; i++) {
        const crn_why_cause *cause = &why->causes[i];
        char figure[CRN_FIGURE_SIZE], amount[CRN_FIGURE_SIZE + 2];
        snprintf(amount, sizeof amount, "%s%s%s", cause->chance ? "~" : "",
                 cause->amount < 0 ? "-" : "+",
                 crn_figure_alone(figure, report->unit, (uint64_t)llround(fabs(cause->amount))));
        char *sentence = crn_why_sentence(why, cause);
        crn_terminal_style(out, cause->chance ? CRN_STYLE_DIM : CRN_STYLE_PLAIN);
        fprintf(out, "%10s %4.0f %%  ", amount, 100 * crn_why_share(why, cause));
        crn_terminal_text(out, sentence, 0, false);
        crn_terminal_style(out, CRN_STYLE_DIM);
        if (cause->half > 0)
            fprintf(out, " (95 %% interval: +/- %s)",
                    crn_figure_alone(figure, report->unit, (uint64_t)llround(cause->half)));
        putc('\n', out);
        print_path(out, why, cause);
        crn_terminal_style(out, CRN_STYLE_PLAIN);
        free(sentence);
    }
    if (shown < why->cause_count)
        fprintf(out, "%zu more: --top 0 shows all\n", why->cause_count - shown);
    for (size_t i = 0; i < shown; i++)
        if (why->causes[i].chance) {
            fputs("~: within the noise\n", out);
            break;
        }
}

static void print_matches(FILE *out, const crn_why *why)
{
    for (size_t i = 0; i < why->match_count; i++) {
        const crn_why_match *match = &why->matches[i];
        fputs(i ? "        " : "\nrenamed ", out);
        crn_terminal_text(out, match->before->name, 0, false);
        fputs(" is taken for ", out);
        crn_terminal_text(out, match->after->name, 0, false);
        fprintf(out, " (%.0f %% alike)\n", 100 * match->likeness);
    }
}

void crn_why_text(FILE *out, const crn_why_report *report)
{
    crn_diff_warnings_text(out, &report->captures);
    print_total(out, report);
    print_sentences(out, report);
    print_causes(out, report);
    if (!report->why->calls)
        fputs("Calls were not counted on both sides: all is cost.\n", out);
    print_matches(out, report->why);
}
