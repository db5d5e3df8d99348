/* SPDX-License-Identifier: MIT
 *
 * The sentences of `cairn explain`.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/common/texts.h"
#include "explain.h"

/* Parts are named as causes, at most CAUSES, until they add up to ENOUGH of the variance. Each
 * after the first has at least LEAST. */
static const double ENOUGH = 0.75, LEAST = 0.1;
/* Share of the variance from which a factor is mentioned. */
static const double FACTOR_LEAST = 0.1;
/* Share of the mean below which a standard deviation is called small. */
static const double HARDLY = 0.01;
enum { CAUSES = 3, FACTORS = 2 }; /* limits on causes and factors in a sentence */

static const char *name_of(const crn_explain_report *report, uint32_t block)
{
    return report->source->profile->blocks[block].name;
}

void crn_explain_part_words(crn_words *words, const crn_explain_report *report,
                            const crn_explain_part *part)
{
    const char *name = name_of(report, part->block);
    switch (part->kind) {
    case CRN_EXPLAIN_NUMBER:
        crn_words_add(words, "its calls of %.200s", name);
        break;
    case CRN_EXPLAIN_DURATION:
        crn_words_add(words, "how long %.200s takes", name);
        break;
    case CRN_EXPLAIN_OVERLAP:
        crn_words_add(words, "how much %.200s overlaps with others", name);
        break;
    case CRN_EXPLAIN_WAITING:
        crn_words_add(words, "how long it waits");
        break;
    case CRN_EXPLAIN_READY:
        crn_words_add(words, "how long no core is free for it");
        break;
    case CRN_EXPLAIN_STAGE_QUEUE:
        crn_words_add(words, "how long work queues before %.200s", name);
        break;
    case CRN_EXPLAIN_STAGE_WORK:
        crn_words_add(words, "how long %.200s works", name);
        break;
    case CRN_EXPLAIN_STAGE_WAIT:
        crn_words_add(words, "how long %.200s waits", name);
        break;
    default:
        crn_words_add(words, report->explain->has_cpu ? "its work" : "its self time");
        break;
    }
}

void crn_explain_factor_words(crn_words *words, const crn_explain_factor *factor)
{
    switch (factor->kind) {
    case CRN_FACTOR_ATTRIBUTE:
        crn_words_add(words, "%.64s", factor->name);
        break;
    case CRN_FACTOR_PARENT_ATTRIBUTE:
        crn_words_add(words, "%.64s of its parent", factor->name);
        break;
    case CRN_FACTOR_ITERATION:
        crn_words_add(words, "iteration");
        break;
    case CRN_FACTOR_PARENT_ITERATION:
        crn_words_add(words, "iteration of its parent");
        break;
    case CRN_FACTOR_PARENT_BLOCK:
        crn_words_add(words, "its parent");
        break;
    default:
        crn_words_add(words, "the lane that it ran on");
        break;
    }
}

void crn_explain_group_words(crn_words *words, const crn_explain_report *report,
                             const crn_explain_factor *factor, const crn_factor_group *group)
{
    char low[CRN_FIGURE_SIZE], high[CRN_FIGURE_SIZE];
    const crn_trace *trace = report->source->trace;
    switch (factor->kind) {
    case CRN_FACTOR_ATTRIBUTE:
    case CRN_FACTOR_PARENT_ATTRIBUTE:
        crn_words_add(words, "with %.64s = ", factor->name);
        break;
    case CRN_FACTOR_ITERATION:
    case CRN_FACTOR_PARENT_ITERATION:
        crn_words_add(words, group->low == group->high ? "in iteration " : "in iterations ");
        break;
    default:
        crn_words_add(words, factor->kind == CRN_FACTOR_LANE ? "on " : "below ");
        break;
    }
    if (group->text)
        crn_words_add(words, "%.200s", group->text);
    else if (factor->kind == CRN_FACTOR_PARENT_BLOCK)
        crn_words_add(words, "%.200s",
                      group->low > 0 ? name_of(report, (uint32_t)group->low) : "no parent");
    else if (factor->kind == CRN_FACTOR_LANE && *trace->lanes[(uint32_t)group->low])
        crn_words_add(words, "%.200s", trace->lanes[(uint32_t)group->low]);
    else if (group->low == group->high)
        crn_words_add(words, "%s", crn_texts_number(low, group->low));
    else
        crn_words_add(words, "%s to %s", crn_texts_number(low, group->low),
                      crn_texts_number(high, group->high));
}

/* ---- causes ---- */

const crn_explain_part *crn_explain_part_of(const crn_explain *explain, crn_explain_kind kind,
                                            uint32_t block)
{
    for (uint32_t p = 0; p < explain->part_count; p++)
        if (explain->parts[p].kind == kind && explain->parts[p].block == block)
            return &explain->parts[p];
    return NULL;
}

const crn_explain_factor *crn_explain_factor_of(const crn_explain *explain,
                                                const crn_explain_factor *factor)
{
    for (uint32_t f = 0; f < explain->factor_count; f++) {
        const crn_explain_factor *other = &explain->factors[f];
        if (other->kind == factor->kind && other->number == factor->number &&
            strcmp(other->name, factor->name) == 0)
            return other;
    }
    return NULL;
}

/* Formats a share of the variance: "all" above 99.5 %, "nothing" below 0.5 %. Parts can compensate
 * each other, so that one exceeds 100 % and another is negative. */
static const char *share_words(char text[CRN_FIGURE_SIZE], double share)
{
    return share > 0.995   ? strcpy(text, "all")
           : share < 0.005 ? strcpy(text, "nothing")
                           : crn_texts_percent(text, share);
}

/* Appends what one might expect to be the cause and is not, such as ", not how long g takes
 * (3 %)". */
static void add_contrast(crn_words *words, const crn_explain_report *report,
                         const crn_explain *explain)
{
    const crn_explain_part *first = explain->parts, *other = NULL;
    char percent[CRN_FIGURE_SIZE];
    if (first->kind == CRN_EXPLAIN_NUMBER || first->kind == CRN_EXPLAIN_DURATION)
        other = crn_explain_part_of(
            explain, first->kind == CRN_EXPLAIN_NUMBER ? CRN_EXPLAIN_DURATION : CRN_EXPLAIN_NUMBER,
            first->block);
    if (explain->has_cpu && (first->kind == CRN_EXPLAIN_SELF || first->kind == CRN_EXPLAIN_WAITING))
        other = crn_explain_part_of(
            explain, first->kind == CRN_EXPLAIN_SELF ? CRN_EXPLAIN_WAITING : CRN_EXPLAIN_SELF, 0);
    if (first->kind == CRN_EXPLAIN_SELF && !explain->has_cpu && explain->part_count > 1) {
        crn_words_add(words, ", not because of what it calls (%s)",
                      share_words(percent, 1 - first->share));
    } else if (other && other->share < LEAST) {
        crn_words_add(words, ", not ");
        crn_explain_part_words(words, report, other);
        crn_words_add(words, " (%s)", share_words(percent, other->share));
    }
}

static void add_causes(crn_words *words, const crn_explain_report *report,
                       const crn_explain *explain)
{
    char percent[CRN_FIGURE_SIZE];
    double sum = explain->parts[0].share;
    uint32_t causes = 1;
    while (causes < CAUSES && causes < explain->part_count && sum < ENOUGH &&
           explain->parts[causes].share >= LEAST)
        sum += explain->parts[causes++].share;
    for (uint32_t c = 0; c < causes; c++) {
        crn_words_add(words, c == 0 ? "" : c + 1 == causes ? " and " : ", ");
        crn_explain_part_words(words, report, &explain->parts[c]);
        crn_words_add(words, " (%s%s)", share_words(percent, explain->parts[c].share),
                      c == 0 ? " of the variance" : "");
    }
    if (causes == 1)
        add_contrast(words, report, explain);
    crn_words_add(words, ".");
}

/* ---- factors ---- */

void crn_explain_effect_words(crn_words *words, const crn_explain_report *report,
                              const crn_explain_factor *factor)
{
    char time[CRN_FIGURE_SIZE];
    if (factor->number && !factor->ranges) {
        crn_words_add(words, "%s %s per unit", crn_texts_time(time, fabs(factor->slope)),
                      factor->slope < 0 ? "less" : "more");
        return;
    }
    crn_words_add(words, "%s ", crn_texts_time(time, factor->slowest.mean));
    crn_explain_group_words(words, report, factor, &factor->slowest);
    crn_words_add(words, ", %s ", crn_texts_time(time, factor->fastest.mean));
    crn_explain_group_words(words, report, factor, &factor->fastest);
}

static bool is_worth_it(const crn_explain_factor *factor)
{
    return factor->verdict == CRN_VERDICT_EXPLAINS && factor->explained >= FACTOR_LEAST;
}

static void add_factor(crn_words *words, const crn_explain_report *report,
                       const crn_explain_factor *factor)
{
    char percent[CRN_FIGURE_SIZE];
    size_t at = words->used;
    crn_words_add(words, " ");
    crn_explain_factor_words(words, factor);
    if (factor->kind == CRN_FACTOR_LANE || factor->kind == CRN_FACTOR_PARENT_BLOCK)
        words->text[at + 1] = (char)(words->text[at + 1] - 'a' + 'A');
    crn_words_add(words, " explains %s of it: ", crn_texts_percent(percent, factor->explained));
    crn_explain_effect_words(words, report, factor);
    crn_words_add(words, ".");
}

static void add_factors(crn_words *words, const crn_explain_report *report,
                        const crn_explain *explain)
{
    for (uint32_t f = 0; f < explain->factor_count && f < FACTORS; f++)
        if (is_worth_it(&explain->factors[f]))
            add_factor(words, report, &explain->factors[f]);
}

/* Explains the variance of the rest: outliers can hide its cause. */
static void add_rest(crn_words *words, const crn_explain_report *report)
{
    const crn_explain *explain = report->explain, *rest = report->rest;
    if (!rest)
        return;
    if (explain->half == 1)
        crn_words_add(words, " One %s alone makes up half of the variance or more",
                      report->latencies ? "result" : "span");
    else
        crn_words_add(words, " %" PRIu32 " of the %" PRIu32 " %s make up half of the variance",
                      explain->half, explain->count, report->latencies ? "results" : "spans");
    if (!(rest->variance > 0)) {
        crn_words_add(words, "; without the slowest twentieth there is no variance.");
        return;
    }
    const crn_explain_part *first = explain->parts, *others = rest->parts;
    if (first->kind == others->kind && first->block == others->block && others->share >= 0.5) {
        char percent[CRN_FIGURE_SIZE];
        crn_words_add(words, "; without the slowest twentieth the cause is the same (%s).",
                      share_words(percent, others->share));
    } else {
        crn_words_add(words, "; without the slowest twentieth it varies because of ");
        add_causes(words, report, rest);
    }
    add_factors(words, report, rest);
}

/* ---- the answer ---- */

static bool nothing_to_say(crn_words *words, const crn_explain_report *report)
{
    const crn_explain *explain = report->explain;
    const char *what = report->latencies ? "result" : "span";
    char time[CRN_FIGURE_SIZE];
    if (explain->count == 0)
        crn_words_add(words, "No %s of %.200s has ended%s: nothing to compare.", what,
                      report->block, report->where ? " among the chosen ones" : "");
    else if (explain->count == 1)
        crn_words_add(words, "There is one %s of %.200s, of %s: nothing to compare it with.", what,
                      report->block, crn_texts_time(time, explain->mean));
    else if (!(explain->variance > 0))
        crn_words_add(words, "%.200s does not vary: each of its %" PRIu32 " %ss took %s.",
                      report->block, explain->count, what, crn_texts_time(time, explain->mean));
    else
        return false;
    return true;
}

void crn_explain_answer(crn_words *words, const crn_explain_report *report)
{
    const crn_explain *explain = report->explain;
    char percent[CRN_FIGURE_SIZE];
    words->text[words->used = 0] = 0;
    if (nothing_to_say(words, report))
        return;
    crn_words_add(words, "%.200s ", report->block);
    if (explain->deviation < HARDLY * explain->mean)
        crn_words_add(words, "hardly varies, by %s of its mean; it does ",
                      crn_texts_percent(percent, explain->deviation / explain->mean));
    else
        crn_words_add(words, "varies ");
    crn_words_add(words, "because of ");
    add_causes(words, report, explain);
    add_factors(words, report, explain);
    add_rest(words, report);
    crn_explain_add_functions(words, report);
}
