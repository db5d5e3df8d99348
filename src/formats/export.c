/* SPDX-License-Identifier: MIT
 *
 * What the writers share.
 */
#include <cairn/cairn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures.h"
#include "base/memory.h"
#include "formats/formats.h"

int crn_export_metric(const crn_profile *profile, bool times)
{
    uint32_t metric = crn_metric_default(profile);
    if (times || metric != CRN_METRIC_WALL)
        return (int)metric;
    return crn_metric_empty(profile, CRN_METRIC_TICKS) ? CRN_METRIC_CALLS : CRN_METRIC_TICKS;
}

uint32_t crn_export_metrics(const crn_profile *profile, bool times,
                            uint32_t metrics[CRN_METRIC_MAX])
{
    uint32_t count = 0;
    for (uint32_t m = 0; m < profile->metric_count; m++)
        if (!crn_metric_empty(profile, m) && (times || m != CRN_METRIC_WALL))
            metrics[count++] = m;
    if (count == 0)
        metrics[count++] = CRN_METRIC_CALLS;
    return count;
}

bool crn_export_is_empty(const crn_profile *profile, const uint32_t *metrics, uint32_t count,
                         uint32_t context)
{
    for (uint32_t i = 0; i < count; i++)
        if (crn_self(profile, metrics[i], context))
            return false;
    return true;
}

bool crn_export_check_size(const crn_profile *profile, const char *format, crn_error *error)
{
    uint32_t *depth = crn_calloc(profile->context_count, sizeof *depth);
    uint64_t frames = 0;
    for (uint32_t c = 1; c < profile->context_count; c++)
        frames += depth[c] = depth[profile->parent[c]] + 1;
    crn_free(depth);
    if (frames <= CRN_EXPORT_FRAMES_MAX)
        return true;
    return crn_error_set(error, CAIRN_E_LIMIT,
                         "%s writes out the whole path of each context, here %llu blocks, more "
                         "than the limit of %llu; speedscope's format does not",
                         format, (unsigned long long)frames,
                         (unsigned long long)CRN_EXPORT_FRAMES_MAX);
}

bool crn_export_is_timed(const char *key)
{
    static const char *const timed[] = {"started_unix_ns", "elapsed_ns", "process"};
    for (size_t i = 0; i < sizeof timed / sizeof *timed; i++)
        if (strcmp(key, timed[i]) == 0)
            return true;
    return false;
}

static int64_t note_number(const crn_profile *profile, const char *key)
{
    long long number = strtoll(crn_profile_note(profile, key, "0"), NULL, 10);
    return number < 0 ? 0 : number;
}

void crn_export_span(const crn_profile *profile, int64_t *began, int64_t *duration)
{
    *began = note_number(profile, "started_unix_ns");
    *duration = note_number(profile, "elapsed_ns");
}

bool crn_export_failed(crn_error *error)
{
    return crn_error_set(error, CAIRN_E_SPACE, "cannot write: %s", strerror(errno));
}
