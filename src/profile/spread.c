/* SPDX-License-Identifier: MIT */
#include "profile/spread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/cairn.h>

#include "base/memory.h"
#include "base/order.h"
#include "capture/reader.h"
#include "profile/capture_texts.h"

/* ns, 146 years */
#define LATEST 0x1p62

static uint64_t in_ns(double time)
{
    return time < LATEST ? (uint64_t)time : (uint64_t)LATEST;
}

/* Returns the sum, saturated: damaged files contain any value, and a part must not exceed its
 * sum. */
static uint64_t sum(uint64_t left, uint64_t right)
{
    return left + right < left ? UINT64_MAX : left + right;
}

/* ---- bars ---- */

/* Returns the lower bound of a bucket, in the histogram's unit. */
static double begin_of(uint32_t bucket)
{
    enum { BITS = CRN_HISTOGRAM_BITS, FINE = 1 << BITS };
    if (bucket < FINE)
        return bucket;
    uint32_t shift = (bucket >> BITS) - 1;
    return ldexp((double)(FINE + (bucket & (FINE - 1))), (int)shift);
}

static void read_bars(crn_spread *spread, const uint64_t *buckets, double scale)
{
    uint32_t count = 0;
    for (uint32_t b = 0; b < CRN_HISTOGRAM_BUCKETS; b++)
        count += buckets[b] != 0;
    spread->bars = crn_calloc(count + (size_t)1, sizeof *spread->bars);
    for (uint32_t b = 0; b < CRN_HISTOGRAM_BUCKETS; b++) {
        if (!buckets[b])
            continue;
        spread->bars[spread->bar_count++] = (crn_spread_bar){
            .low = begin_of(b) * scale, .high = begin_of(b + 1) * scale, .count = buckets[b]};
        spread->count = sum(spread->count, buckets[b]);
    }
}

static double middle_of(const crn_spread *spread, const crn_spread_bar *bar)
{
    double middle = (bar->low + bar->high) / 2;
    middle = middle < (double)spread->min ? (double)spread->min : middle;
    return middle > (double)spread->max ? (double)spread->max : middle;
}

uint64_t crn_spread_at(const crn_spread *spread, double share)
{
    double rank = ceil(share * (double)spread->count);
    uint64_t wanted = rank < 1 ? 1 : rank < 0x1p64 ? (uint64_t)rank : UINT64_MAX, seen = 0;
    for (uint32_t b = 0; b < spread->bar_count; b++) {
        seen = sum(seen, spread->bars[b].count);
        if (seen >= wanted)
            return in_ns(middle_of(spread, &spread->bars[b]));
    }
    return spread->max;
}

/* ---- sums ---- */

static int compare_spreads(const void *left, const void *right)
{
    const crn_spread *a = left, *b = right;
    int order = CRN_ORDER(a->block, b->block)
                    ?: CRN_ORDER(a->kind, b->kind)
                    ?: CRN_ORDER(a->key, b->key)
                    ?: CRN_ORDER(a->value, b->value);
    return order ?: a->text && b->text ? strcmp(a->text, b->text) : 0;
}

static void add_bars(crn_spread *into, const crn_spread *from)
{
    crn_spread_bar *bars = crn_calloc(into->bar_count + from->bar_count + (size_t)1, sizeof *bars);
    const crn_spread_bar *mine = into->bars, *its = from->bars;
    uint32_t count = 0, i = 0, f = 0;
    while (i < into->bar_count || f < from->bar_count) {
        bool last = f == from->bar_count;
        bool first = last || (i < into->bar_count && mine[i].low <= its[f].low);
        bool same = first && !last && mine[i].low == its[f].low && mine[i].high == its[f].high;
        bars[count] = first ? mine[i] : its[f];
        bars[count].count = sum(bars[count].count, same ? its[f].count : 0);
        count++;
        i += first;
        f += same || !first;
    }
    crn_free(into->bars);
    into->bars = bars;
    into->bar_count = count;
}

static void add_up(crn_spread *into, const crn_spread *from)
{
    into->count = sum(into->count, from->count);
    into->total = sum(into->total, from->total);
    into->self = sum(into->self, from->self);
    into->min = into->min < from->min ? into->min : from->min;
    into->max = into->max > from->max ? into->max : from->max;
    into->cpu = sum(into->cpu, from->cpu);
    into->cpu_count = sum(into->cpu_count, from->cpu_count);
    into->cpu_wall = sum(into->cpu_wall, from->cpu_wall);
    add_bars(into, from);
}

/* Merges spreads with equal block, kind, key and value. */
static void join(crn_spreads *spreads)
{
    uint32_t kept = 0;
    if (spreads->count)
        qsort(spreads->all, spreads->count, sizeof *spreads->all, compare_spreads);
    for (uint32_t s = 0; s < spreads->count; s++) {
        crn_spread *spread = &spreads->all[s];
        if (kept && compare_spreads(&spreads->all[kept - 1], spread) == 0) {
            add_up(&spreads->all[kept - 1], spread);
            crn_free(spread->bars);
        } else {
            spreads->all[kept++] = *spread;
        }
    }
    spreads->count = kept;
}

static void append(crn_spreads *spreads, const crn_spread *spread)
{
    if ((spreads->count & (spreads->count - 1)) == 0) /* full: capacities are powers of two */
        spreads->all = crn_realloc(spreads->all, spreads->count ? spreads->count * (size_t)2 : 1,
                                   sizeof *spreads->all);
    spreads->all[spreads->count++] = *spread;
}

void crn_spreads_add(crn_spreads *into, const crn_spreads *from, const uint32_t *blocks,
                     const uint32_t *keys)
{
    for (uint32_t s = 0; s < from->count; s++) {
        crn_spread copy = from->all[s];
        copy.block = blocks[copy.block];
        copy.key = copy.kind == CRN_HISTOGRAM_BLOCK ? 0 : keys[copy.key];
        if (copy.text)
            copy.text = crn_intern_text(into->texts, copy.text);
        copy.bars = crn_calloc(copy.bar_count + (size_t)1, sizeof *copy.bars);
        memcpy(copy.bars, from->all[s].bars, copy.bar_count * sizeof *copy.bars);
        append(into, &copy);
    }
    into->dropped += from->dropped;
    join(into);
}

/* ---- loading ---- */

typedef struct loading {
    crn_spreads *spreads;
    crn_reader *reader;
    uint64_t generation;
    double scale;
    uint64_t left; /* bytes of histograms that lanes may still have: all lanes together at most the
                      file's size */
    crn_error *error;
} loading;

static void add_histogram(loading *loading, const crn_disk_histogram *disk)
{
    crn_spread spread = {.kind = disk->kind, .block = disk->block};
    bool by_value = disk->kind != CRN_HISTOGRAM_BLOCK;
    if (disk->kind < CRN_HISTOGRAM_BLOCK || disk->kind > CRN_HISTOGRAM_OTHER ||
        (disk->kind == CRN_HISTOGRAM_TEXT && disk->value > CRN_HISTOGRAM_TEXT_MAX))
        return;
    read_bars(&spread, disk->buckets, loading->scale);
    if (!spread.count) {
        crn_free(spread.bars);
        return;
    }
    spread.key = by_value ? disk->key : 0;
    if (disk->kind == CRN_HISTOGRAM_TEXT) {
        const char *text = (const char *)disk->text;
        spread.text = crn_intern(loading->spreads->texts, text, strnlen(text, disk->value));
    } else if (disk->kind == CRN_HISTOGRAM_INTEGER || disk->kind == CRN_HISTOGRAM_NUMBER) {
        spread.value = disk->value;
    }
    spread.total = in_ns((double)disk->total * loading->scale);
    spread.self = in_ns((double)disk->self * loading->scale);
    spread.self = spread.self < spread.total ? spread.self : spread.total;
    spread.min = in_ns((double)disk->min * loading->scale);
    spread.max = in_ns((double)disk->max * loading->scale);
    spread.min = spread.min < spread.max ? spread.min : spread.max;
    spread.cpu = in_ns((double)disk->cpu);
    spread.cpu_count = disk->cpu_count < spread.count ? disk->cpu_count : spread.count;
    spread.cpu_wall = in_ns((double)disk->cpu_wall * loading->scale);
    append(loading->spreads, &spread);
}

/* Reads the header of a lane. Sets `*counts` to false if the lane has an older generation: its
 * figures count as 0. */
static bool read_lane_header(loading *loading, uint32_t lane, bool *counts)
{
    crn_bytes bytes;
    if (!crn_reader_section(loading->reader, CRN_SECTION_LANE, lane, 0, sizeof(crn_disk_lane),
                            &bytes, loading->error))
        return false;
    crn_disk_lane disk = {0};
    double unit;
    memcpy(&disk, bytes.data, bytes.size);
    crn_free(bytes.data);
    memcpy(&unit, &disk.histogram_unit, sizeof unit);
    loading->scale = unit > 1e-3 && unit < 1e3 ? unit : crn_reader_clock_scale(loading->reader);
    *counts = disk.generation == loading->generation;
    if (*counts)
        loading->spreads->dropped += disk.histograms_dropped;
    return true;
}

static bool load_lane(loading *loading, uint32_t lane)
{
    crn_bytes bytes;
    bool counts;
    if (!read_lane_header(loading, lane, &counts))
        return false;
    if (!counts)
        return true;
    if (!crn_reader_section(loading->reader, CRN_SECTION_HISTOGRAMS, lane, 0,
                            loading->reader->file_size, &bytes, loading->error))
        return false;
    bool fits = bytes.size <= loading->left;
    loading->left -= fits ? bytes.size : 0;
    const crn_disk_histogram *disk = (const crn_disk_histogram *)(const void *)bytes.data;
    for (uint64_t i = 0; fits && i < bytes.size / sizeof *disk && disk[i].state; i++)
        add_histogram(loading, &disk[i]);
    crn_free(bytes.data);
    return fits || crn_error_set(loading->error, CAIRN_E_FORMAT, "damaged: its lanes overlap");
}

static bool load_keys(loading *loading)
{
    crn_bytes strings, keys;
    const uint64_t *used = loading->reader->header.used;
    crn_spreads *spreads = loading->spreads;
    if (!crn_reader_section(loading->reader, CRN_SECTION_STRINGS, 0, 0, used[CRN_SECTION_STRINGS],
                            &strings, loading->error))
        return false;
    bool read = crn_reader_section(loading->reader, CRN_SECTION_KEYS, 0, 0, used[CRN_SECTION_KEYS],
                                   &keys, loading->error);
    if (read) {
        const crn_disk_key *disk = (const crn_disk_key *)(const void *)keys.data;
        spreads->key_count = (uint32_t)(keys.size / sizeof *disk);
        crn_free((void *)spreads->keys);
        spreads->keys = crn_calloc(spreads->key_count + (size_t)1, sizeof *spreads->keys);
        crn_capture_texts texts = {.strings = &strings, .into = spreads->texts};
        for (uint32_t k = 0; k < spreads->key_count; k++)
            spreads->keys[k] = crn_capture_text_at(&texts, disk[k].name);
        crn_capture_texts_end(&texts);
        crn_free(keys.data);
    }
    crn_free(strings.data);
    return read;
}

/* Drops histograms by keys that the capture lacks. As keys are read later, only a damaged file has
 * such histograms. */
static void drop_without_key(crn_spreads *spreads)
{
    uint32_t kept = 0;
    for (uint32_t s = 0; s < spreads->count; s++) {
        crn_spread *spread = &spreads->all[s];
        if (spread->kind == CRN_HISTOGRAM_BLOCK || spread->key < spreads->key_count)
            spreads->all[kept++] = *spread;
        else
            crn_free(spread->bars);
    }
    spreads->count = kept;
}

static void clear(crn_spreads *spreads)
{
    for (uint32_t s = 0; s < spreads->count; s++)
        crn_free(spreads->all[s].bars);
    spreads->count = 0;
    spreads->dropped = 0;
}

/* Loads the histograms, then the keys, which a program makes before their histograms. */
static bool load(void *data, uint64_t generation, crn_error *error)
{
    loading *loading = data;
    crn_reader *reader = loading->reader;
    clear(loading->spreads);
    loading->generation = generation;
    loading->left = reader->file_size;
    for (uint32_t lane = 0; crn_reader_lane(reader, &lane); lane++) {
        if (!load_lane(loading, lane))
            return false;
        if (lane == UINT32_MAX)
            break;
    }
    if (!crn_reader_refresh(reader, error) || !load_keys(loading))
        return false;
    drop_without_key(loading->spreads);
    join(loading->spreads);
    return true;
}

crn_spreads *crn_spreads_load(const char *path, crn_error *error)
{
    crn_reader reader;
    if (!crn_reader_open(&reader, path, error))
        return NULL;
    crn_spreads *spreads = crn_calloc(1, sizeof *spreads);
    spreads->texts = crn_interning_new();
    loading loading = {.spreads = spreads, .reader = &reader, .error = error};
    bool loaded = crn_reader_in_generation(&reader, load, &loading, error);
    crn_reader_close(&reader);
    if (loaded)
        return spreads;
    crn_spreads_free(spreads);
    return NULL;
}

bool crn_spreads_are_all(const char *path)
{
    crn_reader reader;
    crn_error error;
    if (!crn_reader_open(&reader, path, &error))
        return false;
    bool histograms = false, spans = false;
    for (size_t i = 0; i < reader.chunk_count; i++) {
        uint16_t kind = reader.chunks[i].kind;
        histograms |= kind == CRN_SECTION_HISTOGRAMS;
        spans |= kind == CRN_SECTION_SPANS || kind == CRN_SECTION_SPAN_RING;
    }
    crn_reader_close(&reader);
    return histograms && !spans;
}

void crn_spreads_free(crn_spreads *spreads)
{
    if (!spreads)
        return;
    clear(spreads);
    crn_free(spreads->all);
    crn_free((void *)spreads->keys);
    crn_interning_free(spreads->texts);
    crn_free(spreads);
}
