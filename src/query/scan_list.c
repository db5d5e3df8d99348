/* SPDX-License-Identifier: MIT
 *
 * Scans spans in file order (scan.c), or over a list if conditions select few spans or the
 * requested order is another.
 */
#include "query/scan.h"

#include "base/memory.h"

static const crn_condition *find_equal(const crn_scan *scan, crn_spans_column column)
{
    for (uint32_t i = 0; i < scan->condition_count; i++)
        if (scan->conditions[i].column == column && scan->conditions[i].op == '=')
            return &scan->conditions[i];
    return NULL;
}

/* Makes `list` of the matching spans among `count` spans; `spans` NULL: `first_id` alone. */
static void list_these(crn_scan *scan, uint32_t first_id, const uint32_t *spans, uint32_t count)
{
    scan->list = crn_calloc(count, sizeof *scan->list);
    for (uint32_t i = 0; i < count; i++) {
        crn_scan_go_to(scan, first_id + (spans ? spans[i] : 0));
        if (crn_scan_is_wanted(scan))
            scan->list[scan->list_count++] = scan->id;
    }
}

/* Makes the list if a condition names the id or the parent, as few spans can match. Returns false
 * otherwise. */
static bool list_named(crn_scan *scan)
{
    const crn_condition *condition = find_equal(scan, CRN_SPANS_ID);
    bool by_parent = !condition;
    if (!condition)
        condition = find_equal(scan, CRN_SPANS_PARENT);
    if (!condition)
        return false;
    if (condition->value < 0 || condition->value >= scan->query->spans) {
        list_these(scan, 0, NULL, 0);
        return true;
    }
    uint32_t id = (uint32_t)condition->value;
    if (!by_parent) {
        list_these(scan, id, NULL, 1);
        return true;
    }
    const crn_query_capture *capture = CRN_CAPTURE_OF(scan->query, span, id);
    crn_store_children(capture->store);
    uint32_t first = capture->store->first_child[id - capture->span];
    uint32_t end = capture->store->first_child[id - capture->span + 1];
    list_these(scan, capture->span, capture->store->children + first,
               end > first ? end - first : 0);
    return true;
}

static void append(crn_scan *scan, uint32_t *room)
{
    if (scan->list_count == *room) {
        *room = *room > UINT32_MAX / 2 ? UINT32_MAX : *room * 2;
        scan->list = crn_realloc(scan->list, *room, sizeof *scan->list);
    }
    scan->list[scan->list_count++] = scan->id;
}

/* Makes the list of matching spans with an attribute of the key: often few have it. */
static void list_with_key(crn_scan *scan)
{
    uint32_t room = 1024;
    scan->list = crn_calloc(room, sizeof *scan->list);
    for (uint32_t i = 0; i < scan->query->count; i++) {
        const crn_query_capture *capture = &scan->query->captures[i];
        const crn_span_store *store = capture->store;
        crn_store_attributes(capture->store);
        uint32_t before = UINT32_MAX;
        for (uint32_t a = 0; a < store->attribute_count; a++) {
            uint32_t span = store->attributes[a].span;
            if (span == before || scan->query->key_of[i][crn_store_key(store, a)] != scan->key)
                continue;
            before = span;
            crn_scan_go_to(scan, capture->span + span);
            if (crn_scan_is_wanted(scan))
                append(scan, &room);
        }
    }
}

static void list_all(crn_scan *scan)
{
    uint32_t room = scan->condition_count || scan->names ? 1024 : scan->query->spans;
    scan->list = crn_calloc(room, sizeof *scan->list);
    for (; !scan->ended; crn_scan_step(scan), crn_scan_skip_unwanted(scan))
        append(scan, &room);
}

/* Maps a column's value to an unsigned number with the same order. */
static uint64_t key_of(const crn_scan *scan, int column)
{
    int64_t value;
    if (column >= CRN_SPANS_COLUMNS)
        return scan->query->key_orders[column - CRN_SPANS_COLUMNS]
            .ranks[scan->capture - scan->query->captures][crn_scan_local(scan)];
    if (column == CRN_SPANS_NAME)
        return scan->capture->name_rank[crn_scan_block(scan)];
    bool there = crn_scan_value(scan, (crn_spans_column)column, &value);
    if (column == CRN_SPANS_ITERATION)
        return (uint64_t)value ^ UINT64_C(1) << 63; /* NULL is the smallest value already */
    return there ? (uint64_t)value + 1 : 0;
}

static uint64_t term_key(const crn_scan *scan, const crn_order_term *term)
{
    uint64_t key = key_of(scan, term->column);
    return term->descending ? ~key : key;
}

/* Fills in `keys`, by id, for all spans, in memory order. */
static void fill_keys(crn_scan *scan, const crn_order_term *term, uint64_t *keys)
{
    for (uint32_t i = 0; i < scan->query->count; i++) {
        scan->capture = &scan->query->captures[i];
        const crn_span_store *store = scan->capture->store;
        for (uint32_t p = 0; p < store->piece_count; p++) {
            scan->piece = &store->pieces[p];
            scan->span = scan->piece->spans;
            scan->id = scan->capture->span + scan->piece->first;
            for (uint32_t left = scan->piece->count; left; left--, scan->span++, scan->id++)
                keys[scan->id] = term_key(scan, term);
        }
    }
}

/* Sorts a long list: stably, by each term from the last to the first. */
static void sort_most(crn_scan *scan)
{
    uint64_t *keys = crn_store_array(scan->query->spans, sizeof *keys);
    for (uint32_t t = scan->term_count; t-- > 0;) {
        fill_keys(scan, &scan->terms[t], keys);
        crn_store_sort(scan->list, scan->list_count, keys);
    }
    crn_free(keys);
}

/* Does the same for a short list: computes keys only for its spans. */
static void sort_few(crn_scan *scan)
{
    uint32_t count = scan->list_count, *order = crn_calloc(count, sizeof *order);
    uint64_t *keys = crn_calloc(count, sizeof *keys);
    for (uint32_t t = scan->term_count; t-- > 0;) {
        for (uint32_t i = 0; i < count; i++) {
            crn_scan_go_to(scan, scan->list[i]);
            keys[i] = term_key(scan, &scan->terms[t]);
            order[i] = i;
        }
        crn_store_sort(order, count, keys);
        for (uint32_t i = 0; i < count; i++)
            order[i] = scan->list[order[i]];
        uint32_t *swap = scan->list;
        scan->list = order;
        order = swap;
    }
    crn_free(keys);
    crn_free(order);
}

static void sort(crn_scan *scan)
{
    if (scan->list_count > scan->query->spans / 4)
        sort_most(scan);
    else
        sort_few(scan);
}

/* Returns true if file order, which is the order of ids, is the requested order. */
static bool is_sorted(const crn_scan *scan)
{
    return !scan->term_count ||
           (scan->terms[0].column == CRN_SPANS_ID && !scan->terms[0].descending);
}

/* Prefetches a later span of the list, as a sorted list's spans are scattered over the file. */
static void fetch_ahead(const crn_scan *scan)
{
    enum { AHEAD = 8 };
    if (scan->query->count != 1 || scan->list_at + AHEAD >= scan->list_count)
        return;
    uint32_t span = scan->list[scan->list_at + AHEAD];
    const crn_span_store *store = scan->query->captures->store;
    const crn_span_piece *piece = crn_store_piece(store, span);
    __builtin_prefetch(&piece->spans[span - piece->first]);
    if (store->covered)
        __builtin_prefetch(&store->covered[span]);
}

static void enter_list(crn_scan *scan)
{
    scan->ended = scan->list_at >= scan->list_count;
    if (scan->ended)
        return;
    crn_scan_go_to(scan, scan->list[scan->list_at]);
    fetch_ahead(scan);
}

/* ---- the scan ---- */

void crn_scan_begin(crn_scan *scan)
{
    scan->capture = scan->query->captures;
    scan->ended = scan->nothing || !scan->query->spans;
    if (scan->ended)
        return;
    bool listed = list_named(scan);
    if (!listed && scan->key < scan->query->key_count) {
        list_with_key(scan);
        listed = true;
    }
    if (!listed) {
        crn_scan_enter_file(scan);
        if (is_sorted(scan))
            return;
        list_all(scan);
    }
    if (!is_sorted(scan))
        sort(scan);
    enter_list(scan);
}

void crn_scan_next(crn_scan *scan)
{
    if (scan->list) {
        scan->list_at++;
        enter_list(scan);
        return;
    }
    crn_scan_step(scan);
    crn_scan_skip_unwanted(scan);
}

void crn_scan_free(crn_scan *scan)
{
    crn_free(scan->list);
    crn_free(scan->names);
    scan->list = NULL;
    scan->names = NULL;
}
