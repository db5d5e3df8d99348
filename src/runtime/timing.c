/* SPDX-License-Identifier: MIT
 *
 * Counts durations and processor time of spans in histograms when the spans end.
 */
#include "base/memory.h"
#include "plat/thread.h"
#include "runtime/span.h"

/* ---- buckets ---- */

/* Returns the histogram bucket of a duration: the value itself below 2^BITS; above, its highest bit
 * and the BITS bits after it select the bucket. */
static uint32_t bucket_of(uint64_t took)
{
    enum { BITS = CRN_HISTOGRAM_BITS };
    if (took < 1 << BITS)
        return (uint32_t)took;
    uint32_t shift = 63 - (uint32_t)__builtin_clzll(took) - BITS;
    uint32_t bucket = ((shift + 1) << BITS) + ((uint32_t)(took >> shift) & ((1 << BITS) - 1));
    return bucket < CRN_HISTOGRAM_BUCKETS ? bucket : CRN_HISTOGRAM_BUCKETS - 1;
}

/* The figures of one span that histograms count. */
typedef struct figures {
    uint64_t took, self; /* units of the clock */
    uint64_t cpu;        /* ns */
    bool has_cpu;
} figures;

static void count(crn_disk_histogram *histogram, const figures *figures)
{
    CAIRN_PRIV_ADD(histogram->total, figures->took);
    CAIRN_PRIV_ADD(histogram->self, figures->self);
    if (figures->took < histogram->min)
        __atomic_store_n(&histogram->min, figures->took, __ATOMIC_RELAXED);
    if (figures->took > histogram->max)
        __atomic_store_n(&histogram->max, figures->took, __ATOMIC_RELAXED);
    if (figures->has_cpu) {
        CAIRN_PRIV_ADD(histogram->cpu, figures->cpu);
        CAIRN_PRIV_ADD(histogram->cpu_wall, figures->took);
        CAIRN_PRIV_ADD(histogram->cpu_count, 1);
    }
    CAIRN_PRIV_ADD(histogram->buckets[bucket_of(figures->took)], 1);
}

/* ---- spans ---- */

static size_t top_of(const cairn_strand *strand)
{
    return (size_t)(strand->hot.open - strand->open_spans) - 1;
}

void crn_timing_begin(cairn_strand *strand, cairn_block block, uint64_t start)
{
    crn_timing *timing = &strand->timings[top_of(strand)];
    timing->start = start;
    timing->children = 0;
    timing->block = block;
    timing->splits = strand->split_count;
    timing->thread = NULL;
    if (start && crn_lane_of(strand)->profile->span_cpu) {
        timing->thread = crn_thread_self();
        timing->cpu = crn_thread_own_time();
    }
}

/* Reads the span's processor time, which is unknown if another thread began the span. */
static void read_cpu(const cairn_strand *strand, const crn_timing *timing, uint32_t number,
                     figures *figures)
{
    cairn_lane *lane = crn_lane_of(strand);
    if (!timing->thread || timing->thread != crn_thread_self())
        return;
    uint64_t now = crn_thread_own_time();
    figures->has_cpu = true;
    figures->cpu = now > timing->cpu ? now - timing->cpu : 0;
    if (crn_open_is_recorded(number))
        crn_spans_put_detail(
            lane, (crn_disk_detail){.span = number, .kind = CRN_DETAIL_CPU, .value = figures->cpu});
}

static void count_everywhere(cairn_strand *strand, const crn_timing *timing, const figures *figures)
{
    cairn_lane *lane = crn_lane_of(strand);
    crn_disk_histogram *histogram = crn_histograms_block(lane->histograms, timing->block);
    if (histogram)
        count(histogram, figures);
    else
        lane->disk->histograms_dropped++;
    for (uint32_t i = timing->splits; i < strand->split_count; i++)
        count(strand->splits[i], figures);
}

void crn_timing_end(cairn_strand *strand, uint32_t number, uint64_t end)
{
    size_t at = top_of(strand) + 1;
    const crn_timing *timing = &strand->timings[at];
    if (timing->start && end) {
        figures figures = {.took = end > timing->start ? end - timing->start : 0};
        figures.self = figures.took > timing->children ? figures.took - timing->children : 0;
        if (at > 1)
            strand->timings[at - 1].children += figures.took;
        read_cpu(strand, timing, number, &figures);
        if (crn_lane_of(strand)->histograms)
            count_everywhere(strand, timing, &figures);
    }
    if (timing->splits < strand->split_count)
        strand->split_count = timing->splits;
}

/* ---- by attribute ---- */

/* Returns the profile's `splits`, which it makes if needed; NULL without memory. */
static uint32_t *splits_of(cairn_profile *profile)
{
    crn_profile_lock(profile);
    if (!profile->splits)
        __atomic_store_n(&profile->splits, crn_try_calloc(CAIRN_KEY_MAX, sizeof *profile->splits),
                         __ATOMIC_RELEASE);
    uint32_t *splits = profile->splits;
    crn_profile_unlock(profile);
    return splits;
}

void cairn_key_split(cairn_profile *profile, cairn_key key, uint32_t values)
{
    if (!profile || key >= CAIRN_KEY_MAX || !profile->span_histograms)
        return;
    uint32_t *splits = splits_of(profile);
    if (splits)
        __atomic_store_n(&splits[key], values, __ATOMIC_RELAXED);
}

static bool push_split(cairn_strand *strand, crn_disk_histogram *histogram)
{
    if (strand->split_count == strand->split_room) {
        uint32_t room = strand->split_room ? strand->split_room * 2 : 8;
        crn_disk_histogram **splits = crn_try_realloc((void *)strand->splits, room, sizeof *splits);
        if (!splits)
            return false;
        strand->splits = splits;
        strand->split_room = room;
    }
    strand->splits[strand->split_count++] = histogram;
    return true;
}

void crn_timing_attribute(cairn_strand *strand, crn_histogram_kind kind, cairn_key key,
                          uint64_t value, const char *text)
{
    cairn_lane *lane = crn_lane_of(strand);
    const uint32_t *most_of = __atomic_load_n(&lane->profile->splits, __ATOMIC_ACQUIRE);
    uint32_t most =
        most_of && key < CAIRN_KEY_MAX ? __atomic_load_n(&most_of[key], __ATOMIC_RELAXED) : 0;
    size_t top = top_of(strand);
    if (!most || strand->aim || !lane->histograms || strand->lost_spans || !top ||
        crn_open_is_adoption(strand->open_spans[top].span) || !strand->timings[top].start)
        return;
    crn_histogram_value which = {.block = strand->timings[top].block,
                                 .key = key,
                                 .kind = kind,
                                 .value = value,
                                 .text = text};
    crn_disk_histogram *histogram = crn_histograms_value(lane->histograms, &which, most);
    if (!histogram || !push_split(strand, histogram))
        lane->disk->histograms_dropped++;
}
