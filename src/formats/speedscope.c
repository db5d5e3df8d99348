/* SPDX-License-Identifier: MIT
 *
 * speedscope's JSON: one "evented" profile for each metric, in which each context opens and closes
 * once. The "sampled" type would repeat every path; this one grows only with the number of
 * contexts.
 */
#include <cairn/cairn.h>
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "formats/formats.h"
#include "formats/names.h"
#include "profile/profile.h"

typedef struct writer {
    const crn_profile *profile;
    const crn_export_options *options;
    FILE *out;
    uint32_t *frames; /* by block: index of its frame */
    uint32_t metric;
    uint64_t *totals; /* by context, of the metric */
    uint64_t at;      /* running sum of the metric: the time axis */
    uint64_t done, work;
    bool first;
} writer;

static void put_frames(writer *writer)
{
    const crn_profile *profile = writer->profile;
    crn_names names;
    crn_names_open(&names, profile);
    writer->frames = crn_calloc(profile->block_count, sizeof *writer->frames);
    fputs("\"shared\":{\"frames\":[", writer->out);
    for (uint32_t i = 0; i < names.used_count; i++) {
        uint32_t block = names.used[i];
        const crn_block_info *info = &profile->blocks[block];
        writer->frames[block] = i;
        fputs(i ? ",\n{\"name\":" : "\n{\"name\":", writer->out);
        crn_names_put_json(writer->out, names.labels[block]);
        if (*info->file) {
            fputs(",\"file\":", writer->out);
            crn_names_put_json(writer->out, info->file);
        }
        if (info->line)
            fprintf(writer->out, ",\"line\":%u", info->line);
        if (info->column)
            fprintf(writer->out, ",\"col\":%u", info->column);
        fputc('}', writer->out);
    }
    fputs("]},\n", writer->out);
    crn_names_close(&names);
}

static void put_event(writer *writer, char type, uint32_t context)
{
    fprintf(writer->out, "%s{\"type\":\"%c\",\"frame\":%u,\"at\":%llu}", writer->first ? "" : ",\n",
            type, writer->frames[writer->profile->block[context]], (unsigned long long)writer->at);
    writer->first = false;
}

/* Opens a context. The root is closed at once, so it shows its self cost only. */
static void enter(void *data, uint32_t context)
{
    writer *writer = data;
    uint64_t self = crn_self(writer->profile, writer->metric, context);
    if (writer->options->progress)
        writer->options->progress(writer->done++, writer->work);
    if (context != 0 ? writer->totals[context] == 0 : self == 0)
        return;
    put_event(writer, 'O', context);
    writer->at += self;
    if (context == 0)
        put_event(writer, 'C', context);
}

static void leave(void *data, uint32_t context)
{
    writer *writer = data;
    if (context != 0 && writer->totals[context] != 0)
        put_event(writer, 'C', context);
}

static const char *unit_find(const char *unit)
{
    static const char *const units[] = {"nanoseconds", "microseconds", "milliseconds", "seconds",
                                        "bytes"};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i]) == 0)
            return unit;
    return "none";
}

static void put_profile(writer *writer, uint32_t metric)
{
    const crn_metric_info *info = &writer->profile->metrics[metric];
    writer->metric = metric;
    writer->totals = crn_totals(writer->profile, metric, NULL);
    writer->at = 0;
    writer->first = true;
    fputs("{\"type\":\"evented\",\"name\":", writer->out);
    crn_names_put_json(writer->out, info->name);
    fprintf(writer->out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%llu,\"events\":[\n",
            unit_find(info->unit), (unsigned long long)writer->totals[0]);
    crn_children_walk(writer->profile, enter, leave, writer);
    fputs("]}", writer->out);
    crn_free(writer->totals);
}

bool crn_speedscope_write(const crn_profile *profile, const crn_export_options *options, FILE *out,
                          crn_error *error)
{
    uint32_t metrics[CRN_METRIC_MAX], active = 0;
    uint32_t count = crn_export_metrics(profile, options->times, metrics);
    writer writer = {.profile = profile, .options = options, .out = out};
    writer.work = (uint64_t)count * profile->context_count;
    fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
          "\"exporter\":\"cairn@" CAIRN_VERSION "\",\n\"name\":",
          out);
    crn_names_put_json(writer.out, crn_profile_note(profile, "command", "cairn"));
    fputs(",\n", out);
    put_frames(&writer);
    fputs("\"profiles\":[", out);
    for (uint32_t i = 0; i < count; i++) {
        if (metrics[i] == (uint32_t)options->metric)
            active = i;
        fputs(i ? ",\n" : "\n", out);
        put_profile(&writer, metrics[i]);
    }
    fprintf(out, "],\n\"activeProfileIndex\":%u}\n", active);
    crn_free(writer.frames);
    return !ferror(out) || crn_export_failed(error, errno);
}
