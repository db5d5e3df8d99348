/* SPDX-License-Identifier: MIT
 *
 * Ranks the values of an attribute, so that SQLite need not sort to group or order by it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "query/captures.h"

enum { TEXTS_MAX = 1 << 20 /* limit on distinct texts; beyond it, SQLite sorts */ };

/* A span with a value. Texts sort after all numbers. */
typedef struct entry {
    uint32_t capture, span;
} entry;

typedef struct ordering {
    crn_query *query;
    uint32_t key, count, room, texts, integers, numbers;
    entry *entries;
    uint64_t *keys; /* by entry: its sort key; of a text, its number, then its rank */
    uint8_t *is_text;
    crn_interning *known;
    const char **text_of; /* by number of a text: the text */
    bool too_many;
} ordering;

static void grow(ordering *ordering)
{
    if (ordering->count < ordering->room)
        return;
    ordering->room = ordering->room ? ordering->room * 2 : 1024;
    ordering->entries = crn_realloc(ordering->entries, ordering->room, sizeof *ordering->entries);
    ordering->keys = crn_realloc(ordering->keys, ordering->room, sizeof *ordering->keys);
    ordering->is_text = crn_realloc(ordering->is_text, ordering->room, sizeof *ordering->is_text);
}

static uint64_t text_number(ordering *ordering, const char *text)
{
    size_t size = strlen(text);
    uint32_t number = crn_intern_number(ordering->known, text, size);
    if (number == ordering->texts && number < TEXTS_MAX) {
        if ((number & (number - 1)) == 0)
            ordering->text_of = crn_realloc((void *)ordering->text_of, number ? number * 2 : 1,
                                            sizeof *ordering->text_of);
        ordering->text_of[ordering->texts++] = crn_intern(ordering->known, text, size);
    }
    ordering->too_many |= number >= TEXTS_MAX;
    return number;
}

static void add_entry(ordering *ordering, uint32_t capture, uint32_t span, crn_attribute value)
{
    double number = value.kind == CRN_ATTRIBUTE_NUMBER ? value.value.number : 0;
    if (isnan(number)) /* NaN is NULL in SQL */
        return;
    grow(ordering);
    uint64_t key = 0;
    switch (value.kind) {
    case CRN_ATTRIBUTE_INTEGER:
        key = (uint64_t)value.value.integer ^ UINT64_C(1) << 63;
        ordering->integers++;
        break;
    case CRN_ATTRIBUTE_NUMBER:
        number = number == 0 ? 0 : number; /* turns -0 into 0 */
        memcpy(&key, &number, sizeof key);
        key = key >> 63 ? ~key : key ^ UINT64_C(1) << 63;
        ordering->numbers++;
        break;
    case CRN_ATTRIBUTE_TEXT:
        key = text_number(ordering, value.value.text);
        break;
    default:
        return;
    }
    ordering->entries[ordering->count] = (entry){capture, span};
    ordering->is_text[ordering->count] = value.kind == CRN_ATTRIBUTE_TEXT;
    ordering->keys[ordering->count++] = key;
}

/* Adds the last value of each span for the key. */
static void gather(ordering *ordering, uint32_t number)
{
    crn_query_capture *capture = &ordering->query->captures[number];
    const crn_span_store *store = capture->store;
    const uint32_t *key_of = ordering->query->key_of[number];
    char text[CAIRN_TEXT_MAX + 1];
    crn_store_attributes(capture->store);
    for (uint32_t a = 0; a < store->attribute_count && !ordering->too_many;) {
        uint32_t span = store->attributes[a].span, last = UINT32_MAX;
        for (; a < store->attribute_count && store->attributes[a].span == span; a++)
            if (key_of[crn_store_key(store, a)] == ordering->key)
                last = a;
        if (last != UINT32_MAX)
            add_entry(ordering, number, span, crn_store_attribute(store, last, text));
    }
}

static int compare_texts(const void *left, const void *right, void *texts)
{
    const char *const *text_of = texts;
    return strcmp(text_of[*(const uint32_t *)left], text_of[*(const uint32_t *)right]);
}

/* Replaces the numbers of texts by their ranks. */
static void rank_texts(ordering *ordering)
{
    uint32_t *order = crn_calloc(ordering->texts, sizeof *order);
    uint32_t *rank = crn_calloc(ordering->texts, sizeof *rank);
    for (uint32_t t = 0; t < ordering->texts; t++)
        order[t] = t;
    qsort_r(order, ordering->texts, sizeof *order, compare_texts, (void *)ordering->text_of);
    for (uint32_t t = 0; t < ordering->texts; t++)
        rank[order[t]] = t;
    for (uint32_t e = 0; e < ordering->count; e++)
        if (ordering->is_text[e])
            ordering->keys[e] = rank[ordering->keys[e]];
    crn_free(order);
    crn_free(rank);
}

static void rank_entries(ordering *ordering, uint32_t **ranks)
{
    uint32_t *order = crn_calloc(ordering->count, sizeof *order), at = 0, rank = 0;
    for (uint32_t e = 0; e < ordering->count; e++)
        if (!ordering->is_text[e])
            order[at++] = e;
    uint32_t numbers = at;
    for (uint32_t e = 0; e < ordering->count; e++)
        if (ordering->is_text[e])
            order[at++] = e;
    crn_store_sort(order, numbers, ordering->keys);
    crn_store_sort(order + numbers, ordering->count - numbers, ordering->keys);
    for (uint32_t i = 0; i < ordering->count; i++) {
        const entry *its = &ordering->entries[order[i]];
        rank += i == 0 || i == numbers || ordering->keys[order[i]] != ordering->keys[order[i - 1]];
        ranks[its->capture][its->span] = rank;
    }
    crn_free(order);
}

bool crn_captures_order_key(crn_query *query, uint32_t key)
{
    if (!query->key_orders)
        query->key_orders = crn_calloc(query->column_keys, sizeof *query->key_orders);
    crn_key_order *made = &query->key_orders[key];
    if (made->known)
        return made->known > 0;
    ordering ordering = {.query = query, .key = key, .known = crn_interning_new()};
    for (uint32_t i = 0; i < query->count; i++)
        gather(&ordering, i);
    /* The sort key of an integer and that of a double, such as 2 and 2.5, do not compare. */
    bool good = !ordering.too_many && !(ordering.integers && ordering.numbers);
    made->known = good ? 1 : -1;
    if (good) {
        rank_texts(&ordering);
        made->ranks = crn_calloc(query->count, sizeof *made->ranks);
        for (uint32_t i = 0; i < query->count; i++)
            made->ranks[i] = crn_calloc(query->captures[i].store->count, sizeof **made->ranks);
        rank_entries(&ordering, made->ranks);
    }
    crn_interning_free(ordering.known);
    crn_free((void *)ordering.text_of);
    crn_free(ordering.entries);
    crn_free(ordering.keys);
    crn_free(ordering.is_text);
    return good;
}
