/* SPDX-License-Identifier: MIT
 *
 * What goes with durations: attributes, iteration numbers, who called, and where it ran.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/span.h>

#include "analysis/explain_factors.h"
#include "base/memory.h"

/* Chance explains one factor in a hundred this well, however many are tried (Bonferroni). */
static const double LIKELY_CHANCE = 0.01;
enum { NO_FACTOR = -1 };

/* What has children in the list. */
typedef struct parent {
    uint32_t span;
    uint32_t first, count;  /* its children, of factors.children */
    uint32_t slow, typical; /* as many of them are */
} parent;

typedef struct factors {
    const crn_explained *explained;
    crn_explain *explain;
    crn_factor *all;
    uint32_t count, room;
    /* By key, of an attribute: twice two, as it can be a number here and a text there, the
     * span's or its parent's. */
    int32_t (*by_key)[4];
    uint32_t *key; /* by key, the first of that name */
    parent *parents;
    uint32_t parent_count;
    uint32_t *children; /* places in the list */
} factors;

static double duration_at(const crn_explained *explained, uint32_t place)
{
    return (double)crn_span_duration(explained->spans, explained->list[place]);
}

/* ---- data ---- */

static int32_t add_factor(factors *factors, crn_factor_kind kind, const char *name, bool number)
{
    if (factors->count == factors->room) {
        factors->room = factors->room ? factors->room * 2 : 16;
        factors->all = crn_realloc(factors->all, factors->room, sizeof *factors->all);
    }
    factors->all[factors->count] =
        (crn_factor){.shown = {.kind = kind, .name = name, .number = number}};
    return (int32_t)factors->count++;
}

/* Of a key that a span gives twice the first counts. */
static void add_datum(factors *factors, int32_t to, uint32_t place, double number, const char *text)
{
    crn_factor *factor = &factors->all[to];
    if (factor->last == place + 1 || (!text && !isfinite(number)))
        return;
    if (factor->count == factor->room) {
        factor->room = factor->room ? factor->room * 2 : 64;
        factor->data = crn_realloc(factor->data, factor->room, sizeof *factor->data);
    }
    factor->data[factor->count++] =
        (crn_factor_datum){number, text, duration_at(factors->explained, place), place};
    factor->last = place + 1;
}

static void add_attributes(factors *factors, uint32_t place, uint32_t span, crn_factor_kind kind)
{
    const crn_trace *trace = factors->explained->spans->trace;
    uint32_t count;
    const crn_attribute *attribute = crn_trace_attributes(trace, span, &count);
    for (; count; count--, attribute++) {
        bool text = attribute->kind == CRN_ATTRIBUTE_TEXT;
        uint32_t key = factors->key[attribute->key];
        int32_t *its = &factors->by_key[key][(kind == CRN_FACTOR_PARENT_ATTRIBUTE) * 2 + text];
        if (*its == NO_FACTOR)
            *its = add_factor(factors, kind, trace->keys[key], !text);
        double number = attribute->kind == CRN_ATTRIBUTE_INTEGER ? (double)attribute->value.integer
                        : text                                   ? 0
                                                                 : attribute->value.number;
        add_datum(factors, *its, place, number, text ? attribute->value.text : NULL);
    }
}

static int compare_keys(const void *left, const void *right)
{
    const char *const *const *a = left, *const *const *b = right;
    if (**a != **b)
        return (uintptr_t) * *a < (uintptr_t) * *b ? -1 : 1;
    return *a < *b ? -1 : *a > *b;
}

/* Keys can share a name, which is interned: the first of that name stands for all. */
static void find_keys(factors *factors)
{
    const crn_trace *trace = factors->explained->spans->trace;
    const char ***sorted = crn_calloc(trace->key_count + (size_t)1, sizeof *sorted);
    factors->key = crn_calloc(trace->key_count + (size_t)1, sizeof *factors->key);
    factors->by_key = crn_calloc(trace->key_count + (size_t)1, sizeof *factors->by_key);
    for (uint32_t k = 0; k < trace->key_count; k++) {
        sorted[k] = &trace->keys[k];
        for (int i = 0; i < 4; i++)
            factors->by_key[k][i] = NO_FACTOR;
    }
    if (trace->key_count)
        qsort((void *)sorted, trace->key_count, sizeof *sorted, compare_keys);
    for (uint32_t k = 0; k < trace->key_count; k++) {
        bool again = k && *sorted[k] == *sorted[k - 1];
        uint32_t own = (uint32_t)(sorted[k] - trace->keys);
        factors->key[own] = again ? factors->key[sorted[k - 1] - trace->keys] : own;
    }
    crn_free((void *)sorted);
}

/* What is known of each span but attributes, one thing of it. */
static void add_standing(factors *factors, crn_factor_kind kind)
{
    const crn_explained *explained = factors->explained;
    const crn_trace *trace = explained->spans->trace;
    bool number = kind == CRN_FACTOR_ITERATION || kind == CRN_FACTOR_PARENT_ITERATION;
    int32_t to = add_factor(factors, kind, "", number);
    crn_factor *factor = &factors->all[to];
    factor->room = explained->count; /* at most: what is not filled is never touched */
    factor->data = crn_calloc((size_t)factor->room + 1, sizeof *factor->data);
    for (uint32_t i = 0; i < explained->count; i++) {
        const crn_span *span = &trace->spans[explained->list[i]];
        bool root = span->parent == CRN_SPAN_NONE;
        int64_t iteration = kind == CRN_FACTOR_ITERATION ? span->iteration
                            : root                       ? CAIRN_ITERATION_NONE
                                                         : trace->spans[span->parent].iteration;
        if (number && iteration != CAIRN_ITERATION_NONE)
            add_datum(factors, to, i, (double)iteration, NULL);
        else if (kind == CRN_FACTOR_LANE)
            add_datum(factors, to, i, span->lane, NULL);
        else if (kind == CRN_FACTOR_PARENT_BLOCK) /* a number here: see crn_factor_group */
            add_datum(factors, to, i, root ? 0 : crn_span_block(explained->spans, span->parent),
                      NULL);
    }
}

/* Children by their parent, without sorting. */
static void find_parents(factors *factors)
{
    const crn_explained *explained = factors->explained;
    const crn_trace *trace = explained->spans->trace;
    uint32_t *number = crn_calloc(trace->span_count + (size_t)1, sizeof *number); /* from 1 */
    factors->parents = crn_calloc(explained->count + (size_t)1, sizeof *factors->parents);
    factors->children = crn_calloc(explained->count + (size_t)1, sizeof *factors->children);
    for (uint32_t i = 0; i < explained->count; i++) {
        uint32_t span = trace->spans[explained->list[i]].parent;
        if (span == CRN_SPAN_NONE)
            continue;
        if (!number[span]) {
            factors->parents[factors->parent_count++].span = span;
            number[span] = factors->parent_count;
        }
        parent *parent = &factors->parents[number[span] - 1];
        parent->count++;
        parent->slow += explained->slow[i] != 0;
        parent->typical += explained->typical[i] != 0;
    }
    for (uint32_t p = 0, first = 0; p < factors->parent_count; p++) {
        factors->parents[p].first = first;
        first += factors->parents[p].count;
        factors->parents[p].count = 0;
    }
    for (uint32_t i = 0; i < explained->count; i++) {
        uint32_t span = trace->spans[explained->list[i]].parent;
        if (span == CRN_SPAN_NONE)
            continue;
        parent *parent = &factors->parents[number[span] - 1];
        factors->children[parent->first + parent->count++] = i;
    }
    crn_free(number);
}

static void gather_attributes(factors *factors)
{
    const crn_explained *explained = factors->explained;
    if (!explained->spans->trace->attribute_count)
        return;
    find_keys(factors);
    for (uint32_t i = 0; i < explained->count; i++)
        add_attributes(factors, i, explained->list[i], CRN_FACTOR_ATTRIBUTE);
    find_parents(factors);
    for (uint32_t p = 0; p < factors->parent_count; p++)
        add_attributes(factors, p, factors->parents[p].span, CRN_FACTOR_PARENT_ATTRIBUTE);
}

/* What parents have becomes what each of their children has. */
static void pass_on(const factors *factors, crn_factor *factor)
{
    uint32_t count = 0;
    for (uint32_t d = 0; d < factor->count; d++)
        count += factors->parents[factor->data[d].place].count;
    crn_factor_datum *all = crn_calloc(count + (size_t)1, sizeof *all);
    count = 0;
    for (uint32_t d = 0; d < factor->count; d++) {
        const parent *parent = &factors->parents[factor->data[d].place];
        for (uint32_t c = 0; c < parent->count; c++) {
            uint32_t place = factors->children[parent->first + c];
            all[count] = factor->data[d];
            all[count].duration = duration_at(factors->explained, place);
            all[count++].place = place;
        }
    }
    crn_free(factor->data);
    factor->data = all;
    factor->count = count;
}

/* One value for all, of parents: children are as many times attributes, and need not be looked at
 * one by one. */
static bool is_constant(const crn_factor *factor)
{
    for (uint32_t d = 1; d < factor->count; d++)
        if (!crn_factor_is_alike(&factor->data[d], &factor->data[0]))
            return false;
    return factor->count > 0;
}

static void show_constant(const factors *factors, crn_factor *factor)
{
    crn_explain_factor *shown = &factor->shown;
    const crn_factor_datum *value = &factor->data[0];
    uint32_t slow = 0, typical = 0;
    for (uint32_t d = 0; d < factor->count; d++) {
        const parent *parent = &factors->parents[factor->data[d].place];
        shown->count += parent->count;
        slow += parent->slow;
        typical += parent->typical;
    }
    shown->values = 1;
    shown->chance = 1;
    shown->verdict = CRN_VERDICT_CONSTANT;
    if (slow) {
        shown->common = value->text;
        shown->common_number = value->number;
    }
    shown->slow = !slow ? NAN : shown->number ? value->number : 1;
    shown->typical = !typical ? NAN : shown->number ? value->number : slow ? 1 : 0;
}

/* ---- all of it ---- */

static int compare_factors(const void *left, const void *right)
{
    const crn_explain_factor *a = left, *b = right;
    if (a->verdict != b->verdict)
        return a->verdict < b->verdict ? -1 : 1;
    if (a->explained != b->explained)
        return a->explained > b->explained ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    int order = strcmp(a->name, b->name);
    return order ? order : (int)a->number - (int)b->number;
}

static void judge(factors *factors, uint32_t place)
{
    crn_factor *factor = &factors->all[place];
    bool of_parents = factor->shown.kind == CRN_FACTOR_PARENT_ATTRIBUTE;
    if (of_parents && is_constant(factor)) {
        show_constant(factors, factor);
    } else {
        if (of_parents)
            pass_on(factors, factor);
        crn_factor_judge(factor);
        crn_factor_compare_slow(factors->explained, factor);
    }
    crn_free(factor->data);
    factor->data = NULL;
}

void crn_explain_factors(crn_explain *explain, const crn_explained *explained)
{
    static const crn_factor_kind standing[] = {CRN_FACTOR_ITERATION, CRN_FACTOR_PARENT_ITERATION,
                                               CRN_FACTOR_PARENT_BLOCK, CRN_FACTOR_LANE};
    factors factors = {.explained = explained, .explain = explain};
    /* One after the other, as each takes as much as the spans that are explained. */
    for (size_t i = 0; i < sizeof standing / sizeof *standing; i++) {
        add_standing(&factors, standing[i]);
        judge(&factors, (uint32_t)i);
    }
    uint32_t judged = factors.count, tried = 0;
    gather_attributes(&factors);
    for (uint32_t f = judged; f < factors.count; f++)
        judge(&factors, f);
    explain->factors = crn_calloc(factors.count + (size_t)1, sizeof *explain->factors);
    for (uint32_t f = 0; f < factors.count; f++)
        tried += factors.all[f].shown.verdict == CRN_VERDICT_CHANCE;
    for (uint32_t f = 0; f < factors.count; f++) {
        crn_factor *factor = &factors.all[f];
        if (factor->shown.verdict == CRN_VERDICT_CHANCE &&
            factor->shown.chance * tried < LIKELY_CHANCE)
            factor->shown.verdict = CRN_VERDICT_EXPLAINS;
        if (factor->count)
            explain->factors[explain->factor_count++] = factor->shown;
    }
    qsort(explain->factors, explain->factor_count, sizeof *explain->factors, compare_factors);
    crn_free(factors.all);
    crn_free(factors.by_key);
    crn_free(factors.parents);
    crn_free(factors.children);
    crn_free(factors.key);
}
