/* SPDX-License-Identifier: MIT
 *
 * Opens a span store: finds the sections, counts and indexes spans and details, and repairs what a
 * damaged file could lead astray.
 */
#include "profile/profile.h"
#include "spans/span_names.h"
#include "spans/store_opening.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void *crn_store_grow(void *array, uint32_t count, uint32_t *room, size_t size)
{
    if (count < *room)
        return array;
    *room = *room > UINT32_MAX / 2 ? UINT32_MAX : *room ? *room * 2 : 64;
    return crn_realloc(array, *room, size);
}

/* ---- names ---- */

static bool read_table(crn_store_opening *opening, crn_section_kind kind, crn_bytes *bytes)
{
    return crn_reader_section(opening->reader, kind, 0, 0, opening->reader->header.used[kind],
                              bytes, opening->error);
}

static bool open_keys(crn_store_opening *opening, crn_capture_texts *texts)
{
    crn_bytes bytes;
    if (!read_table(opening, CRN_SECTION_KEYS, &bytes))
        return false;
    crn_span_store *store = opening->store;
    const crn_disk_key *keys = (const crn_disk_key *)(void *)bytes.data;
    store->key_count = (uint32_t)(bytes.size / sizeof *keys);
    store->keys = crn_calloc(store->key_count, sizeof *store->keys);
    for (uint32_t k = 0; k < store->key_count; k++)
        store->keys[k] = crn_capture_text_at(texts, keys[k].name);
    crn_free(bytes.data);
    return true;
}

static bool open_lanes(crn_store_opening *opening, crn_capture_texts *texts)
{
    crn_span_store *store = opening->store;
    for (uint32_t number = 0; crn_reader_lane(opening->reader, &number); number++) {
        crn_bytes header;
        if (!crn_reader_section(opening->reader, CRN_SECTION_LANE, number, 0, sizeof(crn_disk_lane),
                                &header, opening->error))
            return false;
        crn_disk_lane disk = {0};
        memcpy(&disk, header.data, header.size);
        crn_free(header.data);
        store->dropped += disk.spans_dropped;
        store->details_dropped += disk.details_dropped;
        store->recycled += disk.spans_recycled;
        store->skipped += disk.spans_skipped;
        uint32_t count = store->lane_count + 1;
        store->lanes = crn_realloc((void *)store->lanes, count, sizeof *store->lanes);
        store->lane_numbers = crn_realloc(store->lane_numbers, count, sizeof *store->lane_numbers);
        store->lanes[store->lane_count] = crn_capture_text_at(texts, disk.name);
        store->lane_numbers[store->lane_count++] = number;
        if (number == UINT32_MAX)
            break;
    }
    store->lane_first = crn_calloc(store->lane_count + (size_t)1, sizeof *store->lane_first);
    store->parts = crn_calloc(store->lane_count * (size_t)2, sizeof *store->parts);
    return true;
}

/* ---- spans ---- */

static bool open_section(crn_store_opening *opening, crn_section_kind kind, uint32_t lane,
                         uint64_t item, crn_parts **found)
{
    crn_span_store *store = opening->store;
    uint32_t number = store->lane_numbers[lane];
    uint64_t size = crn_reader_size(opening->reader, kind, number, 0);
    *found = &store->parts[store->parts_count++];
    if (size > opening->left)
        return crn_error_set(opening->error, CAIRN_E_FORMAT, "damaged: its lanes overlap");
    opening->left -= size;
    return crn_mapping_section(opening->mapping, opening->reader, kind, number, item, *found,
                               opening->error);
}

/* Adds up to `most` spans as one piece. Returns how many there were before the first unused
 * record. */
uint32_t crn_store_add_piece(crn_store_opening *opening, const cairn_priv_span *spans,
                             uint64_t most, uint32_t lane)
{
    crn_span_store *store = opening->store;
    crn_span_piece piece = {.spans = spans,
                            .first = store->count,
                            .lane = lane,
                            .lane_first = store->lane_first[lane],
                            .earliest = UINT64_MAX};
    uint64_t last = opening->last;
    for (; piece.count < most && spans[piece.count].start; piece.count++) {
        const cairn_priv_span *span = &spans[piece.count];
        uint64_t start = span->start, end = span->end;
        piece.earliest = start < piece.earliest ? start : piece.earliest;
        piece.latest = start > piece.latest ? start : piece.latest;
        piece.blocks |= UINT64_C(1) << (span->block & 63);
        last = end > last ? end : last;
        store->open += end == 0;
    }
    opening->last = piece.latest > last ? piece.latest : last;
    if (!piece.count)
        return 0;
    store->pieces = crn_store_grow(store->pieces, store->piece_count, &opening->piece_room,
                                   sizeof *store->pieces);
    store->pieces[store->piece_count++] = piece;
    store->count += piece.count;
    return piece.count;
}

static bool open_spans(crn_store_opening *opening, uint32_t lane)
{
    crn_parts *parts;
    if (!open_section(opening, CRN_SECTION_SPANS, lane, sizeof(cairn_priv_span), &parts))
        return false;
    for (uint64_t i = 0; i < parts->count; i++) {
        const cairn_priv_span *spans = (const cairn_priv_span *)(const void *)parts->parts[i].data;
        for (uint64_t left = parts->parts[i].count; left;) {
            uint64_t room = CRN_SPAN_NONE - 1 - opening->store->count;
            uint64_t most = left < 1 << CRN_PIECE_BITS ? left : 1 << CRN_PIECE_BITS;
            uint32_t got = crn_store_add_piece(opening, spans, most < room ? most : room, lane);
            if (got < most)
                return true;
            spans += got;
            left -= got;
        }
    }
    return true;
}

void crn_store_index_pieces(crn_span_store *store)
{
    uint32_t size = (store->count >> CRN_PIECE_BITS) + 2, piece = 0;
    store->piece_at = crn_calloc(size, sizeof *store->piece_at);
    for (uint32_t i = 0; i < size; i++) {
        uint64_t span = (uint64_t)i << CRN_PIECE_BITS;
        while (piece + 1 < store->piece_count && store->pieces[piece + 1].first <= span)
            piece++;
        store->piece_at[i] = piece;
    }
}

/* ---- attributes, edges, weights ---- */

/* Returns the span of a name, CRN_SPAN_NONE if there is none. */
static uint32_t span_named(const crn_span_store *store, uint64_t name)
{
    uint32_t lane = crn_lane_named(store->lane_numbers, store->lane_count, name);
    if (lane == store->lane_count)
        return CRN_SPAN_NONE;
    uint64_t place = crn_span_name_place(name);
    uint32_t count = store->lane_first[lane + 1] - store->lane_first[lane];
    return place < count ? store->lane_first[lane] + (uint32_t)place : CRN_SPAN_NONE;
}

static void add_edge(crn_store_opening *opening, uint32_t span, const crn_disk_detail *detail)
{
    crn_span_store *store = opening->store;
    uint32_t other = span_named(store, detail->value);
    if (other == CRN_SPAN_NONE || other == span) {
        store->dangling++;
    } else if (detail->kind == CRN_DETAIL_HANDOFF) {
        store->moves = crn_store_grow(store->moves, store->move_count, &opening->move_room,
                                      sizeof *store->moves);
        store->moves[store->move_count++] = (crn_span_move){
            span, other, detail->more ? crn_store_moment(store, detail->more) : 0, true};
    } else {
        store->edges = crn_store_grow(store->edges, store->edge_count, &opening->edge_room,
                                      sizeof *store->edges);
        store->edges[store->edge_count++] = (crn_span_edge){
            span, other, detail->kind == CRN_DETAIL_WAITS ? CRN_EDGE_WAITS : CRN_EDGE_FOLLOWS,
            detail->more ? crn_store_moment(store, detail->more) : 0};
    }
}

/* Adds a weight. Values below 1 are of a damaged file and are ignored. If a span has several
 * weights, the last one counts. */
static void add_weight(crn_store_opening *opening, uint32_t span, const crn_disk_detail *detail)
{
    crn_span_store *store = opening->store;
    double weight;
    memcpy(&weight, &detail->value, sizeof weight);
    if (!(weight >= 1 && weight < 0x1p62))
        return;
    store->weights = crn_store_grow(store->weights, store->weight_count, &opening->weight_room,
                                    sizeof *store->weights);
    store->weights[store->weight_count++] = (crn_span_weight){span, weight};
}

/* Progress through a text attribute that is split over several details. */
typedef struct text_walk {
    uint32_t span;
    size_t length; /* 0: not within a text */
} text_walk;

static void read_detail(crn_store_opening *opening, uint32_t lane, const crn_disk_detail *detail,
                        text_walk *text)
{
    crn_span_store *store = opening->store;
    uint32_t first = store->lane_first[lane], spans = store->lane_first[lane + 1] - first;
    if (detail->kind == CRN_DETAIL_MORE && text->length && text->length < CAIRN_TEXT_MAX &&
        detail->span == text->span) {
        text->length += 16;
        return;
    }
    text->length = 0;
    if (detail->span == 0 || detail->span > spans) {
        store->dangling++;
        return;
    }
    switch (detail->kind) {
    case CRN_DETAIL_TEXT:
        *text = (text_walk){detail->span, 16};
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
        add_edge(opening, first + detail->span - 1, detail);
        break;
    case CRN_DETAIL_WEIGHT:
        add_weight(opening, first + detail->span - 1, detail);
        break;
    case CRN_DETAIL_CPU:
        store->cpu_known = true;
        break;
    case CRN_DETAIL_REMOTE:
        opening->unusual = true;
        break;
    default: /* written by a later version */
        break;
    }
}

static bool open_details(crn_store_opening *opening, uint32_t lane)
{
    crn_parts *parts;
    crn_span_store *store = opening->store;
    text_walk text = {0};
    if (!open_section(opening, CRN_SECTION_DETAILS, lane, sizeof(crn_disk_detail), &parts))
        return false;
    for (uint64_t i = 0; i < parts->count; i++) {
        const crn_disk_detail *details =
            (const crn_disk_detail *)(const void *)parts->parts[i].data;
        crn_detail_piece piece = {details, store->detail_count, 0, lane};
        uint64_t most = parts->parts[i].count;
        most = most < UINT32_MAX - store->detail_count ? most : UINT32_MAX - store->detail_count;
        while (piece.count < most && details[piece.count].kind)
            read_detail(opening, lane, &details[piece.count++], &text);
        store->detail_pieces = crn_store_grow(store->detail_pieces, store->detail_piece_count,
                                              &opening->detail_room, sizeof *store->detail_pieces);
        if (piece.count)
            store->detail_pieces[store->detail_piece_count++] = piece;
        store->detail_count += piece.count;
        if (piece.count < parts->parts[i].count)
            break;
    }
    return true;
}

static bool open_store(crn_store_opening *opening)
{
    crn_span_store *store = opening->store;
    crn_bytes *strings = &store->strings;
    if (!read_table(opening, CRN_SECTION_STRINGS, strings))
        return false;
    crn_capture_texts texts = {.strings = strings, .into = store->texts};
    bool good = open_keys(opening, &texts) && open_lanes(opening, &texts);
    crn_capture_texts_end(&texts);
    for (uint32_t lane = 0; good && lane < store->lane_count; lane++) {
        store->lane_first[lane] = store->count;
        good = open_spans(opening, lane);
        store->lane_first[lane + 1] = store->count;
    }
    if (good)
        crn_store_index_pieces(store);
    for (uint32_t lane = 0; good && lane < store->lane_count; lane++)
        good = open_details(opening, lane);
    if (good)
        crn_store_finish(opening);
    return good;
}

/* Returns true if the capture has sections that only crn_trace_load can read. */
static bool has_unusual(const crn_reader *reader)
{
    if (reader->header.used[CRN_SECTION_PROCESSES])
        return true;
    for (size_t i = 0; i < reader->chunk_count; i++)
        switch (reader->chunks[i].kind) {
        case CRN_SECTION_SPAN_RING:
        case CRN_SECTION_DETAIL_RING:
        case CRN_SECTION_PROCESSES:
            return true;
        default:
            break;
        }
    return false;
}

crn_span_store *crn_store_open(const char *path, crn_error *error)
{
    crn_reader reader;
    if (!crn_reader_open(&reader, path, error))
        return NULL;
    crn_span_store *store = crn_calloc(1, sizeof *store);
    store->texts = crn_interning_new();
    store->clock_first = reader.header.first.clock;
    store->scale = crn_reader_clock_scale(&reader);
    crn_store_opening opening = {.store = store,
                                 .reader = &reader,
                                 .left = reader.file_size,
                                 .unusual = has_unusual(&reader),
                                 .error = error};
    if (reader.header.state != CRN_STATE_RECORDING) {
        crn_mapping_open(&store->mapping, &reader);
        opening.mapping = &store->mapping;
    }
    bool good = opening.unusual || open_store(&opening);
    crn_reader_close(&reader);
    if (good && !opening.unusual)
        return store;
    crn_store_close(store);
    crn_trace *trace = good ? crn_trace_load(path, error) : NULL;
    if (!trace)
        return NULL;
    store = crn_store_of(trace);
    store->own = trace;
    crn_free(trace->spans); /* copied into the store */
    trace->spans = NULL;
    trace->span_count = 0;
    return store;
}

void crn_store_close(crn_span_store *store)
{
    if (!store)
        return;
    for (uint32_t i = 0; i < store->parts_count; i++)
        crn_parts_free(&store->parts[i]);
    crn_mapping_close(&store->mapping);
    crn_free(store->parts);
    crn_free(store->pieces);
    crn_free(store->piece_at);
    crn_free(store->detail_pieces);
    crn_free((void *)store->lanes);
    crn_free(store->lane_first);
    crn_free(store->lane_numbers);
    crn_free((void *)store->keys);
    crn_free(store->edges);
    crn_free(store->moves);
    crn_free(store->moved);
    crn_free(store->attributes);
    crn_free(store->weights);
    crn_free(store->weight);
    crn_free(store->cpu);
    crn_free(store->covered);
    crn_free(store->first_child);
    crn_free(store->children);
    crn_free(store->made);
    crn_free(store->made_ends);
    crn_free(store->strings.data);
    crn_trace_free(store->own);
    if (store->texts)
        crn_interning_free(store->texts);
    crn_free(store);
}
