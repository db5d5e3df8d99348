/* SPDX-License-Identifier: MIT
 *
 * Reading a store: single spans, their attributes, and what is made when it is first asked for.
 */
#include "analysis/span_store.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "base/memory.h"

const crn_span_piece *crn_store_piece(const crn_span_store *store, uint32_t span)
{
    uint32_t low = store->piece_at[span >> CRN_PIECE_BITS];
    uint32_t high = store->piece_at[(span >> CRN_PIECE_BITS) + 1];
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        if (store->pieces[middle].first <= span)
            low = middle;
        else
            high = middle - 1;
    }
    return &store->pieces[low];
}

const crn_span_move *crn_store_move(const crn_span_store *store, uint32_t span)
{
    uint32_t low = 0, high = store->move_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (store->moves[middle].span < span)
            low = middle + 1;
        else
            high = middle;
    }
    return low < store->move_count && store->moves[low].span == span ? &store->moves[low] : NULL;
}

crn_span crn_store_span(const crn_span_store *store, uint32_t span)
{
    const crn_span_piece *piece = crn_store_piece(store, span);
    const cairn_priv_span *at = &piece->spans[span - piece->first];
    const crn_span_move *move = store->moved ? crn_store_move(store, span) : NULL;
    crn_span its = {.start = crn_store_start(store, at),
                    .end = crn_store_end(store, at),
                    .iteration = at->iteration,
                    .block = at->block,
                    .parent = crn_store_parent(store, piece, span),
                    .lane = piece->lane,
                    .open = at->end == 0,
                    .handed_off = move && move->handed_off};
    its.end = its.end < its.start ? its.start : its.end;
    return its;
}

/* A large block of malloc's is a mapping that nobody has touched yet. */
void *crn_store_array(size_t count, size_t size)
{
    enum { LARGE_PAGE = 2 << 20, LARGE = 16 * LARGE_PAGE };
    char *array = crn_calloc(count, size);
    uintptr_t end = (uintptr_t)array + count * size;
    size_t before = -(uintptr_t)array % LARGE_PAGE;
    if (count * size >= LARGE)
        madvise(array + before, (size_t)(end - (uintptr_t)array - before), MADV_HUGEPAGE);
    return array;
}

/* ---- order ---- */

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

void crn_store_sort(uint32_t *spans, uint32_t count, const uint64_t *keys)
{
    uint64_t all = ~UINT64_C(0), any = 0;
    for (uint32_t i = 0; i < count; i++) {
        all &= keys[spans[i]];
        any |= keys[spans[i]];
    }
    uint64_t varies = count ? all ^ any : 0;
    uint32_t *from = spans, *to = varies ? crn_store_array(count, sizeof *to) : NULL, *spare = to;
    while (varies) {
        int shift = __builtin_ctzll(varies);
        uint32_t place[DIGITS + 1] = {0};
        for (uint32_t i = 0; i < count; i++)
            place[(keys[from[i]] >> shift & (DIGITS - 1)) + 1]++;
        for (int d = 0; d < DIGITS; d++)
            place[d + 1] += place[d];
        for (uint32_t i = 0; i < count; i++)
            to[place[keys[from[i]] >> shift & (DIGITS - 1)]++] = from[i];
        uint32_t *swap = from;
        from = to;
        to = swap;
        varies =
            shift + DIGIT_BITS < 64 ? varies >> (shift + DIGIT_BITS) << (shift + DIGIT_BITS) : 0;
    }
    if (from != spans)
        memcpy(spans, from, count * sizeof *spans);
    crn_free(spare);
}

/* ---- ranks ---- */

enum { TOP_BITS = 12 };

/* The value at a place, counted from 0, of all in order: by digits, the highest first; what has
 * the same ones as it is kept at the beginning. */
static uint64_t at_place(uint64_t *values, uint64_t count, uint64_t place, int shift)
{
    while (count > 1 && shift > 0) {
        uint64_t counts[DIGITS] = {0}, kept = 0, digit = 0;
        shift = shift > DIGIT_BITS ? shift - DIGIT_BITS : 0;
        for (uint64_t i = 0; i < count; i++)
            counts[values[i] >> shift & (DIGITS - 1)]++;
        for (; digit < DIGITS - 1 && place >= counts[digit]; digit++)
            place -= counts[digit];
        for (uint64_t i = 0; i < count; i++)
            if ((values[i] >> shift & (DIGITS - 1)) == digit)
                values[kept++] = values[i];
        count = kept;
    }
    return count ? values[0] : 0;
}

void crn_store_ranks(const uint64_t *values, uint64_t count, const double *shares, uint64_t *ranks,
                     int rank_count)
{
    uint64_t most = 0, counts[1 << TOP_BITS] = {0};
    for (uint64_t i = 0; i < count; i++)
        most = values[i] > most ? values[i] : most;
    int width = most ? 64 - __builtin_clzll(most) : 1;
    int shift = width > TOP_BITS ? width - TOP_BITS : 0;
    for (uint64_t i = 0; i < count; i++)
        counts[values[i] >> shift]++;
    for (int r = 0; r < rank_count; r++) {
        double rank = ceil(shares[r] * (double)count);
        uint64_t place = rank < 1 ? 0 : (uint64_t)rank - 1, digit = 0, kept = 0;
        for (; digit < (1 << TOP_BITS) - 1 && place >= counts[digit]; digit++)
            place -= counts[digit];
        if (!shift) {
            ranks[r] = count ? digit : 0;
            continue;
        }
        uint64_t *same = crn_calloc(counts[digit], sizeof *same);
        for (uint64_t i = 0; i < count; i++)
            if (values[i] >> shift == digit)
                same[kept++] = values[i];
        ranks[r] = at_place(same, kept, place, shift);
        crn_free(same);
    }
}

/* ---- children, and what they cover ---- */

typedef struct interval {
    uint64_t start, end;
} interval;

/* `piece` is where it may be. */
static interval interval_of(const crn_span_store *store, const crn_span_piece *piece, uint32_t span)
{
    if (span - piece->first >= piece->count)
        piece = crn_store_piece(store, span);
    const cairn_priv_span *at = &piece->spans[span - piece->first];
    interval found = {crn_store_start(store, at), crn_store_end(store, at)};
    found.end = found.end < found.start ? found.start : found.end;
    return found;
}

/* What of `child` lies within `parent` and is not before `from`. */
static uint64_t part_within(interval child, interval parent, uint64_t from)
{
    uint64_t start = child.start > parent.start ? child.start : parent.start;
    uint64_t end = child.end < parent.end ? child.end : parent.end;
    start = start > from ? start : from;
    return end > start ? end - start : 0;
}

typedef struct cover {
    crn_span_store *store;
    uint64_t *reach; /* by span: the latest end of its children so far, ns */
    uint8_t *slow;   /* a bit by span: its children overlap, or are not in order */
} cover;

/* Children that come one after the other are added up as they come; nearly all lie within their
 * parents, and near them. */
static void cover_by(cover *cover, const crn_span_piece *piece, uint32_t parent, uint32_t child)
{
    crn_span_store *store = cover->store;
    const cairn_priv_span *span = &piece->spans[child - piece->first];
    if (cover->slow[parent >> 3] >> (parent & 7) & 1)
        return;
    interval its = {crn_store_start(store, span), crn_store_end(store, span)};
    its.end = its.end < its.start ? its.start : its.end;
    if (its.start < cover->reach[parent]) {
        cover->slow[parent >> 3] |= (uint8_t)(1 << (parent & 7));
        return;
    }
    cover->reach[parent] = its.end;
    store->covered[parent] += part_within(its, interval_of(store, piece, parent), 0);
}

/* The children of the slow ones, by parent and then by start: they are merged. */
static void merge_children(cover *cover)
{
    crn_span_store *store = cover->store;
    uint32_t count = 0, room = 0, *children = NULL;
    for (uint32_t s = 0; s < store->count; s++) {
        uint32_t parent = crn_store_parent(store, crn_store_piece(store, s), s);
        if (parent == CRN_SPAN_NONE || !(cover->slow[parent >> 3] >> (parent & 7) & 1))
            continue;
        if (count == room) {
            room = room ? room * 2 : 1024;
            children = crn_realloc(children, room, sizeof *children);
        }
        children[count++] = s;
    }
    uint64_t *keys = count ? crn_calloc(store->count, sizeof *keys) : NULL;
    for (uint32_t i = 0; i < count; i++)
        keys[children[i]] = interval_of(store, store->pieces, children[i]).start;
    crn_store_sort(children, count, keys);
    for (uint32_t i = 0; i < count; i++)
        keys[children[i]] =
            crn_store_parent(store, crn_store_piece(store, children[i]), children[i]);
    crn_store_sort(children, count, keys);
    uint64_t reach = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t parent = (uint32_t)keys[children[i]];
        if (parent >= store->count) /* the file is not what it was */
            continue;
        if (i == 0 || parent != keys[children[i - 1]])
            reach = store->covered[parent] = 0;
        interval its = interval_of(store, store->pieces, children[i]);
        store->covered[parent] +=
            part_within(its, interval_of(store, store->pieces, parent), reach);
        reach = its.end > reach ? its.end : reach;
    }
    crn_free(keys);
    crn_free(children);
}

void crn_store_covered(crn_span_store *store)
{
    if (store->covered)
        return;
    store->covered = crn_store_array(store->count, sizeof *store->covered);
    cover cover = {.store = store,
                   .reach = crn_store_array(store->count, sizeof *cover.reach),
                   .slow = crn_calloc(store->count / 8 + (size_t)1, 1)};
    for (uint32_t p = 0; p < store->piece_count; p++) {
        const crn_span_piece *piece = &store->pieces[p];
        for (uint32_t i = 0; i < piece->count; i++) {
            uint32_t parent = crn_store_parent(store, piece, piece->first + i);
            if (parent != CRN_SPAN_NONE)
                cover_by(&cover, piece, parent, piece->first + i);
        }
    }
    crn_free(cover.reach);
    merge_children(&cover);
    crn_free(cover.slow);
}

void crn_store_children(crn_span_store *store)
{
    if (store->first_child)
        return;
    /* Counted two places on, added up, and filled one place on: then each is where it belongs. */
    uint32_t *first = crn_calloc(store->count + (size_t)2, sizeof *first);
    for (uint32_t s = 0; s < store->count; s++) {
        uint32_t parent = crn_store_parent(store, crn_store_piece(store, s), s);
        if (parent != CRN_SPAN_NONE)
            first[parent + 2]++;
    }
    for (uint32_t s = 0; s < store->count; s++)
        first[s + 2] += first[s + 1];
    uint32_t all = first[store->count + 1];
    store->children = crn_calloc(all + (size_t)1, sizeof *store->children);
    for (uint32_t s = 0; s < store->count; s++) {
        uint32_t parent = crn_store_parent(store, crn_store_piece(store, s), s);
        if (parent != CRN_SPAN_NONE && first[parent + 1] < all)
            store->children[first[parent + 1]++] = s;
    }
    store->first_child = first;
}

/* ---- weights, processor time ---- */

enum { ON_THE_WAY = -1 };

/* What is above a span may be changed meanwhile, and go round in a circle: no step is made twice.
 */
static void weigh(const crn_span_store *store, double *weights, uint32_t span)
{
    uint32_t top = span;
    while (top != CRN_SPAN_NONE && !weights[top]) {
        weights[top] = ON_THE_WAY;
        top = crn_store_parent(store, crn_store_piece(store, top), top);
    }
    double weight = top != CRN_SPAN_NONE && weights[top] > 0 ? weights[top] : 1;
    while (span != CRN_SPAN_NONE && weights[span] == ON_THE_WAY) {
        weights[span] = weight;
        span = crn_store_parent(store, crn_store_piece(store, span), span);
    }
}

double crn_store_weight(crn_span_store *store, uint32_t span)
{
    if (!store->weight_count)
        return 1;
    if (!store->weight) {
        store->weight = crn_store_array(store->count, sizeof *store->weight);
        for (uint32_t w = store->weight_count; w-- > 0;) /* of several the first holds */
            store->weight[store->weights[w].span] = store->weights[w].weight;
    }
    if (!store->weight[span])
        weigh(store, store->weight, span);
    return store->weight[span] > 0 ? store->weight[span] : 1;
}

void crn_store_cpu(crn_span_store *store)
{
    if (store->cpu || !store->cpu_known)
        return;
    store->cpu = crn_calloc(store->count, sizeof *store->cpu);
    memset(store->cpu, 0xff, store->count * sizeof *store->cpu);
    for (uint32_t p = 0; p < store->detail_piece_count; p++) {
        const crn_detail_piece *piece = &store->detail_pieces[p];
        uint32_t first = store->lane_first[piece->lane];
        uint32_t spans = store->lane_first[piece->lane + 1] - first;
        for (uint32_t i = 0; i < piece->count; i++) {
            uint32_t span = __atomic_load_n(&piece->details[i].span, __ATOMIC_RELAXED);
            uint64_t cpu = piece->details[i].value, most = UINT64_C(1) << 62;
            if (piece->details[i].kind == CRN_DETAIL_CPU && span && span <= spans)
                store->cpu[first + span - 1] = cpu < most ? cpu : most;
        }
    }
}

/* ---- attributes ---- */

static const crn_detail_piece *piece_of_detail(const crn_span_store *store, uint32_t detail)
{
    uint32_t low = 0, high = store->detail_piece_count - 1;
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        if (store->detail_pieces[middle].first <= detail)
            low = middle;
        else
            high = middle - 1;
    }
    return &store->detail_pieces[low];
}

static void sort_attributes(crn_span_store *store)
{
    bool sorted = true;
    uint32_t count = store->attribute_count;
    for (uint32_t i = 1; i < count; i++)
        sorted &= store->attributes[i - 1].span <= store->attributes[i].span;
    if (sorted)
        return;
    uint64_t *keys = crn_calloc(count, sizeof *keys);
    uint32_t *order = crn_calloc(count, sizeof *order);
    for (uint32_t i = 0; i < count; i++) {
        keys[i] = store->attributes[i].span;
        order[i] = i;
    }
    crn_store_sort(order, count, keys);
    crn_attribute_place *places = (crn_attribute_place *)keys; /* of the same size */
    for (uint32_t i = 0; i < count; i++)
        places[i] = store->attributes[order[i]];
    crn_free(store->attributes);
    crn_free(order);
    store->attributes = places;
}

void crn_store_attributes(crn_span_store *store)
{
    if (store->attributes)
        return;
    uint32_t count = 0;
    store->attributes = crn_calloc(store->attribute_count + (size_t)1, sizeof *store->attributes);
    for (; store->trace && count < store->attribute_count; count++)
        store->attributes[count] =
            (crn_attribute_place){store->trace->attributes[count].span, count};
    for (uint32_t p = 0; p < store->detail_piece_count; p++) {
        const crn_detail_piece *piece = &store->detail_pieces[p];
        uint32_t first = store->lane_first[piece->lane];
        uint32_t spans = store->lane_first[piece->lane + 1] - first;
        for (uint32_t i = 0; i < piece->count && count < store->attribute_count; i++) {
            const crn_disk_detail *detail = &piece->details[i];
            uint32_t span = __atomic_load_n(&detail->span, __ATOMIC_RELAXED);
            bool attribute =
                (detail->kind >= CRN_DETAIL_INTEGER && detail->kind <= CRN_DETAIL_TEXT) ||
                detail->kind == CRN_DETAIL_NAME;
            if (attribute && span && span <= spans && detail->key < store->key_count)
                store->attributes[count++] =
                    (crn_attribute_place){first + span - 1, piece->first + i};
        }
    }
    store->attribute_count = count;
    sort_attributes(store);
}

uint32_t crn_store_attributes_of(const crn_span_store *store, uint32_t span, uint32_t *count)
{
    uint32_t low = 0, high = store->attribute_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (store->attributes[middle].span < span)
            low = middle + 1;
        else
            high = middle;
    }
    *count = 0;
    while (low + *count < store->attribute_count && store->attributes[low + *count].span == span)
        ++*count;
    return low;
}

/* A text and what of it is in the details after it. */
static void read_text(const crn_span_store *store, const crn_detail_piece *piece, uint32_t detail,
                      char *text)
{
    const crn_detail_piece *end = store->detail_pieces + store->detail_piece_count;
    uint32_t at = detail - piece->first, span = piece->details[at].span, lane = piece->lane;
    size_t length = 0;
    do {
        memcpy(text + length, &piece->details[at].value, 8);
        memcpy(text + length + 8, &piece->details[at].more, 8);
        length += 16;
        if (++at == piece->count) {
            piece++;
            at = 0;
        }
    } while (piece < end && piece->lane == lane && length < CAIRN_TEXT_MAX &&
             piece->details[at].kind == CRN_DETAIL_MORE && piece->details[at].span == span);
    text[length] = 0;
}

/* A text that was written once. */
static void read_name(const crn_span_store *store, uint32_t offset, char *text)
{
    const char *name = offset < store->strings.size ? store->strings.data + offset : "";
    size_t size = strnlen(name, CAIRN_TEXT_MAX);
    memcpy(text, name, size);
    text[size] = 0;
}

uint32_t crn_store_key(const crn_span_store *store, uint32_t attribute)
{
    uint32_t detail = store->attributes[attribute].detail;
    if (store->trace)
        return store->trace->attributes[detail].key;
    const crn_detail_piece *piece = piece_of_detail(store, detail);
    uint16_t key = __atomic_load_n(&piece->details[detail - piece->first].key, __ATOMIC_RELAXED);
    return key < store->key_count ? key : 0;
}

crn_attribute crn_store_attribute(const crn_span_store *store, uint32_t attribute,
                                  char text[CAIRN_TEXT_MAX + 1])
{
    crn_attribute_place place = store->attributes[attribute];
    if (store->trace)
        return store->trace->attributes[place.detail];
    const crn_detail_piece *piece = piece_of_detail(store, place.detail);
    const crn_disk_detail *detail = &piece->details[place.detail - piece->first];
    crn_attribute found = {.span = place.span, .kind = detail->kind, .key = detail->key};
    if (found.key >= store->key_count)
        found.key = 0;
    if (found.kind == CRN_DETAIL_TEXT) {
        read_text(store, piece, place.detail, text);
        found.value.text = text;
    } else if (found.kind == CRN_DETAIL_NAME) {
        read_name(store, (uint32_t)detail->value, text);
        found.kind = CRN_ATTRIBUTE_TEXT;
        found.value.text = text;
    } else {
        memcpy(&found.value, &detail->value, sizeof detail->value);
    }
    return found;
}
