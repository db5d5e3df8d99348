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

bool crn_trace_histograms_load(crn_trace *trace, const crn_reader *reader, const uint32_t *numbers,
                               double scale, crn_error *error)
{
    uint64_t left = reader->file_size; /* no two lanes share bytes */
    for (uint32_t lane = 0; lane < trace->lane_count; lane++) {
        crn_disk_lane header;
        crn_bytes bytes;
        if (!read_header(reader, numbers[lane], &header, error))
            return false;
        if (header.generation != reader->header.generation) /* the lane lags behind a reset */
            continue;
        trace->histograms_dropped += header.histograms_dropped;
        if (!crn_reader_section(reader, CRN_SECTION_HISTOGRAMS, numbers[lane], 0, left, &bytes,
                                error))
            return false;
        left -= bytes.size;
        const crn_disk_histogram *disk = (const crn_disk_histogram *)(const void *)bytes.data;
        for (uint64_t i = 0; i < bytes.size / sizeof *disk && disk[i].state; i++) {
            crn_trace_histogram *histogram = append(trace, &disk[i]);
            histogram->lane = lane;
            histogram->unit = unit_of(&header, scale);
        }
        crn_free(bytes.data);
    }
    return true;
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
