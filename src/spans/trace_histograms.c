/* SPDX-License-Identifier: MIT */
#include "spans/trace_histograms.h"

#include <string.h>

#include "base/memory.h"

static crn_trace_histogram *append(crn_trace *trace, const crn_disk_histogram *disk)
{
    uint32_t count = trace->histogram_count;
    if ((count & (count - 1)) == 0) /* the array is full: its size is a power of two */
        trace->histograms = crn_realloc(trace->histograms, count ? count * (size_t)2 : 1,
                                        sizeof *trace->histograms);
    crn_trace_histogram *histogram = &trace->histograms[trace->histogram_count++];
    histogram->disk = crn_calloc(1, sizeof *disk);
    *histogram->disk = *disk;
    return histogram;
}

void crn_trace_histograms_free(crn_trace *trace)
{
    for (uint32_t h = 0; h < trace->histogram_count; h++)
        crn_free(trace->histograms[h].disk);
    crn_free(trace->histograms);
}

/* ---- load ---- */

static bool read_header(const crn_reader *reader, uint32_t number, crn_disk_lane *disk,
                        crn_error *error)
{
    crn_bytes bytes;
    *disk = (crn_disk_lane){0};
    if (!crn_reader_section(reader, CRN_SECTION_LANE, number, 0, sizeof *disk, &bytes, error))
        return false;
    memcpy(disk, bytes.data, bytes.size);
    crn_free(bytes.data);
    return true;
}

/* Returns ns per counted unit; `scale` for a value out of range, as in a damaged file. */
static double unit_of(const crn_disk_lane *disk, double scale)
{
    double unit;
    memcpy(&unit, &disk->histogram_unit, sizeof unit);
    return unit > 1e-3 && unit < 1e3 ? unit : scale;
}

typedef struct loading {
    crn_trace *trace;
    const crn_histogram_source *from;
    uint64_t generation;
    uint64_t left; /* bytes that the remaining lanes may have, as no two share bytes */
} loading;

/* Returns true for a histogram by a key that a live capture got after its keys were read. */
static bool is_later(const crn_histogram_source *from, const crn_disk_histogram *disk)
{
    return from->reader->header.state == CRN_STATE_RECORDING && disk->kind != CRN_HISTOGRAM_BLOCK &&
           disk->key >= from->key_count;
}

static bool load_lane(loading *loading, uint32_t lane, crn_error *error)
{
    const crn_histogram_source *from = loading->from;
    crn_disk_lane header;
    crn_bytes bytes;
    if (!read_header(from->reader, from->numbers[lane], &header, error))
        return false;
    if (header.generation != loading->generation) /* the lane lags behind a reset */
        return true;
    loading->trace->histograms_dropped += header.histograms_dropped;
    if (!crn_reader_section(from->reader, CRN_SECTION_HISTOGRAMS, from->numbers[lane], 0,
                            loading->left, &bytes, error))
        return false;
    loading->left -= bytes.size;
    const crn_disk_histogram *disk = (const crn_disk_histogram *)(const void *)bytes.data;
    for (uint64_t i = 0; i < bytes.size / sizeof *disk && disk[i].state; i++) {
        if (is_later(from, &disk[i]))
            continue;
        crn_trace_histogram *histogram = append(loading->trace, &disk[i]);
        histogram->lane = lane;
        histogram->unit = unit_of(&header, from->scale);
    }
    crn_free(bytes.data);
    return true;
}

static bool load(void *data, uint64_t generation, crn_error *error)
{
    loading *loading = data;
    crn_trace *trace = loading->trace;
    crn_trace_histograms_free(trace);
    trace->histograms = NULL;
    trace->histogram_count = 0;
    trace->histograms_dropped = 0;
    loading->generation = generation;
    loading->left = loading->from->reader->file_size;
    for (uint32_t lane = 0; lane < trace->lane_count; lane++)
        if (!load_lane(loading, lane, error))
            return false;
    return true;
}

bool crn_trace_histograms_load(crn_trace *trace, const crn_histogram_source *from, crn_error *error)
{
    return crn_reader_in_generation(from->reader, load, &(loading){.trace = trace, .from = from},
                                    error);
}

/* ---- merge ---- */

static uint64_t count_of(const crn_disk_histogram *disk)
{
    uint64_t count = 0;
    for (uint32_t b = 0; b < CRN_HISTOGRAM_BUCKETS; b++)
        count += disk->buckets[b];
    return count;
}

void crn_trace_histograms_add(crn_trace *to, const crn_trace *from, uint32_t lane,
                              const uint32_t *keys)
{
    to->histograms_dropped += from->histograms_dropped;
    for (uint32_t h = 0; h < from->histogram_count; h++) {
        const crn_trace_histogram *its = &from->histograms[h];
        bool keyed = its->disk->kind != CRN_HISTOGRAM_BLOCK;
        uint32_t key =
            keyed && its->disk->key < from->key_count ? keys[its->disk->key] : UINT32_MAX;
        if (keyed && key == UINT32_MAX) {
            to->histograms_dropped += count_of(its->disk);
            continue;
        }
        crn_trace_histogram *histogram = append(to, its->disk);
        histogram->lane = lane + its->lane;
        histogram->unit = its->unit;
        if (keyed)
            histogram->disk->key = key;
    }
}

/* ---- save ---- */

double crn_trace_histograms_save(crn_saving *saving, const crn_trace *trace, uint32_t lane,
                                 uint32_t *next)
{
    crn_section section;
    uint64_t size = 0;
    double unit = 0;
    crn_section_open(&section, &saving->capture, CRN_SECTION_HISTOGRAMS, 0, lane);
    for (; *next < trace->histogram_count && trace->histograms[*next].lane == lane; ++*next) {
        const crn_trace_histogram *histogram = &trace->histograms[*next];
        unit = histogram->unit;
        if (!saving->error)
            saving->error = crn_section_grow(&section, size + sizeof *histogram->disk);
        if (saving->error)
            break;
        memcpy(section.base + size, histogram->disk, sizeof *histogram->disk);
        size += sizeof *histogram->disk;
    }
    crn_section_close(&section);
    return unit;
}
