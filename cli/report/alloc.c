/* SPDX-License-Identifier: MIT
 *
 * The summary's lines on memory: allocated, live and peak bytes, and their uncertainty.
 */
#include <stdio.h>
#include <string.h>

#include "cli/common/json.h"
#include "profile/profile.h"
#include "report.h"

static uint64_t total(const crn_profile *profile, const char *name)
{
    int metric = crn_profile_metric(profile, name);
    return metric < 0 ? 0 : crn_metric_total(profile, (uint32_t)metric);
}

static void append_bytes(char *text, size_t size, const char *format, uint64_t bytes)
{
    char figure[CRN_FIGURE_SIZE];
    size_t used = strlen(text);
    snprintf(text + used, size - used, format, crn_figure_alone(figure, CRN_UNIT_BYTES, bytes));
}

static void append_objects(char *text, size_t size, const char *format, uint64_t objects)
{
    char figure[CRN_FIGURE_SIZE];
    size_t used = strlen(text);
    snprintf(text + used, size - used, format, crn_figure_alone(figure, "", objects),
             objects == 1 ? "" : "s");
}

static void append_text(char *text, size_t size, const char *more)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s", more);
}

/* Returns the peak of live memory. The capture has the peak only as of each time it had grown by a
 * hundredth, so live memory may exceed it. */
static uint64_t peak_of(const crn_profile *profile)
{
    uint64_t peak = total(profile, CRN_PEAK_BYTES), live = total(profile, CRN_LIVE_BYTES);
    return peak && live > peak ? live : peak;
}

/* Returns true if the disk became full before the program ended: figures are of that moment. */
static bool is_stopped(const crn_profile *profile)
{
    return crn_profile_note(profile, "stopped_by", NULL) != NULL;
}

static void put_figures(const crn_report_lines *lines, const crn_report *report)
{
    const crn_profile *profile = report->profile;
    bool lost = crn_alloc_lost(profile) != NULL;
    const char *live = lost                                                ? "; no free seen of %s"
                       : is_stopped(profile)                               ? "; live then %s"
                       : crn_report_state_of(report) == CRN_REPORT_RUNNING ? "; live now %s"
                                                                           : "; live at the end %s";
    uint64_t peak = peak_of(profile);
    char text[320] = "";
    append_bytes(text, sizeof text, "%s", total(profile, CRN_ALLOC_BYTES));
    append_objects(text, sizeof text, " allocated in %s object%s",
                   total(profile, CRN_ALLOC_OBJECTS));
    if (is_stopped(profile))
        append_text(text, sizeof text, " before recording stopped");
    append_bytes(text, sizeof text, live, total(profile, CRN_LIVE_BYTES));
    append_objects(text, sizeof text, " in %s object%s", total(profile, CRN_LIVE_OBJECTS));
    if (peak)
        append_bytes(text, sizeof text,
                     lost ? "; at the peak of what was counted %s" : "; at the peak %s", peak);
    lines->put(lines->to, "memory", text);
}

/* Appends the 95 % interval of a sampled total. */
static void append_interval(char *text, size_t size, const crn_profile *profile, const char *name)
{
    /* If a Poisson process has this mean, it has no sample with probability 1/40, as outside one
     * end of a 95 % interval. */
    static const double unseen = 3.7;
    uint32_t metric = (uint32_t)crn_profile_metric(profile, name);
    uint64_t bytes = crn_metric_total(profile, metric);
    if (!bytes) {
        append_bytes(text, size, "less than about %s",
                     (uint64_t)(unseen * crn_alloc_mean(profile)));
        return;
    }
    crn_sampling sampling = crn_sampling_of(profile, metric);
    crn_interval interval = crn_sampling_interval(&sampling, bytes);
    append_bytes(text, size, "between %s", (uint64_t)interval.low);
    append_bytes(text, size, " and %s", (uint64_t)interval.high);
}

/* Puts that figures lack allocations or frees. An interval would promise the true total. */
static void put_lost(const crn_report_lines *lines, const crn_profile *profile)
{
    char text[320] = "not every allocation and free was counted";
    double mean = crn_alloc_mean(profile);
    if (mean > 0)
        append_bytes(text, sizeof text, "; one sample in about %s", (uint64_t)mean);
    lines->put(lines->to, "", text);
}

/* Puts "every allocation", or the sampling and the intervals of the totals. */
static void put_sampling(const crn_report_lines *lines, const crn_report *report)
{
    const crn_profile *profile = report->profile;
    double mean = crn_alloc_mean(profile);
    if (crn_alloc_lost(profile)) {
        put_lost(lines, profile);
        return;
    }
    if (!(mean > 0)) {
        lines->put(lines->to, "",
                   is_stopped(profile) ? "every allocation up to then was counted, none after it"
                                       : "every allocation was counted");
        return;
    }
    uint32_t metric = (uint32_t)crn_profile_metric(profile, CRN_ALLOC_BYTES);
    crn_sampling sampling = crn_sampling_of(profile, metric);
    char text[320] = "";
    append_bytes(text, sizeof text, "one sample in about %s", (uint64_t)mean);
    if (sampling.samples)
        append_objects(text, sizeof text, ", %s sample%s", sampling.samples);
    append_text(text, sizeof text, "; 95 % interval: allocated ");
    append_interval(text, sizeof text, profile, CRN_ALLOC_BYTES);
    bool live = crn_profile_metric(profile, CRN_LIVE_BYTES) >= 0;
    if (live) {
        append_text(text, sizeof text, ",");
        lines->put(lines->to, "", text);
        snprintf(text, sizeof text, "live ");
        append_interval(text, sizeof text, profile, CRN_LIVE_BYTES);
    }
    if (live && total(profile, CRN_PEAK_BYTES)) {
        append_text(text, sizeof text, ", the peak ");
        append_interval(text, sizeof text, profile, CRN_PEAK_BYTES);
    }
    lines->put(lines->to, "", text);
}

void crn_report_memory(const crn_report_lines *lines, const crn_report *report)
{
    if (crn_profile_metric(report->profile, CRN_ALLOC_BYTES) < 0)
        return;
    if (crn_alloc_recorded(report->profile)) {
        put_figures(lines, report);
        put_sampling(lines, report);
    } else if (crn_alloc_lost(report->profile)) {
        lines->put(lines->to, "memory", "nothing: no allocation could be counted");
    } else if (is_stopped(report->profile)) {
        lines->put(lines->to, "memory", "nothing: recording stopped before the first allocation");
    } else if (crn_alloc_mean(report->profile) > 0) {
        lines->put(lines->to, "memory",
                   "no allocation was sampled: cairn run --alloc=exact counts all");
    } else {
        lines->put(lines->to, "memory", "nothing was allocated");
    }
}

static json_t *amount_json(const crn_profile *profile, const char *bytes, const char *objects)
{
    json_t *amount = json_object();
    json_object_set_new(amount, "bytes", crn_json_number(total(profile, bytes)));
    if (objects)
        json_object_set_new(amount, "objects", crn_json_number(total(profile, objects)));
    return amount;
}

json_t *crn_report_memory_json(const crn_profile *profile)
{
    if (!crn_alloc_recorded(profile))
        return NULL;
    double mean = crn_alloc_mean(profile);
    json_t *memory = json_object();
    json_object_set_new(memory, "mode", json_string(mean > 0 ? "sampled" : "exact"));
    if (is_stopped(profile))
        json_object_set_new(memory, "stopped", json_true());
    if (crn_alloc_lost(profile))
        json_object_set_new(memory, "lost", json_true());
    if (mean > 0)
        json_object_set_new(memory, "mean_bytes", crn_json_number((uint64_t)mean));
    json_object_set_new(memory, "allocated",
                        amount_json(profile, CRN_ALLOC_BYTES, CRN_ALLOC_OBJECTS));
    json_object_set_new(memory, "live", amount_json(profile, CRN_LIVE_BYTES, CRN_LIVE_OBJECTS));
    if (peak_of(profile))
        json_object_set_new(memory, "peak",
                            json_pack("{s:o}", "bytes", crn_json_number(peak_of(profile))));
    return memory;
}
