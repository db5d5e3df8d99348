/* SPDX-License-Identifier: MIT
 *
 * Finds which factors explain durations: attributes, iteration numbers, parents, lanes. For
 * attributes, a first pass counts the spans of each; later passes collect the spans of some at a
 * time.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/span.h>

#include "base/memory.h"
#include "base/order.h"
#include "explain/variance_factors.h"

/* Significance level for all tested factors together (Bonferroni). */
static const double LIKELY_CHANCE = 0.01;
enum { NO_FACTOR = -1 };

/* Limit on spans collected in one pass. A single factor may exceed it. */
enum { AT_ONCE = 1 << 20 };

/* An attribute that may become a factor, before its spans are collected. */
typedef struct candidate {
    crn_factor factor;
    uint32_t count, last; /* number of spans with the attribute; number + 1 of the last of these */
    uint32_t first;       /* first such attribute of the trace */
    uint32_t slow, typical; /* number of slow and of typical spans with it */
    bool differs;           /* it has several values */
} candidate;

typedef struct factors {
    const crn_explained *explained;
    const crn_trace *trace;
    uint32_t judged, room; /* judged: candidates judged so far; room: capacity of `shown` */
    crn_explain_factor *shown;
    uint32_t count, candidate_room;
    candidate *candidates;
    /* by key: candidates for [span or parent] x [number or text] */
    int32_t (*by_key)[4];
    uint32_t *key; /* by key: the first key with the same name */
} factors;

static void show(factors *factors, const crn_explain_factor *shown)
{
    CRN_GROW(factors->shown, factors->judged, factors->room);
    factors->shown[factors->judged++] = *shown;
}

static void judge(factors *factors, crn_factor *factor)
{
    crn_factor_sort(factor);
    crn_factor_judge(factor);
    crn_factor_compare_slow(factor);
    if (factor->count)
        show(factors, &factor->shown);
    crn_free(factor->spans);
    crn_free(factor->attributes);
    crn_free(factor->begins);
    factor->spans = factor->attributes = NULL;
    factor->begins = NULL;
}

/* ---- factors that are no attributes ---- */

static void judge_non_attribute(factors *factors, crn_factor_kind kind)
{
    const crn_explained *explained = factors->explained;
    bool number = kind == CRN_FACTOR_ITERATION || kind == CRN_FACTOR_PARENT_ITERATION;
    crn_factor factor = {.shown = {.kind = kind, .name = "", .number = number},
                         .explained = explained,
                         .spans = crn_calloc(explained->count + (size_t)1, sizeof *factor.spans)};
    CRN_EACH_EXPLAINED(s, explained)
    {
        const crn_span *span = &factors->trace->spans[s];
        int64_t iteration = kind == CRN_FACTOR_ITERATION ? span->iteration
                            : span->parent == CRN_SPAN_NONE
                                ? CAIRN_ITERATION_NONE
                                : factors->trace->spans[span->parent].iteration;
        if (!number || iteration != CAIRN_ITERATION_NONE)
            factor.spans[factor.count++] = s;
    }
    judge(factors, &factor);
}

/* ---- attributes ---- */

static int compare_keys(const void *left, const void *right)
{
    const char *const *const *a = left, *const *const *b = right;
    return CRN_ORDER((uintptr_t) * *a, (uintptr_t) * *b) ?: CRN_ORDER(*a, *b);
}

/* Maps keys to the first key with the same (interned) name. */
static void find_keys(factors *factors)
{
    const crn_trace *trace = factors->trace;
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

static candidate *candidate_of(factors *factors, const crn_attribute *attribute, bool of_parent)
{
    bool text = attribute->kind == CRN_ATTRIBUTE_TEXT;
    uint32_t key = factors->key[attribute->key];
    int32_t *its = &factors->by_key[key][of_parent * 2 + text];
    if (*its == NO_FACTOR) {
        CRN_GROW(factors->candidates, factors->count, factors->candidate_room);
        *its = (int32_t)factors->count;
        crn_explain_factor shown = {.kind = of_parent ? CRN_FACTOR_PARENT_ATTRIBUTE
                                                      : CRN_FACTOR_ATTRIBUTE,
                                    .name = factors->trace->keys[key],
                                    .number = !text};
        factors->candidates[factors->count++] =
            (candidate){.factor = {.shown = shown, .explained = factors->explained}};
    }
    return &factors->candidates[*its];
}

static double number_of(const crn_attribute *attribute)
{
    return attribute->kind == CRN_ATTRIBUTE_INTEGER ? (double)attribute->value.integer
           : attribute->kind == CRN_ATTRIBUTE_TEXT  ? 0
                                                    : attribute->value.number;
}

static bool is_alike(const crn_attribute *left, const crn_attribute *right)
{
    if (left->kind == CRN_ATTRIBUTE_TEXT)
        return left->value.text == right->value.text ||
               strcmp(left->value.text, right->value.text) == 0;
    return number_of(left) == number_of(right);
}

/* Returns true for a span's first finite attribute of the candidate; later ones do not count. */
static bool is_new(candidate *candidate, uint32_t span, const crn_attribute *attribute)
{
    if (candidate->last == span + 1 || !isfinite(number_of(attribute)))
        return false;
    candidate->last = span + 1;
    return true;
}

static void count_span(const factors *factors, candidate *candidate, uint32_t span,
                       const crn_attribute *attribute)
{
    const crn_attribute *all = factors->trace->attributes;
    if (!candidate->count)
        candidate->first = (uint32_t)(attribute - all);
    candidate->count++;
    candidate->slow += crn_bits_has(factors->explained->slow, span);
    candidate->typical += crn_bits_has(factors->explained->typical, span);
    candidate->differs = candidate->differs || !is_alike(attribute, &all[candidate->first]);
}

static void gather_span(const factors *factors, candidate *candidate, uint32_t span,
                        const crn_attribute *attribute)
{
    crn_factor *factor = &candidate->factor;
    if (!factor->spans)
        return;
    factor->spans[factor->count] = span;
    factor->attributes[factor->count++] = (uint32_t)(attribute - factors->trace->attributes);
}

/* Visits the attributes of explained spans, or of their parents: counts them, or with `gather`
 * collects those of candidates with allocated arrays. */
static void visit_attributes(factors *factors, bool of_parents, bool gather)
{
    const crn_attribute *attributes = NULL;
    uint32_t seen = CRN_SPAN_NONE, count = 0;
    CRN_EACH_EXPLAINED(s, factors->explained)
    {
        uint32_t bearer = of_parents ? factors->trace->spans[s].parent : s;
        if (bearer == CRN_SPAN_NONE)
            continue;
        if (bearer != seen)
            attributes = crn_trace_attributes(factors->trace, bearer, &count);
        seen = bearer;
        for (uint32_t a = 0; a < count; a++) {
            candidate *candidate = candidate_of(factors, &attributes[a], of_parents);
            if (!is_new(candidate, s, &attributes[a]))
                continue;
            if (gather)
                gather_span(factors, candidate, s, &attributes[a]);
            else
                count_span(factors, candidate, s, &attributes[a]);
        }
    }
}

/* Adds a factor with a single value. It needs no collected spans. */
static void add_constant(factors *factors, const candidate *candidate)
{
    crn_explain_factor shown = candidate->factor.shown;
    const crn_attribute *value = &factors->trace->attributes[candidate->first];
    const char *text = shown.number ? NULL : value->value.text;
    shown.count = candidate->count;
    shown.values = 1;
    shown.chance = 1;
    shown.verdict = CRN_VERDICT_CONSTANT;
    if (candidate->slow) {
        shown.common = text;
        shown.common_number = number_of(value);
    }
    bool slow = candidate->slow > 0;
    shown.slow = !slow ? NAN : shown.number ? number_of(value) : 1;
    shown.typical = !candidate->typical ? NAN : shown.number ? number_of(value) : slow ? 1 : 0;
    show(factors, &shown);
}

/* Collects and judges some candidates from `from` on. Returns the next candidate. */
static uint32_t judge_some(factors *factors, uint32_t from)
{
    uint64_t spans = 0;
    uint32_t to = from;
    bool own = false, of_parents = false;
    for (; to < factors->count; to++) {
        candidate *candidate = &factors->candidates[to];
        crn_factor *factor = &candidate->factor;
        if (spans && spans + candidate->count > AT_ONCE)
            break;
        if (!candidate->differs)
            continue;
        spans += candidate->count;
        factor->spans = crn_calloc(candidate->count, sizeof *factor->spans);
        factor->attributes = crn_calloc(candidate->count, sizeof *factor->attributes);
        bool parents = factor->shown.kind == CRN_FACTOR_PARENT_ATTRIBUTE;
        own |= !parents;
        of_parents |= parents;
    }
    for (uint32_t c = 0; c < factors->count; c++)
        factors->candidates[c].last = 0;
    if (own)
        visit_attributes(factors, false, true);
    if (of_parents)
        visit_attributes(factors, true, true);
    for (uint32_t c = from; c < to; c++) {
        candidate *candidate = &factors->candidates[c];
        if (candidate->differs)
            judge(factors, &candidate->factor);
        else if (candidate->count)
            add_constant(factors, candidate);
    }
    return to;
}

static void judge_attributes(factors *factors)
{
    if (!factors->trace->attribute_count)
        return;
    find_keys(factors);
    visit_attributes(factors, false, false);
    visit_attributes(factors, true, false);
    for (uint32_t next = 0; next < factors->count;)
        next = judge_some(factors, next);
}

/* ---- entry ---- */

static int compare_factors(const void *left, const void *right)
{
    const crn_explain_factor *a = left, *b = right;
    return CRN_ORDER(a->verdict, b->verdict)
               ?: CRN_ORDER(b->explained, a->explained)
               ?: CRN_ORDER(a->kind, b->kind)
               ?: strcmp(a->name, b->name)
               ?: CRN_ORDER(a->number, b->number);
}

void crn_explain_factors(crn_explain *explain, const crn_explained *explained)
{
    static const crn_factor_kind standing[] = {CRN_FACTOR_ITERATION, CRN_FACTOR_PARENT_ITERATION,
                                               CRN_FACTOR_PARENT_BLOCK, CRN_FACTOR_LANE};
    factors factors = {.explained = explained, .trace = explained->spans->trace};
    uint32_t tried = 0;
    for (size_t i = 0; i < sizeof standing / sizeof *standing; i++)
        judge_non_attribute(&factors, standing[i]);
    judge_attributes(&factors);
    for (uint32_t f = 0; f < factors.judged; f++)
        tried += factors.shown[f].verdict == CRN_VERDICT_CHANCE;
    for (uint32_t f = 0; f < factors.judged; f++) {
        crn_explain_factor *shown = &factors.shown[f];
        if (shown->verdict == CRN_VERDICT_CHANCE && shown->chance * tried < LIKELY_CHANCE)
            shown->verdict = CRN_VERDICT_EXPLAINS;
    }
    if (factors.judged)
        qsort(factors.shown, factors.judged, sizeof *factors.shown, compare_factors);
    explain->factors = factors.shown;
    explain->factor_count = factors.judged;
    crn_free(factors.candidates);
    crn_free(factors.by_key);
    crn_free(factors.key);
}
