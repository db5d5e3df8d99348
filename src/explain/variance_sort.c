/* SPDX-License-Identifier: MIT
 *
 * Sorts a factor's spans by value in place: looks values up and swaps spans, which needs no memory
 * for values.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/span.h>

#include "base/order.h"
#include "explain/variance_factors.h"

/* ---- values ---- */

/* Returns a span's value of a factor other than an attribute. */
static double non_attribute_number(const crn_factor *factor, uint32_t number)
{
    const crn_trace *trace = factor->explained->spans->trace;
    const crn_span *span = &trace->spans[number];
    bool root = span->parent == CRN_SPAN_NONE;
    switch (factor->shown.kind) {
    case CRN_FACTOR_ITERATION:
        return (double)span->iteration;
    case CRN_FACTOR_PARENT_ITERATION:
        return (double)(root ? CAIRN_ITERATION_NONE : trace->spans[span->parent].iteration);
    case CRN_FACTOR_PARENT_BLOCK: /* a block number; see crn_factor_group */
        return root ? 0 : crn_span_block(factor->explained->spans, span->parent);
    default:
        return span->lane;
    }
}

double crn_factor_number(const crn_factor *factor, uint32_t at)
{
    if (!factor->attributes)
        return non_attribute_number(factor, factor->spans[at]);
    const crn_attribute *attribute =
        &factor->explained->spans->trace->attributes[factor->attributes[at]];
    return attribute->kind == CRN_ATTRIBUTE_INTEGER  ? (double)attribute->value.integer
           : attribute->kind == CRN_ATTRIBUTE_NUMBER ? attribute->value.number
                                                     : 0;
}

const char *crn_factor_text(const crn_factor *factor, uint32_t at)
{
    const crn_trace *trace = factor->explained->spans->trace;
    if (!factor->attributes || factor->shown.number)
        return NULL;
    return trace->attributes[factor->attributes[at]].value.text;
}

double crn_factor_duration(const crn_factor *factor, uint32_t at)
{
    return (double)crn_explained_length(factor->explained, factor->spans[at]);
}

static void swap(crn_factor *factor, uint32_t left, uint32_t right)
{
    uint32_t span = factor->spans[left];
    factor->spans[left] = factor->spans[right];
    factor->spans[right] = span;
    if (!factor->attributes)
        return;
    uint32_t attribute = factor->attributes[left];
    factor->attributes[left] = factor->attributes[right];
    factor->attributes[right] = attribute;
}

/* ---- texts: heapsort ---- */

static int compare_texts(const crn_factor *factor, uint32_t left, uint32_t right)
{
    const char *text = crn_factor_text(factor, left), *other = crn_factor_text(factor, right);
    int order = text == other ? 0 : strcmp(text, other);
    return order ?: CRN_ORDER(factor->spans[left], factor->spans[right]);
}

static bool are_alike(const crn_factor *factor, uint32_t left, uint32_t right)
{
    const char *text = crn_factor_text(factor, left), *other = crn_factor_text(factor, right);
    return text == other || strcmp(text, other) == 0;
}

static void sift_down(crn_factor *factor, uint64_t at, uint32_t count)
{
    for (;;) {
        uint64_t child = 2 * at + 1;
        if (child >= count)
            return;
        child +=
            child + 1 < count && compare_texts(factor, (uint32_t)child, (uint32_t)child + 1) < 0;
        if (compare_texts(factor, (uint32_t)at, (uint32_t)child) > 0)
            return;
        swap(factor, (uint32_t)at, (uint32_t)child);
        at = child;
    }
}

static void sort_texts(crn_factor *factor)
{
    for (uint32_t at = factor->count / 2; at-- > 0;)
        sift_down(factor, at, factor->count);
    for (uint32_t count = factor->count; count > 1;) {
        swap(factor, 0, --count);
        sift_down(factor, 0, count);
    }
}

/* ---- numbers: radix sort in place ---- */

enum { BYTES = 256, FEW = 24 };

/* Maps a double to an integer with the same order. */
static uint64_t key_of_number(double number)
{
    uint64_t bits;
    number += 0.0; /* turns -0 into 0 */
    memcpy(&bits, &number, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static uint64_t key_of(const crn_factor *factor, uint32_t at)
{
    return key_of_number(crn_factor_number(factor, at));
}

typedef struct range {
    uint32_t first, last;
    bool same; /* all values are equal: sort by span, for locality of lookups */
} range;

static uint64_t digits_of(const crn_factor *factor, const range *its, uint32_t at)
{
    return its->same ? factor->spans[at] : key_of(factor, at);
}

static void sort_few(crn_factor *factor, const range *its)
{
    for (uint32_t at = its->first + 1; at < its->last; at++)
        for (uint32_t to = at; to > its->first; to--) {
            uint64_t key = its->same ? 0 : key_of(factor, to);
            uint64_t before = its->same ? 0 : key_of(factor, to - 1);
            if (key > before || (key == before && factor->spans[to] > factor->spans[to - 1]))
                break;
            swap(factor, to, to - 1);
        }
}

/* Returns the bits in which the keys of a range's values differ; with `same` those in which its
 * spans' numbers differ, 0 if these are sorted already. */
static uint64_t find_different(const crn_factor *factor, const range *its)
{
    uint64_t first = digits_of(factor, its, its->first), before = first, different = 0;
    bool in_order = true;
    for (uint32_t at = its->first + 1; at < its->last; at++) {
        uint64_t digits = digits_of(factor, its, at);
        in_order = in_order && before <= digits;
        different |= digits ^ first;
        before = digits;
    }
    return its->same && in_order ? 0 : different;
}

/* Moves each item into the bucket of its byte at `shift`. Sets `firsts` to where buckets begin and
 * the last one ends. */
static void partition(crn_factor *factor, const range *its, unsigned shift,
                      uint32_t firsts[BYTES + 1])
{
    uint32_t next[BYTES] = {0};
    for (uint32_t at = its->first; at < its->last; at++)
        next[digits_of(factor, its, at) >> shift & (BYTES - 1)]++;
    firsts[0] = its->first;
    for (unsigned byte = 0; byte < BYTES; byte++) {
        firsts[byte + 1] = firsts[byte] + next[byte];
        next[byte] = firsts[byte];
    }
    for (unsigned byte = 0; byte < BYTES; byte++) {
        while (next[byte] < firsts[byte + 1]) {
            unsigned belongs = digits_of(factor, its, next[byte]) >> shift & (BYTES - 1);
            if (belongs != byte)
                swap(factor, next[byte], next[belongs]);
            next[belongs]++;
        }
    }
}

static void sort_range(crn_factor *factor, range all)
{
    enum { LEVELS = 13 }; /* bytes of a number and of a span, and one for equal values */
    range *ranges = crn_calloc(LEVELS * BYTES, sizeof *ranges);
    uint32_t count = 1;
    ranges[0] = all;
    while (count) {
        range its = ranges[--count];
        uint32_t firsts[BYTES + 1];
        if (its.last - its.first <= FEW) {
            sort_few(factor, &its);
            continue;
        }
        uint64_t different = find_different(factor, &its);
        if (!different) {
            if (!its.same)
                ranges[count++] = (range){its.first, its.last, true};
            continue;
        }
        partition(factor, &its, (63 - (unsigned)__builtin_clzll(different)) / 8 * 8, firsts);
        for (unsigned byte = 0; byte < BYTES; byte++)
            if (firsts[byte + 1] - firsts[byte] > 1)
                ranges[count++] = (range){firsts[byte], firsts[byte + 1], its.same};
    }
    crn_free(ranges);
}

/* ---- few distinct numbers: counting sort ---- */

enum { VALUES = 64, SLOTS = 256 };

typedef struct value {
    uint64_t key;
    uint32_t count, first; /* first: index of its first span */
} value;

typedef struct values {
    unsigned count;
    value all[VALUES];
    uint8_t slots[SLOTS]; /* hash table: index of a value + 1 */
} values;

static unsigned slot_of(const values *values, uint64_t key)
{
    unsigned slot = (unsigned)(key * 0x9e3779b97f4a7c15u >> 56);
    while (values->slots[slot] && values->all[values->slots[slot] - 1].key != key)
        slot = (slot + 1) % SLOTS;
    return slot;
}

static int compare_values(const void *left, const void *right)
{
    const value *a = left, *b = right;
    return CRN_ORDER(a->key, b->key);
}

/* Finds the distinct values. Returns false if there are more than VALUES. */
static bool find_values(const crn_factor *factor, values *values)
{
    for (uint32_t at = 0; at < factor->count; at++) {
        uint64_t key = key_of(factor, at);
        unsigned slot = slot_of(values, key);
        if (!values->slots[slot]) {
            if (values->count == VALUES)
                return false;
            values->all[values->count++] = (value){.key = key};
            values->slots[slot] = (uint8_t)values->count;
        }
        values->all[values->slots[slot] - 1].count++;
    }
    qsort(values->all, values->count, sizeof *values->all, compare_values);
    memset(values->slots, 0, sizeof values->slots);
    for (unsigned v = 0; v < values->count; v++) {
        value *its = &values->all[v];
        its->first = v ? its[-1].first + its[-1].count : 0;
        values->slots[slot_of(values, its->key)] = (uint8_t)(v + 1);
    }
    return true;
}

/* Sorts a factor of attributes in place by cycles of swaps, then each value's spans. */
static void permute(crn_factor *factor, const values *values, uint32_t *next)
{
    for (unsigned v = 0; v < values->count; v++) {
        uint32_t last = values->all[v].first + values->all[v].count;
        while (next[v] < last) {
            unsigned belongs = values->slots[slot_of(values, key_of(factor, next[v]))] - 1U;
            if (belongs != v)
                swap(factor, next[v], next[belongs]);
            next[belongs]++;
        }
    }
    for (unsigned v = 0; v < values->count; v++) {
        const value *its = &values->all[v];
        sort_range(factor, (range){its->first, its->first + its->count, true});
    }
}

/* Sorts another factor: writes its spans again, into the range of each value. */
static void refill(crn_factor *factor, const values *values, uint32_t *next)
{
    CRN_EACH_EXPLAINED(s, factor->explained)
    {
        unsigned slot = slot_of(values, key_of_number(non_attribute_number(factor, s)));
        if (values->slots[slot]) /* the factor has this value */
            factor->spans[next[values->slots[slot] - 1]++] = s;
    }
}

static bool sort_few_values(crn_factor *factor)
{
    values values = {.count = 0};
    if (!find_values(factor, &values))
        return false;
    uint32_t next[VALUES];
    for (unsigned v = 0; v < values.count; v++) {
        next[v] = values.all[v].first;
        crn_bits_set(factor->begins, next[v]);
    }
    if (factor->attributes)
        permute(factor, &values, next);
    else
        refill(factor, &values, next);
    return true;
}

/* ---- entry ---- */

/* Sets `begins` where values change. Returns false if the factor is unsorted; most factors are
 * sorted, such as iterations. */
static bool find_begins(crn_factor *factor)
{
    bool texts = factor->attributes && !factor->shown.number;
    uint64_t before = 0;
    for (uint32_t at = 0; at < factor->count; at++) {
        uint64_t key = texts ? 0 : key_of(factor, at);
        int order = !at ? -1 : texts ? compare_texts(factor, at - 1, at) : 0;
        if (texts ? order > 0 : before > key) {
            memset(factor->begins, 0, (at / 64 + (size_t)1) * sizeof *factor->begins);
            return false;
        }
        if (!at || (texts ? !are_alike(factor, at - 1, at) : before != key))
            crn_bits_set(factor->begins, at);
        before = key;
    }
    return true;
}

void crn_factor_sort(crn_factor *factor)
{
    bool texts = factor->attributes && !factor->shown.number;
    factor->begins = crn_bits_new(factor->count);
    if (find_begins(factor) || (!texts && sort_few_values(factor)))
        return;
    if (texts)
        sort_texts(factor);
    else
        sort_range(factor, (range){0, factor->count, false});
    find_begins(factor);
}
