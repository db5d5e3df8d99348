/* SPDX-License-Identifier: MIT
 *
 * Reads the details of spans when a store is opened: counts attributes, and takes edges, counters,
 * events, weights and remote parents.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "spans/span_names.h"
#include "spans/store_opening.h"

/* State while a text, a remote parent or an event continues over several details. */
typedef struct detail_walk {
    uint32_t span;
    size_t length;                 /* bytes of the text so far; 0: not in a text */
    const crn_disk_detail *remote; /* first detail of a remote parent; NULL: in no remote parent */
    bool is_line;                  /* in an event whose text follows in the next details */
    uint32_t line;                 /* bytes of its text so far */
} detail_walk;

/* Returns the span with that span name; CRN_SPAN_NONE if the store lacks it. */
static uint32_t span_named(const crn_store_opening *opening, uint64_t name)
{
    const crn_span_store *store = opening->store;
    uint32_t lane = crn_lane_named(store->lane_numbers, store->lane_count, name);
    if (lane == store->lane_count)
        return CRN_SPAN_NONE;
    uint64_t place = crn_span_name_place(name);
    const crn_ring *ring = &opening->rings[lane];
    if (ring->part_count) {
        uint32_t here = crn_ring_number(ring, place);
        place = here ? here - 1 : UINT64_MAX;
    }
    uint32_t count = store->lane_first[lane + 1] - store->lane_first[lane];
    return place < count ? store->lane_first[lane] + (uint32_t)place : CRN_SPAN_NONE;
}

static void add_edge(crn_store_opening *opening, uint32_t span, const crn_disk_detail *detail)
{
    crn_span_store *store = opening->store;
    uint32_t other = span_named(opening, detail->value);
    if (other == CRN_SPAN_NONE || other == span) {
        store->dangling++;
        if (detail->kind != CRN_DETAIL_HANDOFF)
            return;
        CRN_GROW(opening->cut, opening->cut_count, opening->cut_room);
        opening->cut[opening->cut_count++] = span;
    } else if (detail->kind == CRN_DETAIL_HANDOFF) {
        CRN_GROW(store->moves, store->move_count, opening->move_room);
        store->moves[store->move_count++] =
            (crn_span_move){span, other, detail->more ? crn_store_moment(store, detail->more) : 0,
                            true, detail->key};
    } else {
        CRN_GROW(store->edges, store->edge_count, opening->edge_room);
        store->edges[store->edge_count++] = (crn_span_edge){
            span, other, detail->kind == CRN_DETAIL_WAITS ? CRN_EDGE_WAITS : CRN_EDGE_FOLLOWS,
            detail->more ? crn_store_moment(store, detail->more) : 0};
    }
}

/* Adds a counter's value. Ignores NaN and infinity: the file is damaged, or the program divided
 * by 0. */
static void add_counter(crn_store_opening *opening, uint32_t span, const crn_disk_detail *detail)
{
    crn_span_store *store = opening->store;
    double value;
    memcpy(&value, &detail->value, sizeof value);
    if (detail->key >= store->key_count || !isfinite(value))
        return;
    CRN_GROW(store->counters, store->counter_count, opening->counter_room);
    store->counters[store->counter_count++] =
        (crn_counter){span, detail->key, value, crn_store_moment(store, detail->more)};
}

/* Adds an event. If its text is not in the table of strings, the next details have the text, and
 * add_line collects it. */
static void add_event(crn_store_opening *opening, uint32_t span, const crn_disk_detail *detail)
{
    crn_span_store *store = opening->store;
    const char *text = crn_string_at(&store->strings, (uint32_t)detail->more);
    CRN_GROW(store->events, store->event_count, opening->event_room);
    store->events[store->event_count++] =
        (crn_span_event){span, detail->key <= CAIRN_LEVEL_ERROR ? detail->key : CAIRN_LEVEL_NONE,
                         crn_store_moment(store, detail->value),
                         crn_intern(store->texts, text, strnlen(text, CAIRN_TEXT_MAX))};
}

/* Appends 16 bytes to the text of the last event. */
static void add_line(crn_store_opening *opening, detail_walk *walk, const crn_disk_detail *detail)
{
    char *to = opening->line + walk->line;
    memcpy(to, &detail->value, 8);
    memcpy(to + 8, &detail->more, 8);
    walk->line += 16;
}

/* Gives the last event its complete text. */
static void end_line(crn_store_opening *opening, const detail_walk *walk)
{
    crn_span_store *store = opening->store;
    if (walk->is_line && walk->line)
        store->events[store->event_count - 1].text =
            crn_intern(store->texts, opening->line, strnlen(opening->line, walk->line));
}

/* Adds a weight. Ignores values below 1 or from 2^62 on, which only a damaged file has. Of several
 * weights of a span the last counts. */
static void add_weight(crn_store_opening *opening, uint32_t span, const crn_disk_detail *detail)
{
    crn_span_store *store = opening->store;
    double weight;
    memcpy(&weight, &detail->value, sizeof weight);
    if (!(weight >= 1 && weight < 0x1p62))
        return;
    CRN_GROW(store->weights, store->weight_count, opening->weight_room);
    store->weights[store->weight_count++] = (crn_span_weight){span, weight};
}

/* Adds a remote parent, which takes two details with ids in big-endian order. */
static void add_remote(crn_store_opening *opening, uint32_t span, const crn_disk_detail *first,
                       const crn_disk_detail *second)
{
    CRN_GROW(opening->remotes, opening->remote_count, opening->remote_room);
    opening->remotes[opening->remote_count++] = (crn_span_remote){
        .span = span,
        .flags = first->key,
        .trace_id = {__builtin_bswap64(first->value), __builtin_bswap64(first->more)},
        .parent = __builtin_bswap64(second->value)};
}

/* Returns true if the detail continues the one before it. Ignores a remote parent without its
 * second detail. */
static bool continues(crn_store_opening *opening, uint32_t lane, const crn_disk_detail *detail,
                      detail_walk *walk)
{
    if (detail->kind != CRN_DETAIL_MORE || detail->span != walk->span)
        return false;
    if (walk->remote) {
        add_remote(opening, opening->store->lane_first[lane] + walk->span - 1, walk->remote,
                   detail);
        *walk = (detail_walk){0};
        return true;
    }
    if (walk->is_line && walk->line < CAIRN_TEXT_MAX) {
        add_line(opening, walk, detail);
        return true;
    }
    if (!walk->length || walk->length >= CAIRN_TEXT_MAX)
        return false;
    walk->length += 16;
    return true;
}

static void read_detail(crn_store_opening *opening, uint32_t lane, const crn_disk_detail *detail,
                        detail_walk *walk)
{
    crn_span_store *store = opening->store;
    uint32_t first = store->lane_first[lane], spans = store->lane_first[lane + 1] - first;
    uint32_t span = __atomic_load_n(&detail->span, __ATOMIC_RELAXED);
    if (continues(opening, lane, detail, walk))
        return;
    end_line(opening, walk);
    *walk = (detail_walk){.span = span};
    if (span == 0 || span > spans) {
        store->dangling++;
        return;
    }
    switch (detail->kind) {
    case CRN_DETAIL_TEXT:
        walk->length = 16;
        store->attribute_count += detail->key < store->key_count;
        break;
    case CRN_DETAIL_INTEGER:
    case CRN_DETAIL_NUMBER:
    case CRN_DETAIL_NAME:
        store->attribute_count += detail->key < store->key_count;
        break;
    case CRN_DETAIL_HANDOFF:
    case CRN_DETAIL_WAITS:
    case CRN_DETAIL_FOLLOWS:
        add_edge(opening, first + span - 1, detail);
        break;
    case CRN_DETAIL_WEIGHT:
        add_weight(opening, first + span - 1, detail);
        break;
    case CRN_DETAIL_COUNTER:
        add_counter(opening, first + span - 1, detail);
        break;
    case CRN_DETAIL_EVENT:
        add_event(opening, first + span - 1, detail);
        walk->is_line = !detail->more;
        break;
    case CRN_DETAIL_CPU:
        store->cpu_known = true;
        break;
    case CRN_DETAIL_REMOTE:
        walk->remote = detail;
        break;
    default: /* a strand, which nobody needs here; or written by a later version */
        break;
    }
}

/* Reads consecutive details of a lane. Returns false after its last detail. */
static bool add_details(crn_store_opening *opening, const char *data, uint64_t count, uint32_t lane,
                        detail_walk *walk)
{
    crn_span_store *store = opening->store;
    const crn_disk_detail *details = (const crn_disk_detail *)(const void *)data;
    crn_detail_piece piece = {details, store->detail_count, 0, lane};
    uint64_t most = UINT32_MAX - store->detail_count;
    most = count < most ? count : most;
    while (piece.count < most && details[piece.count].kind) {
        read_detail(opening, lane, &details[piece.count++], walk);
        crn_store_touch(store, sizeof *details);
    }
    CRN_GROW(store->detail_pieces, store->detail_piece_count, opening->detail_room);
    if (piece.count)
        store->detail_pieces[store->detail_piece_count++] = piece;
    store->detail_count += piece.count;
    return piece.count == count;
}

crn_lane_details *crn_store_details_of(const crn_store_opening *opening, uint32_t lane)
{
    uint32_t number = opening->store->lane_numbers[lane], count = opening->detail_lane_count;
    uint32_t at = CRN_BELOW(opening->details, count, number, number);
    bool found = at < count && opening->details[at].number == number;
    return found ? &opening->details[at] : NULL;
}

/* Moves a lane's details from `opening` to the store. */
static const crn_parts *take_details(crn_store_opening *opening, uint32_t lane)
{
    crn_span_store *store = opening->store;
    crn_parts *taken = &store->parts[store->parts_count++];
    crn_lane_details *found = crn_store_details_of(opening, lane);
    if (found) {
        *taken = found->parts;
        found->parts = (crn_parts){0};
    }
    return taken;
}

void crn_store_read_details(crn_store_opening *opening, uint32_t lane)
{
    const crn_parts *parts = take_details(opening, lane);
    crn_ring *ring = &opening->rings[lane];
    detail_walk walk = {0};
    if (ring->part_count) {
        add_details(opening, ring->details.data, ring->details.size / sizeof(crn_disk_detail), lane,
                    &walk);
        end_line(opening, &walk);
        opening->store->parts[opening->store->parts_count++].copy = ring->details.data;
        ring->details.data = NULL;
        return;
    }
    for (uint64_t i = 0; i < parts->count; i++)
        if (!add_details(opening, parts->parts[i].data, parts->parts[i].count, lane, &walk))
            break;
    end_line(opening, &walk);
}
