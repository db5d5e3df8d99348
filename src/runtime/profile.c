/* SPDX-License-Identifier: MIT
 *
 * Profiles: data that all lanes share.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "capture/loss.h"
#include "plat/thread.h"
#include "runtime/off_core.h"
#include "runtime/runtime.h"
#include "runtime/siblings.h"
#include "runtime/span.h"

static void begin_clock(cairn_profile *profile)
{
    crn_disk_header *header = profile->capture.header;
    profile->clock_per_ns = 1;
    header->clock_kind = profile->tsc ? CRN_CLOCK_TSC : CRN_CLOCK_MONOTONIC;
    crn_clock_boot(header->boot);
    header->started_unix_ns = crn_clock_realtime();
    header->first = crn_profile_read_moment(profile);
}

/* Waits until CALIBRATION_NS have passed since begin_clock, and calibrates the time stamp counter
 * by the two moments. Readers of the capture use a later second moment, which is more accurate. */
static void calibrate_clock(cairn_profile *profile)
{
    enum { CALIBRATION_NS = 50000 };
    const crn_disk_header *header = profile->capture.header;
    while (profile->tsc && crn_clock_monotonic() < header->first.monotonic_ns + CALIBRATION_NS)
        ;
    crn_profile_moment(profile);
    const crn_disk_moment *last = &header->last[header->moments & 1];
    if (profile->tsc)
        profile->clock_per_ns = (double)(last->clock - header->first.clock) /
                                (double)(last->monotonic_ns - header->first.monotonic_ns);
}

/* Returns the period, or `otherwise` if the period is 0. Limits the period so that sums cannot
 * overflow. */
static uint64_t within(uint64_t period, uint64_t otherwise)
{
    const uint64_t longest = (uint64_t)1 << 60;
    return period == 0 ? otherwise : period < longest ? period : longest;
}

static void take_options(cairn_profile *profile, const cairn_options *options)
{
    profile->wall = options->wall;
    profile->cpu = options->cpu;
    profile->how_sampled = options->sampler;
    profile->sample_overhead = options->sample_overhead;
    profile->sample_period_ns = within(options->sample_period_ns, 1000000);
    profile->tick_period = within(options->tick_period, 1);
    profile->seed = options->seed;
    profile->spans = options->spans;
    profile->span_histograms = options->span_histograms;
    profile->span_cpu = options->span_cpu;
    profile->has_off_core = options->off_core;
    profile->span_policy = options->span_policy;
    profile->span_limit = options->span_limit;
    if (options->span_rate < 1) {
        double weight = 1 / options->span_rate, threshold = options->span_rate * 0x1p64;
        profile->span_threshold = threshold > 1 ? (uint64_t)threshold : 1;
        memcpy(&profile->span_weight, &weight, sizeof weight);
    }
    profile->path_limit = options->path_limit < 4 ? 4 : options->path_limit;
    profile->context_budget = options->context_budget < 4 ? 4 : options->context_budget;
    bool timed = options->wall != CAIRN_WALL_OFF || options->spans || options->span_histograms;
    profile->tsc = timed && crn_clock_has_tsc();
    profile->mode_on = options->wall == CAIRN_WALL_EXACT ? CRN_MODE_EXACT : CRN_MODE_COUNT;
    profile->mode = options->disabled ? CRN_MODE_OFF : profile->mode_on;
    profile->turned = options->disabled;
    crn_disk_header *header = profile->capture.header;
    header->wall = options->wall;
    header->cpu = options->cpu;
    header->sampler = options->sampler;
    header->sample_period_ns = profile->sample_period_ns;
    header->tick_period = profile->tick_period;
    header->seed = profile->seed;
    header->file_limit = options->file_limit;
    header->path_limit = profile->path_limit;
    header->context_budget = profile->context_budget;
}

/* Returns an id for `names` that no other profile of this process has. */
static uint32_t draw_names(void)
{
    static uint32_t last;
    return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

static cairn_error open_capture(cairn_profile *profile, const cairn_options *options)
{
    cairn_error error = crn_capture_create(&profile->capture, options->path, options->file_limit);
    if (error)
        return error;
    crn_capture *capture = &profile->capture;
    profile->in_memory = !options->path;
    if (options->path && cairn_priv_bus_is_caught()) /* a host, which finds children of _Fork */
        crn_capture_expect_pack(capture);
    profile->names = draw_names();
    crn_section_open(&profile->strings, capture, CRN_SECTION_STRINGS, 0, 0);
    crn_section_open(&profile->blocks, capture, CRN_SECTION_BLOCKS, 0, 0);
    crn_section_open(&profile->metrics, capture, CRN_SECTION_METRICS, 0, 0);
    crn_section_open(&profile->notes, capture, CRN_SECTION_NOTES, 0, 0);
    crn_section_open(&profile->keys, capture, CRN_SECTION_KEYS, 0, 0);
    crn_section_open(&profile->trees, capture, CRN_SECTION_TREES, 0, 0);
    profile->lock = (crn_futex_lock){0};
    return CAIRN_OK;
}

static void close_capture(cairn_profile *profile)
{
    crn_section_close(&profile->strings);
    crn_section_close(&profile->blocks);
    crn_section_close(&profile->metrics);
    crn_section_close(&profile->notes);
    crn_section_close(&profile->keys);
    crn_section_close(&profile->trees);
    crn_names_free(&profile->texts);
    crn_names_free(&profile->places);
    bool whole = __atomic_load_n(&profile->stopped, __ATOMIC_RELAXED) == CAIRN_OK;
    crn_capture_close(&profile->capture, whole ? CRN_STATE_CLOSED : CRN_STATE_STOPPED);
}

static void free_lanes(cairn_profile *profile)
{
    for (cairn_lane *next, *lane = profile->lanes; lane; lane = next) {
        next = lane->next;
        crn_lane_free(lane);
    }
}

void crn_profile_stop_threads(cairn_profile *profile)
{
    crn_helper_stop(&profile->sampler.helper);
    crn_helper_stop(&profile->preparer);
    crn_helper_stop(&profile->off_core);
}

static cairn_error start_threads(cairn_profile *profile)
{
    cairn_error error = CAIRN_OK;
    if (profile->wall != CAIRN_WALL_OFF || profile->cpu != CAIRN_CPU_OFF)
        error = crn_sampler_start(profile);
    if (error)
        return error;
    bool spans = profile->spans || profile->span_histograms;
    if ((!spans || crn_preparer_start(profile)) &&
        (!profile->has_off_core || crn_off_core_start(profile)))
        return CAIRN_OK;
    crn_profile_stop_threads(profile);
    return CAIRN_E_THREAD;
}

static cairn_error open_profile(cairn_profile *profile, const cairn_options *options)
{
    cairn_error error = open_capture(profile, options);
    if (error)
        return error;
    profile->sibling = profile;
    take_options(profile, options);
    begin_clock(profile);
    crn_profile_put_first(profile, options);
    if (options->spans)
        crn_ids_begin(profile);
    /* Makes one lane now, so that an open profile can always count. */
    bool lane = crn_lane_new(profile) != NULL;
    error = __atomic_load_n(&profile->stopped, __ATOMIC_RELAXED);
    if (!error && !lane)
        error = CAIRN_E_MEMORY;
    if (!error)
        crn_profile_put_costs(profile);
    crn_profile_moment(profile);
    if (!error)
        error = crn_capture_publish(&profile->capture);
    calibrate_clock(profile);
    if (!error && profile->how_sampled == CAIRN_SAMPLER_TIMER && !crn_timers_begin())
        error = CAIRN_E_THREAD;
    if (!error && options->blocks_of && !crn_siblings_join(profile, options->blocks_of))
        error = CAIRN_E_SPACE;
    if (!error)
        error = start_threads(profile);
    if (!error) {
        crn_fork_add(profile);
        return CAIRN_OK;
    }
    bool is_named = options->path && !profile->capture.file.wanted;
    crn_siblings_leave(profile);
    free_lanes(profile);
    close_capture(profile);
    if (is_named)
        unlink(options->path);
    return error;
}

/* Returns true if the options are valid, also together. A timer cannot sample wall time: its
 * signals would interrupt waits. */
static bool are_right(const cairn_options *options)
{
    return options->size >= sizeof *options && options->wall <= CAIRN_WALL_EXACT &&
           options->cpu <= CAIRN_CPU_SAMPLED && options->sampler <= CAIRN_SAMPLER_TIMER &&
           options->sample_overhead >= 0 && options->sample_overhead <= 1 &&
           options->span_policy <= CAIRN_SPANS_KEEP_LAST && options->span_rate > 0 &&
           options->span_rate <= 1 &&
           (options->sampler == CAIRN_SAMPLER_THREAD ||
            (options->cpu == CAIRN_CPU_SAMPLED && options->wall != CAIRN_WALL_SAMPLED));
}

cairn_error crn_profile_open(cairn_profile **profile, const cairn_options *options,
                             crn_hiding hides)
{
    if (!profile)
        return CAIRN_E_ARGUMENT;
    *profile = NULL;
    if (!options || !are_right(options))
        return CAIRN_E_ARGUMENT;
    cairn_profile *opened = crn_try_calloc(1, sizeof *opened);
    if (!opened)
        return CAIRN_E_MEMORY;
    opened->hides = hides;
    int saved = errno, cancelling;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    crn_stay_loaded();
    crn_faults_catch();
    cairn_error error = open_profile(opened, options);
    pthread_setcancelstate(cancelling, NULL);
    errno = saved;
    if (error)
        crn_free(opened);
    else
        *profile = opened;
    return error;
}

cairn_error cairn_profile_open(cairn_profile **profile, const cairn_options *options)
{
    return crn_profile_open(profile, options, CRN_HIDES_NONE);
}

bool crn_profile_begin_again(cairn_profile *profile)
{
    if (!crn_profile_is_ready(profile) || crn_capture_is_lost(&profile->capture))
        return false;
    crn_disk_header *header = profile->capture.header;
    crn_profile_stop_threads(profile); /* a child of fork may have started some */
    __atomic_store_n(&profile->stopped, CAIRN_OK, __ATOMIC_RELAXED);
    header->stopped_by = CAIRN_OK;
    header->started_unix_ns = crn_clock_realtime();
    header->first = crn_profile_read_moment(profile);
    cairn_lane *lane = __atomic_load_n(&profile->lanes, __ATOMIC_ACQUIRE);
    for (; lane; lane = lane->next)
        crn_off_core_rewind(lane);
    cairn_profile_reset(profile);
    cairn_profile_enable(profile);
    return start_threads(profile) == CAIRN_OK;
}

void cairn_profile_close(cairn_profile *profile)
{
    if (!profile)
        return;
    int saved = errno, cancelling;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    crn_siblings_leave(profile);
    crn_fork_remove(profile);
    crn_profile_stop_threads(profile);
    for (cairn_lane *lane = profile->lanes; lane; lane = lane->next) {
        crn_ticks_finish(lane);
        cairn_lane_close(lane);
    }
    crn_profile_moment(profile);
    uint64_t end = crn_spans_trim(profile);
    if (!crn_profile_pack(profile))
        crn_capture_shorten(&profile->capture, end);
    free_lanes(profile);
    close_capture(profile);
    crn_free(profile->child.origin);
    crn_free(profile->splits);
    crn_free(profile);
    pthread_setcancelstate(cancelling, NULL);
    errno = saved;
}
