/* SPDX-License-Identifier: MIT
 *
 * Opens a span store from a capture: finds the sections of spans and details and lists the pieces
 * of spans. store_details.c reads details; store_build.c makes the store consistent, whatever a
 * damaged file contains.
 */
#include "profile/profile.h"
#include "spans/store_opening.h"
#include "spans/trace_process.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* ---- names ---- */

static bool read_table(crn_store_opening *opening, crn_section_kind kind, crn_bytes *bytes)
{
    return crn_reader_section(opening->reader, kind, 0, 0, opening->reader->header.used[kind],
                              bytes, opening->error);
}

/* Reads the names of attribute keys. */
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

/* Reads all lane headers: threads, offsets of names, and totals of spans that were lost. */
static bool open_lanes(crn_store_opening *opening)
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
        opening->limited += disk.spans_limited;
        opening->late += disk.spans_late;
        opening->trees_skipped += disk.trees_skipped;
        uint32_t count = store->lane_count + 1;
        opening->names = crn_realloc(opening->names, count, sizeof *opening->names);
        store->lane_numbers = crn_realloc(store->lane_numbers, count, sizeof *store->lane_numbers);
        store->threads = crn_realloc(store->threads, count, sizeof *store->threads);
        if (count > CRN_LANES_MAX)
            return crn_error_set(opening->error, CAIRN_E_FORMAT, "damaged: it has %u lanes", count);
        opening->names[store->lane_count] = disk.name;
        store->threads[store->lane_count] = disk.thread;
        store->lane_numbers[store->lane_count++] = number;
        if (number == UINT32_MAX)
            break;
    }
    store->lane_first = crn_calloc(store->lane_count + (size_t)1, sizeof *store->lane_first);
    store->parts = crn_calloc(store->lane_count * (size_t)4, sizeof *store->parts);
    opening->rings = crn_calloc(store->lane_count + (size_t)1, sizeof *opening->rings);
    return true;
}

/* Reads the keys and the names of the lanes, after all that refers to them. */
static bool open_names(crn_store_opening *opening)
{
    crn_span_store *store = opening->store;
    if (!read_table(opening, CRN_SECTION_STRINGS, &store->strings))
        return false;
    crn_capture_texts texts = {.strings = &store->strings, .into = store->texts};
    bool good = open_keys(opening, &texts);
    store->lanes = crn_calloc(store->lane_count, sizeof *store->lanes);
    for (uint32_t lane = 0; lane < store->lane_count; lane++)
        store->lanes[lane] = crn_capture_text_at(&texts, opening->names[lane]);
    crn_capture_texts_end(&texts);
    return good;
}

/* ---- spans ---- */

/* Adds consecutive spans of a lane, in pieces. Returns false after the lane's last span, or if the
 * store is full. */
static bool add_pieces(crn_store_opening *opening, const char *data, uint64_t count, uint32_t lane)
{
    const cairn_priv_span *spans = (const cairn_priv_span *)(const void *)data;
    while (count) {
        uint64_t room = CRN_SPAN_NONE - 1 - opening->store->count;
        uint64_t most = count < 1 << CRN_PIECE_BITS ? count : 1 << CRN_PIECE_BITS;
        uint32_t got = crn_store_add_piece(opening, spans, most < room ? most : room, lane);
        crn_store_touch(opening->store, got * sizeof *spans);
        if (got < most)
            return false;
        spans += got;
        count -= got;
    }
    return true;
}

/* Reads the spans and details of a lane with a ring. The store owns the spans' bytes. */
static bool open_ring(crn_store_opening *opening, uint32_t lane)
{
    crn_span_store *store = opening->store;
    crn_ring *ring = &opening->rings[lane];
    if (!crn_ring_read(opening->reader, store->lane_numbers[lane], &opening->left, ring,
                       opening->error))
        return false;
    add_pieces(opening, ring->spans.data, ring->spans.size / sizeof(cairn_priv_span), lane);
    store->parts[store->parts_count++].copy = ring->spans.data;
    ring->spans.data = NULL;
    return true;
}

static bool find_details_of(crn_store_opening *opening, uint32_t number)
{
    uint32_t count = opening->detail_lane_count;
    if (count >= CRN_LANES_MAX)
        return crn_error_set(opening->error, CAIRN_E_FORMAT, "damaged: it has %u lanes", count + 1);
    CRN_GROW(opening->details, count, opening->detail_lane_room);
    opening->details[count] = (crn_lane_details){.number = number};
    opening->detail_lane_count++;
    crn_lane_details *its = &opening->details[count];
    return crn_store_find_section(opening, CRN_SECTION_DETAILS, number, sizeof(crn_disk_detail),
                                  &its->parts) &&
           crn_store_find_section(opening, CRN_SECTION_SAMPLES, number, sizeof(crn_disk_sample),
                                  &its->samples);
}

/* Refreshes the reader of a live capture. What was read before no more counts as a part of the
 * file, which may have become shorter by its end. */
static bool refresh(crn_store_opening *opening)
{
    bool live = opening->reader->header.state == CRN_STATE_RECORDING;
    bool good = crn_reader_refresh(opening->reader, opening->error);
    if (live)
        opening->left = opening->reader->file_size;
    return good;
}

/* Finds the details and samples of all lanes; in a live capture copies them. The program writes a
 * detail after the spans that it names, and a sample after its context: see crn_reader_refresh. */
static bool find_details(crn_store_opening *opening)
{
    bool good = true;
    for (uint32_t number = 0; good && crn_reader_lane(opening->reader, &number); number++) {
        good = find_details_of(opening, number);
        if (number == UINT32_MAX)
            break;
    }
    return good;
}

/* Reads the spans of a lane from its section, or from its ring. */
static bool open_spans(crn_store_opening *opening, uint32_t lane)
{
    crn_parts *parts;
    if (!crn_reader_size(opening->reader, CRN_SECTION_SPANS, opening->store->lane_numbers[lane], 0))
        return open_ring(opening, lane);
    if (!crn_store_section(opening, CRN_SECTION_SPANS, lane, sizeof(cairn_priv_span), &parts))
        return false;
    for (uint64_t i = 0; i < parts->count; i++)
        if (!add_pieces(opening, parts->parts[i].data, parts->parts[i].count, lane))
            break;
    return true;
}

/* ---- whole captures ---- */

static bool open_store(crn_store_opening *opening)
{
    crn_span_store *store = opening->store;
    bool good = find_details(opening) && refresh(opening) && open_lanes(opening) &&
                refresh(opening) && open_names(opening);
    store->clock_first = opening->reader->header.first.clock;
    store->scale = crn_reader_clock_scale(opening->reader);
    for (uint32_t lane = 0; good && lane < store->lane_count; lane++) {
        store->lane_first[lane] = store->count;
        good = open_spans(opening, lane);
        store->lane_first[lane + 1] = store->count;
    }
    if (good)
        crn_store_index_pieces(store);
    for (uint32_t lane = 0; good && lane < store->lane_count; lane++)
        crn_store_read_details(opening, lane);
    for (uint32_t lane = 0; good && lane < store->lane_count; lane++)
        good = crn_store_read_off_core(opening, lane);
    crn_samples_begin(&opening->samples, &store->samples);
    for (uint32_t lane = 0; good && lane < store->lane_count; lane++)
        good = crn_store_read_samples(opening, lane);
    crn_samples_sort(&store->samples);
    if (good)
        crn_store_finish(opening);
    return good;
}

bool crn_store_read(crn_store_opening *opening)
{
    const crn_reader *reader = opening->reader;
    crn_span_store *store = opening->store = crn_calloc(1, sizeof *store);
    store->texts = crn_interning_new();
    store->resting = opening->resting;
    opening->left = reader->file_size;
    if (reader->header.state != CRN_STATE_RECORDING) {
        crn_mapping_open(&store->mapping, reader);
        opening->mapping = &store->mapping;
    }
    if (open_store(opening))
        return true;
    crn_store_opening_end(opening);
    crn_store_close(store);
    opening->store = NULL;
    return false;
}

void crn_store_opening_end(crn_store_opening *opening)
{
    for (uint32_t lane = 0; opening->rings && lane < opening->store->lane_count; lane++)
        crn_ring_free(&opening->rings[lane]);
    crn_free(opening->rings);
    for (uint32_t i = 0; i < opening->detail_lane_count; i++) {
        crn_parts_free(&opening->details[i].parts);
        crn_parts_free(&opening->details[i].samples);
    }
    crn_free(opening->details);
    crn_free(opening->names);
    crn_store_samples_end(opening);
    crn_free(opening->remotes);
    crn_free(opening->cut);
    opening->rings = NULL;
    opening->details = NULL;
    opening->names = NULL;
    opening->detail_lane_count = 0;
    opening->remotes = NULL;
    opening->cut = NULL;
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
    crn_free(store->counters);
    crn_free(store->events);
    crn_free(store->off_core);
    crn_samples_free(&store->samples);
    crn_free(store->threads);
    crn_free(store->moves);
    crn_free(store->moved);
    crn_free(store->attributes);
    crn_free(store->weights);
    crn_free(store->weight);
    crn_free(store->cpu);
    crn_free(store->ready);
    crn_free(store->covered);
    crn_free(store->first_child);
    crn_free(store->children);
    crn_free(store->made);
    crn_free(store->made_ends);
    crn_free(store->strings.data);
    crn_trace_free(store->own);
    crn_trace_free(store->own_more);
    if (store->texts)
        crn_interning_free(store->texts);
    crn_free(store);
}
