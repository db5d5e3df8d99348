/* SPDX-License-Identifier: MIT
 *
 * Attributes of a span store: an index by span, and reading of values.
 */
#include "spans/store_opening.h"

#include <string.h>

#include "base/memory.h"
#include "base/search.h"
#include "capture/reader.h"

static const crn_detail_piece *piece_of_detail(const crn_span_store *store, uint32_t detail)
{
    size_t count = CRN_UP_TO(store->detail_pieces, store->detail_piece_count, first, detail);
    return &store->detail_pieces[count - 1]; /* the first piece begins with detail 0 */
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
            crn_store_touch(store, sizeof *detail);
        }
    }
    store->attribute_count = count;
    crn_order_by_span(store->attributes, count, sizeof *store->attributes);
}

uint32_t crn_store_attributes_of(const crn_span_store *store, uint32_t span, uint32_t *count)
{
    uint32_t low = CRN_BELOW(store->attributes, store->attribute_count, span, span);
    *count = 0;
    while (low + *count < store->attribute_count && store->attributes[low + *count].span == span)
        ++*count;
    return low;
}

/* Copies a text that `detail` begins and the next details continue. */
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

/* Copies a text from the table of strings. */
static void read_name(const crn_span_store *store, uint32_t offset, char *text)
{
    const char *name = crn_string_at(&store->strings, offset);
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
