/* SPDX-License-Identifier: MIT */
#include "capture/ring.h"

#include <stdlib.h>
#include <string.h>

#include <cairn/span.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"

enum {
    SPAN_PART = CRN_RING_SPANS * sizeof(cairn_priv_span),
    DETAIL_PART = CRN_RING_DETAILS * sizeof(crn_disk_detail),
    IN_PART = CRN_RING_SPANS - 1, /* spans in a part, without its head */
    HALF_MOST = CRN_SPAN_GONE / CRN_RING_SPANS / 2
};

static uint64_t part_size(crn_section_kind kind)
{
    return kind == CRN_SECTION_SPAN_RING ? SPAN_PART : DETAIL_PART;
}

static const crn_disk_ring *head_at(const crn_bytes *bytes, uint64_t at)
{
    return (const crn_disk_ring *)(const void *)(bytes->data + at);
}

/* Returns how many parts of a ring of spans the writer has given up. They may not be overwritten
 * yet, but the ends of their open spans may get lost. Returns 0 for a ring of details. */
static uint64_t parts_given(const crn_reader *reader, crn_section_kind kind, uint32_t lane)
{
    uint64_t recycled = 0;
    crn_error error;
    if (kind == CRN_SECTION_SPAN_RING)
        crn_reader_word(reader, CRN_SECTION_LANE, lane, 0, offsetof(crn_disk_lane, spans_recycled),
                        &recycled, &error);
    return recycled / IN_PART;
}

void crn_ring_settle(const crn_reader *reader, crn_section_kind kind, uint32_t lane,
                     crn_bytes *bytes)
{
    uint64_t given = parts_given(reader, kind, lane);
    for (uint64_t at = 0; at + sizeof(crn_disk_ring) <= bytes->size; at += part_size(kind)) {
        crn_disk_ring *head = (crn_disk_ring *)(void *)(bytes->data + at);
        uint64_t now;
        crn_error error;
        if (!crn_reader_word(reader, kind, lane, 0, at + offsetof(crn_disk_ring, part), &now,
                             &error) ||
            now != head->part || now <= given)
            head->part = 0;
    }
}

/* ---- order of parts ---- */

typedef struct place {
    uint64_t part, at; /* part: number from 0; at: offset in the section */
} place;

static int compare_places(const void *left, const void *right)
{
    const place *a = left, *b = right;
    return CRN_ORDER(a->part, b->part) ?: CRN_ORDER(a->at, b->at);
}

/* Sorts the used parts by number, which is by time. Of two parts with one number keeps the first.
 * Returns their count; `*places` is NULL if out of memory. */
static uint32_t order(const crn_bytes *bytes, crn_section_kind kind, place **places)
{
    uint64_t size = part_size(kind), room = bytes->size / size + 1;
    uint32_t count = 0, kept = 0;
    *places = crn_try_calloc(room, sizeof **places);
    for (uint64_t at = 0; *places && at + sizeof(crn_disk_ring) <= bytes->size; at += size)
        if (head_at(bytes, at)->part)
            (*places)[count++] = (place){head_at(bytes, at)->part - 1, at};
    if (count)
        qsort(*places, count, sizeof **places, compare_places);
    for (uint32_t i = 0; i < count; i++)
        if (!kept || (*places)[kept - 1].part != (*places)[i].part)
            (*places)[kept++] = (*places)[i];
    return kept;
}

/* ---- spans ---- */

static uint32_t count_spans(const cairn_priv_span *spans, uint64_t room)
{
    uint32_t count = 0;
    while (count < room && spans[count].start)
        count++;
    return count;
}

/* Returns the number of whole items in a part after its head; 0 if the part ends within its
 * head. */
static uint64_t items_of(const crn_bytes *bytes, uint64_t at, uint64_t part, uint64_t item)
{
    uint64_t left = bytes->size - at, items = (left < part ? left : part) / item;
    return items ? items - 1 : 0;
}

static const crn_ring_part *find_part(const crn_ring *ring, uint64_t part)
{
    uint32_t low = CRN_BELOW(ring->parts, ring->part_count, part, part);
    return low < ring->part_count && ring->parts[low].part == part ? &ring->parts[low] : NULL;
}

/* Returns the number in the list of the span at position `within` of a part, from 0. Returns 0 if
 * the list lacks the span. */
static uint32_t number_within(const crn_ring *ring, uint64_t part, uint64_t within)
{
    const crn_ring_part *found = find_part(ring, part);
    return found && within < found->count ? found->first + (uint32_t)within : 0;
}

uint64_t crn_ring_place(const crn_ring *ring)
{
    return ring->part_count ? ring->parts[0].part * IN_PART : 0;
}

uint32_t crn_ring_number(const crn_ring *ring, uint64_t place)
{
    return number_within(ring, place / IN_PART, place % IN_PART);
}

/* Returns the number in the list of the span that a reference means: `number`, written during
 * `half` (counted from 0; see format.h). Returns 0 if the list lacks the span. */
static uint32_t resolve(const crn_ring *ring, uint32_t number, uint64_t half)
{
    uint64_t place = number - 1, part = place / CRN_RING_SPANS;
    if (!number || part >= 2 * (uint64_t)ring->half)
        return 0;
    if (part / ring->half != half % 2) {
        if (!half)
            return 0;
        half--;
    }
    uint64_t within = place % CRN_RING_SPANS;
    return within ? number_within(ring, half * ring->half + part % ring->half, within - 1) : 0;
}

static void resolve_parents(crn_ring *ring)
{
    cairn_priv_span *spans = (cairn_priv_span *)(void *)ring->spans.data;
    for (uint32_t p = 0; ring->half && p < ring->part_count; p++)
        for (uint32_t i = 0; i < ring->parts[p].count; i++) {
            cairn_priv_span *span = &spans[ring->parts[p].first - 1 + i];
            if (!span->parent)
                continue;
            uint32_t parent = resolve(ring, span->parent, ring->parts[p].part / ring->half);
            bool before = parent && parent < ring->parts[p].first + i;
            span->parent = before ? parent : CRN_SPAN_GONE;
        }
}

static bool line_up_spans(crn_ring *ring, const crn_bytes *bytes)
{
    place *places;
    uint32_t count = order(bytes, CRN_SECTION_SPAN_RING, &places), number = 0;
    ring->half = count ? head_at(bytes, places[0].at)->half : 0;
    if (ring->half < 1 || ring->half > HALF_MOST)
        count = 0;
    ring->parts = crn_try_calloc(count + (size_t)1, sizeof *ring->parts);
    ring->spans.data = crn_try_calloc(bytes->size + 1, 1);
    bool room = places && ring->parts && ring->spans.data;
    for (uint32_t i = 0; room && i < count; i++) {
        const cairn_priv_span *spans =
            (const cairn_priv_span *)(const void *)(bytes->data + places[i].at) + 1;
        uint32_t held = count_spans(spans, items_of(bytes, places[i].at, SPAN_PART, sizeof *spans));
        ring->parts[ring->part_count++] = (crn_ring_part){places[i].part, number + 1, held};
        memcpy(ring->spans.data + number * sizeof *spans, spans, held * sizeof *spans);
        number += held;
    }
    ring->spans.size = number * sizeof(cairn_priv_span);
    crn_free(places);
    if (room)
        resolve_parents(ring);
    return room;
}

/* ---- details ---- */

static bool line_up_details(crn_ring *ring, const crn_bytes *bytes)
{
    place *places;
    uint32_t count = order(bytes, CRN_SECTION_DETAIL_RING, &places);
    uint64_t used = 0;
    ring->details.data = crn_try_calloc(bytes->size + 1, 1);
    crn_disk_detail *kept = (crn_disk_detail *)(void *)ring->details.data;
    for (uint32_t i = 0; ring->details.data && i < count && ring->half; i++) {
        const crn_disk_detail *details =
            (const crn_disk_detail *)(const void *)(bytes->data + places[i].at) + 1;
        uint64_t room = items_of(bytes, places[i].at, DETAIL_PART, sizeof *details);
        uint32_t half = head_at(bytes, places[i].at)->before;
        for (uint64_t d = 0; d < room && details[d].kind; d++) {
            uint32_t number = resolve(ring, details[d].span, half);
            if (!number)
                continue;
            kept[used] = details[d];
            kept[used++].span = number;
        }
    }
    ring->details.size = used * sizeof *kept;
    bool room_for_all = places && ring->details.data;
    crn_free(places);
    return room_for_all;
}

/* ---- both ---- */

static bool read_part(const crn_reader *reader, crn_section_kind kind, uint32_t lane,
                      uint64_t *left, crn_bytes *bytes, crn_error *error)
{
    uint64_t size = crn_reader_size(reader, kind, lane, 0);
    *bytes = (crn_bytes){0};
    if (size > *left)
        return crn_error_set(error, CAIRN_E_FORMAT, "damaged: its lanes overlap");
    *left -= size;
    if (!crn_reader_section(reader, kind, lane, 0, size, bytes, error))
        return false;
    crn_ring_settle(reader, kind, lane, bytes);
    return true;
}

bool crn_ring_read(const crn_reader *reader, uint32_t lane, uint64_t *left, crn_ring *ring,
                   crn_error *error)
{
    static const struct {
        crn_section_kind kind;
        bool (*line_up)(crn_ring *, const crn_bytes *);
    } sections[] = {{CRN_SECTION_SPAN_RING, line_up_spans},
                    {CRN_SECTION_DETAIL_RING, line_up_details}};
    *ring = (crn_ring){.half = 0};
    for (int i = 0; i < 2; i++) {
        crn_bytes bytes;
        bool good = read_part(reader, sections[i].kind, lane, left, &bytes, error);
        if (good && !sections[i].line_up(ring, &bytes))
            good = crn_error_set(error, CAIRN_E_MEMORY, "no memory for its spans");
        crn_free(bytes.data);
        if (!good) {
            crn_ring_free(ring);
            return false;
        }
    }
    return true;
}

void crn_ring_free(crn_ring *ring)
{
    crn_free(ring->parts);
    crn_free(ring->spans.data);
    crn_free(ring->details.data);
    *ring = (crn_ring){0};
}
