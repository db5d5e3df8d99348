/* SPDX-License-Identifier: MIT */
#include "support/damage.h"

#include <string.h>

#include <cairn/span.h>

#include "capture/format.h"

typedef struct damaging {
    random_source *random;
    unsigned char *bytes;
    size_t size;
    size_t entries[256]; /* offsets of its directory entries */
    uint32_t count;
} damaging;

static void find_entries(damaging *its)
{
    crn_disk_header header;
    crn_disk_directory directory;
    its->count = 0;
    if (its->size < sizeof header)
        return;
    memcpy(&header, its->bytes, sizeof header);
    uint64_t at = header.directory, after = 0;
    while (at > after && at < its->size && its->size - at > sizeof directory) {
        memcpy(&directory, its->bytes + at, sizeof directory);
        after = at;
        at += sizeof directory;
        for (uint32_t i = 0; i < directory.count && i < 256 && its->count < 256; i++) {
            if (its->size - at < sizeof(crn_disk_chunk))
                return;
            its->entries[its->count++] = at;
            at += sizeof(crn_disk_chunk);
        }
        at = directory.next;
    }
}

/* ---- new values ---- */

/* Returns a value that a span's name could have: a lane in the upper half, a small number below. */
static uint64_t likely(random_source *random)
{
    static const uint64_t odd[] = {0,
                                   1,
                                   2,
                                   3,
                                   8,
                                   16,
                                   24,
                                   32,
                                   64,
                                   0x7f,
                                   0xff,
                                   0xffff,
                                   0xfffff,
                                   0x100000,
                                   0x7ffffffe,
                                   0x7fffffff,
                                   0x80000000,
                                   0xfffffffe,
                                   0xffffffff,
                                   UINT64_C(1) << 32,
                                   UINT64_C(1) << 52,
                                   UINT64_C(1) << 62,
                                   (UINT64_C(1) << 62) - 1,
                                   UINT64_C(1) << 63,
                                   UINT64_MAX - 7,
                                   UINT64_MAX - 1,
                                   UINT64_MAX};
    switch (random_below(random, 5)) {
    case 0:
        return odd[random_below(random, sizeof odd / sizeof *odd)];
    case 1:
        return random_below(random, 20);
    case 2:
        return (uint64_t)random_below(random, 4) << 32 | random_below(random, 20);
    case 3:
        return random_next(random) >> random_below(random, 64);
    default:
        return UINT64_C(1) << random_below(random, 64);
    }
}

static void change(damaging *its, size_t at, size_t width)
{
    uint64_t value = 0;
    if (at + width > its->size)
        return;
    memcpy(&value, its->bytes + at, width);
    switch (random_below(its->random, 4)) {
    case 0:
        value ^= UINT64_C(1) << random_below(its->random, (uint32_t)(8 * width));
        break;
    case 1:
        value += (uint64_t)random_below(its->random, 17) - 8;
        break;
    default:
        value = likely(its->random);
        break;
    }
    memcpy(its->bytes + at, &value, width);
}

static size_t width(random_source *random)
{
    static const size_t widths[] = {2, 4, 4, 8, 8, 8};
    return widths[random_below(random, 6)];
}

/* ---- choice of fields ---- */

/* Returns the size of a section's items, and of its header. */
static uint64_t item_of(uint16_t kind, uint64_t *before)
{
    *before = kind == CRN_SECTION_LANE ? sizeof(crn_disk_lane) : 0;
    switch (kind) {
    case CRN_SECTION_SPANS:
    case CRN_SECTION_SPAN_RING:
        return sizeof(cairn_priv_span);
    case CRN_SECTION_RECORDS:
        return 32;
    case CRN_SECTION_DETAILS:
    case CRN_SECTION_DETAIL_RING:
    case CRN_SECTION_LANE:
        return 24;
    case CRN_SECTION_PROCESSES:
        return sizeof(crn_disk_process);
    case CRN_SECTION_HISTOGRAMS:
        return sizeof(crn_disk_histogram);
    case CRN_SECTION_STRINGS:
    case CRN_SECTION_PACKED:
        return 16;
    default:
        return 8;
    }
}

static bool is_empty(const unsigned char *bytes, uint64_t size)
{
    for (uint64_t i = 0; i < size; i++)
        if (bytes[i])
            return false;
    return true;
}

/* Returns the number of items up to and including the first empty one. */
static uint64_t items_in_use(const damaging *its, const crn_disk_chunk *chunk, uint64_t before,
                             uint64_t item)
{
    uint64_t count = 0, left = its->size - chunk->offset;
    left = left < chunk->size ? left : chunk->size;
    while (before + (count + 1) * item <= left && count < 4096 &&
           !(count > 1 && is_empty(its->bytes + chunk->offset + before + count * item, item)))
        count++;
    return count;
}

static bool chunk_at(const damaging *its, uint32_t entry, crn_disk_chunk *chunk)
{
    memcpy(chunk, its->bytes + its->entries[entry], sizeof *chunk);
    return chunk->kind && chunk->size && chunk->offset < its->size;
}

static void change_item(damaging *its, const crn_disk_chunk *chunk)
{
    uint64_t before, item = item_of(chunk->kind, &before);
    uint64_t count = items_in_use(its, chunk, before, item);
    size_t size = width(its->random), at = chunk->offset;
    if (before && random_chance(its->random, 1, 4)) {
        change(its, at + size * random_below(its->random, (uint32_t)(before / size)), size);
        return;
    }
    if (!count)
        return;
    at += before + item * random_below(its->random, (uint32_t)count);
    if (random_chance(its->random, 1, 6)) { /* equal to another */
        uint64_t from = chunk->offset + before + item * random_below(its->random, (uint32_t)count);
        memmove(its->bytes + at, its->bytes + from, item);
        return;
    }
    uint64_t within = item < 64 ? item : random_chance(its->random, 3, 4) ? 64 : item;
    change(its, at + size * random_below(its->random, (uint32_t)(within / size)), size);
}

/* Gives a chunk's entry the values of another, or another offset. */
static void change_entry(damaging *its, size_t at)
{
    static const struct {
        uint8_t place, width;
    } fields[] = {{0, 2}, {2, 2}, {4, 4}, {8, 8}, {16, 8}, {24, 8}};
    uint32_t field = random_below(its->random, 6);
    size_t other = its->entries[random_below(its->random, its->count)];
    at += fields[field].place;
    if (random_chance(its->random, 1, 2))
        memcpy(its->bytes + at, its->bytes + other + fields[field].place, fields[field].width);
    else if (field == 0)
        its->bytes[at] = (unsigned char)random_below(its->random, 20);
    else
        change(its, at, fields[field].width);
}

/* Renumbers a lane in the entries of all its chunks. */
static void rename_lane(damaging *its)
{
    crn_disk_chunk chunk;
    if (!chunk_at(its, random_below(its->random, its->count), &chunk))
        return;
    uint32_t from = chunk.lane, to = (uint32_t)likely(its->random);
    for (uint32_t i = 0; i < its->count; i++) {
        memcpy(&chunk, its->bytes + its->entries[i], sizeof chunk);
        if (chunk.lane == from && chunk.kind >= CRN_SECTION_LANE &&
            chunk.kind != CRN_SECTION_KEYS) {
            chunk.lane = to;
            memcpy(its->bytes + its->entries[i], &chunk, sizeof chunk);
        }
    }
}

static void change_header(damaging *its)
{
    enum { FIRST = offsetof(crn_disk_header, state) };
    size_t size = width(its->random), left = sizeof(crn_disk_header) - FIRST;
    change(its, FIRST + size * random_below(its->random, (uint32_t)(left / size)), size);
}

void damage_fields(random_source *random, unsigned char *bytes, size_t size, uint32_t fields)
{
    damaging its = {.random = random, .bytes = bytes, .size = size};
    crn_disk_chunk chunk;
    if (size < sizeof(crn_disk_header))
        return;
    find_entries(&its);
    for (uint32_t i = 0; i < fields; i++) {
        uint32_t which = random_below(random, 16);
        if (which == 0 || !its.count)
            change_header(&its);
        else if (which == 1)
            rename_lane(&its);
        else if (which < 4)
            change_entry(&its, its.entries[random_below(random, its.count)]);
        else if (chunk_at(&its, random_below(random, its.count), &chunk))
            change_item(&its, &chunk);
    }
}
