/* SPDX-License-Identifier: MIT
 *
 * The histograms of a lane, in the capture, and tables to find them. The first span of a block
 * makes the block's histogram, and the first span with a value of a split attribute makes that
 * value's. Now and then a new histogram needs a new chunk of the capture.
 */
#include "base/limits.h"
#include "base/memory.h"
#include "runtime/span.h"

#include <string.h>

enum {
    IN_CHUNK = 16, /* number of histograms in a chunk */
    FIRST_ENTRIES = CRN_FIRST(64, 2),
    FIRST_BLOCKS = CRN_FIRST(64, 2)
};

/* An entry of the table of histograms by attribute value. The entry of kind OTHER of a block and
 * key is for all values without a histogram of their own; its `values` is the number of values with
 * one. */
typedef struct entry {
    uint64_t hash; /* 0: free */
    uint32_t block, key;
    uint32_t kind, values;
    crn_disk_histogram *histogram; /* NULL: not made yet */
} entry;

struct crn_histograms {
    crn_stream space;
    crn_disk_histogram *next, *end; /* unused histograms of the newest chunk */
    crn_disk_histogram **by_block;  /* table; NULL: not made yet */
    uint32_t block_room;            /* number of entries of by_block */
    entry *entries;                 /* hash table by attribute value */
    uint32_t mask, used;            /* number of entries - 1; number of used entries */
};

crn_histograms *crn_histograms_new(cairn_lane *lane)
{
    crn_histograms *histograms = crn_try_calloc(1, sizeof *histograms);
    if (!histograms)
        return NULL;
    crn_stream_plan plan = {.kind = CRN_SECTION_HISTOGRAMS,
                            .lane = lane->number,
                            .chunk_size = IN_CHUNK * sizeof(crn_disk_histogram),
                            .ahead = 1};
    histograms->entries = crn_try_calloc(FIRST_ENTRIES, sizeof *histograms->entries);
    histograms->mask = FIRST_ENTRIES - 1;
    if (!histograms->entries ||
        !crn_stream_open(&histograms->space, &lane->profile->capture, &plan)) {
        crn_histograms_free(histograms);
        return NULL;
    }
    return histograms;
}

void crn_histograms_free(crn_histograms *histograms)
{
    if (!histograms)
        return;
    crn_stream_close(&histograms->space);
    crn_free((void *)histograms->by_block);
    crn_free(histograms->entries);
    crn_free(histograms);
}

const crn_stream *crn_histograms_space(const crn_histograms *histograms)
{
    return &histograms->space;
}

/* ---- creation ---- */

static crn_disk_histogram *take(crn_histograms *histograms)
{
    if (histograms->next == histograms->end) {
        histograms->next = (crn_disk_histogram *)(void *)crn_stream_take_alone(&histograms->space);
        histograms->end = histograms->next ? histograms->next + IN_CHUNK : NULL;
    }
    return histograms->next ? histograms->next++ : NULL;
}

/* Makes a histogram. Stores its state last, because the state tells readers that the histogram is
 * valid. Returns NULL without space. */
static crn_disk_histogram *make(crn_histograms *histograms, const crn_histogram_value *value)
{
    crn_disk_histogram *histogram = take(histograms);
    if (!histogram)
        return NULL;
    histogram->kind = value->kind;
    histogram->block = value->block;
    histogram->key = value->key;
    histogram->value = value->value;
    histogram->min = UINT64_MAX;
    if (value->text)
        memcpy(histogram->text, value->text, value->value);
    __atomic_store_n(&histogram->state, 1, __ATOMIC_RELEASE);
    return histogram;
}

/* ---- by block ---- */

static bool make_room(crn_histograms *histograms, cairn_block block)
{
    uint32_t room = histograms->block_room ? histograms->block_room * 2 : FIRST_BLOCKS;
    while (room <= block)
        room *= 2;
    crn_disk_histogram **by_block =
        crn_try_realloc((void *)histograms->by_block, room, sizeof *by_block);
    if (!by_block)
        return false;
    memset((void *)(by_block + histograms->block_room), 0,
           (room - histograms->block_room) * sizeof *by_block);
    histograms->by_block = by_block;
    histograms->block_room = room;
    return true;
}

crn_disk_histogram *crn_histograms_block(crn_histograms *histograms, cairn_block block)
{
    enum { BLOCKS_MOST = 1 << 24 };
    if (block < histograms->block_room && histograms->by_block[block])
        return histograms->by_block[block];
    if (block >= BLOCKS_MOST || (block >= histograms->block_room && !make_room(histograms, block)))
        return NULL;
    crn_histogram_value value = {.block = block, .kind = CRN_HISTOGRAM_BLOCK};
    return histograms->by_block[block] = make(histograms, &value);
}

/* ---- by value ---- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

static uint64_t hash_of(const crn_histogram_value *value)
{
    uint64_t hash = mix((uint64_t)value->block << 32 | value->key, value->kind);
    hash = mix(hash, value->value);
    for (uint64_t i = 0; value->text && i < value->value; i++)
        hash = mix(hash, (uint8_t)value->text[i]);
    return hash ? hash : 1;
}

static bool is_of(const entry *entry, uint64_t hash, const crn_histogram_value *value)
{
    if (entry->hash != hash || entry->block != value->block || entry->key != value->key ||
        entry->kind != value->kind)
        return false;
    return value->kind == CRN_HISTOGRAM_OTHER ||
           (entry->histogram && entry->histogram->value == value->value &&
            (!value->text || memcmp(entry->histogram->text, value->text, value->value) == 0));
}

static entry *place_of(const crn_histograms *histograms, uint64_t hash,
                       const crn_histogram_value *value)
{
    uint32_t at = (uint32_t)hash;
    entry *entries = histograms->entries;
    while (entries[at & histograms->mask].hash &&
           !is_of(&entries[at & histograms->mask], hash, value))
        at++;
    return &entries[at & histograms->mask];
}

/* Makes space for two more entries. Returns false without memory. */
static bool grow_entries(crn_histograms *histograms)
{
    uint32_t room = histograms->mask + 1;
    if (histograms->used + 2 <= room / 2)
        return true;
    entry *old = histograms->entries, *entries = crn_try_calloc(room * (size_t)4, sizeof *entries);
    if (!entries)
        return false;
    histograms->entries = entries;
    histograms->mask = room * 4 - 1;
    for (uint32_t i = 0; i < room; i++) {
        uint32_t at = (uint32_t)old[i].hash;
        while (old[i].hash && entries[at & histograms->mask].hash)
            at++;
        if (old[i].hash)
            entries[at & histograms->mask] = old[i];
    }
    crn_free(old);
    return true;
}

/* Fills `place` for the value if `place` is free. Returns `place`. */
static entry *enter(crn_histograms *histograms, entry *place, uint64_t hash,
                    const crn_histogram_value *value)
{
    if (!place->hash) {
        *place =
            (entry){.hash = hash, .block = value->block, .key = value->key, .kind = value->kind};
        histograms->used++;
    }
    return place;
}

crn_disk_histogram *crn_histograms_value(crn_histograms *histograms,
                                         const crn_histogram_value *value, uint32_t most)
{
    crn_histogram_value its = *value;
    if (its.text && its.value > CRN_HISTOGRAM_TEXT_MAX)
        its.value = CRN_HISTOGRAM_TEXT_MAX;
    uint64_t hash = hash_of(&its);
    const entry *known = place_of(histograms, hash, &its);
    if (known->hash)
        return known->histogram;
    if (!grow_entries(histograms))
        return NULL;
    crn_histogram_value others = {.block = its.block, .key = its.key, .kind = CRN_HISTOGRAM_OTHER};
    uint64_t others_hash = hash_of(&others);
    entry *other =
        enter(histograms, place_of(histograms, others_hash, &others), others_hash, &others);
    if (other->values >= most) {
        if (!other->histogram)
            other->histogram = make(histograms, &others);
        return other->histogram;
    }
    crn_disk_histogram *histogram = make(histograms, &its);
    if (!histogram)
        return NULL;
    other->values++;
    enter(histograms, place_of(histograms, hash, &its), hash, &its)->histogram = histogram;
    return histogram;
}

/* ---- reset ---- */

static void clear(crn_disk_histogram *histogram)
{
    histogram->total = histogram->self = histogram->max = 0;
    histogram->cpu = histogram->cpu_count = histogram->cpu_wall = 0;
    histogram->min = UINT64_MAX;
    for (uint32_t i = 0; i < CRN_HISTOGRAM_BUCKETS; i++)
        CAIRN_PRIV_PUT(histogram->buckets[i], 0);
}

void crn_histograms_clear(crn_histograms *histograms)
{
    for (uint32_t b = 0; b < histograms->block_room; b++)
        if (histograms->by_block[b])
            clear(histograms->by_block[b]);
    for (uint32_t i = 0; i <= histograms->mask; i++)
        if (histograms->entries[i].histogram)
            clear(histograms->entries[i].histogram);
}
