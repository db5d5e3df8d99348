/* SPDX-License-Identifier: MIT
 *
 * OTLP/JSON: an ExportTraceServiceRequest with a resource for each process. 64-bit integers are
 * strings, ids are hexadecimal.
 */
#include <cairn/span.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "formats/attributes.h"
#include "formats/formats.h"
#include "formats/names.h"
#include "spans/spans.h"

enum { KIND_INTERNAL = 1 };

typedef struct writer {
    const crn_timeline *timeline;
    const crn_trace *trace;
    const crn_export_options *options;
    FILE *out;
    char **names, **files; /* by block, as JSON strings */
    char **lanes;          /* by lane */
    crn_attribute_names keys;
    crn_trace_ids ids;
    uint64_t base; /* ns from 1970 to the trace's time 0 */
    uint64_t done;
} writer;

static void put_ids(writer *writer, uint32_t span)
{
    uint64_t trace_id[2];
    crn_trace_id_of(&writer->ids, span, trace_id);
    fprintf(writer->out,
            "\"traceId\":\"%016" PRIx64 "%016" PRIx64 "\",\"spanId\":\"%016" PRIx64 "\"",
            trace_id[0], trace_id[1], crn_span_id_of(&writer->ids, span));
}

/* ---- resources ---- */

/* Writes the service's name: the label `service`, if all processes have the same one; otherwise the
 * program's file name. */
static void put_service(writer *writer, uint32_t process)
{
    const char *label = crn_profile_note(writer->timeline->profile, "service", NULL);
    if (label && *label && !strstr(label, " | ")) {
        crn_names_put_json(writer->out, label);
        return;
    }
    const char *command = writer->timeline->process_names[process];
    size_t length = strcspn(command, " ");
    const char *slash = memrchr(command, '/', length);
    char *name = crn_strdup(slash && slash + 1 < command + length ? slash + 1 : command);
    name[strcspn(name, " ")] = '\0';
    crn_names_put_json(writer->out, *name ? name : command);
    crn_free(name);
}

static void open_resource(writer *writer, uint32_t process)
{
    fprintf(writer->out,
            "%s\n{\"resource\":{\"attributes\":["
            "{\"key\":\"service.name\",\"value\":{\"stringValue\":",
            process ? "," : "");
    put_service(writer, process);
    fputs("}},{\"key\":\"process.command_line\",\"value\":{\"stringValue\":", writer->out);
    crn_names_put_json(writer->out, writer->timeline->process_names[process]);
    fputs("}}", writer->out);
    if (writer->trace->process_count && writer->trace->processes[process].number)
        fprintf(writer->out, ",{\"key\":\"process.pid\",\"value\":{\"intValue\":\"%u\"}}",
                writer->trace->processes[process].number);
    fputs("]},\"scopeSpans\":[{\"scope\":{\"name\":\"cairn\",\"version\":\"" CAIRN_VERSION
          "\"},\"spans\":[",
          writer->out);
}

static void close_resource(writer *writer)
{
    fputs("]}]}", writer->out);
}

/* ---- spans ---- */

static void put_attribute(writer *writer, const crn_attribute *attribute)
{
    FILE *out = writer->out;
    fputs(",{\"key\":", out);
    crn_attribute_names_put(&writer->keys, attribute, out);
    switch (attribute->kind) {
    case CRN_ATTRIBUTE_INTEGER:
        fprintf(out, ",\"value\":{\"intValue\":\"%" PRId64 "\"}}", attribute->value.integer);
        break;
    case CRN_ATTRIBUTE_NUMBER:
        fputs(",\"value\":{\"doubleValue\":", out);
        crn_attribute_put_number(attribute->value.number, out);
        fputs("}}", out);
        break;
    default:
        fputs(",\"value\":{\"stringValue\":", out);
        crn_names_put_json(writer->out, attribute->value.text);
        fputs("}}", out);
    }
}

/* Writes what each span has (lane, file, line ...), then the span's attributes. */
static void put_attributes(writer *writer, uint32_t span)
{
    const crn_span *its = &writer->trace->spans[span];
    uint32_t count, block = crn_timeline_block(writer->timeline, span);
    const crn_block_info *info = &writer->timeline->profile->blocks[block];
    const crn_attribute *attribute = crn_trace_attributes(writer->trace, span, &count);
    FILE *out = writer->out;
    fprintf(out, ",\"attributes\":[{\"key\":\"thread.name\",\"value\":{\"stringValue\":%s}}",
            writer->lanes[its->lane]);
    if (*info->file)
        fprintf(out, ",{\"key\":\"code.file.path\",\"value\":{\"stringValue\":%s}}",
                writer->files[block]);
    if (info->line)
        fprintf(out, ",{\"key\":\"code.line.number\",\"value\":{\"intValue\":\"%u\"}}", info->line);
    if (its->iteration != CAIRN_ITERATION_NONE)
        fprintf(out, ",{\"key\":\"cairn.iteration\",\"value\":{\"intValue\":\"%" PRId64 "\"}}",
                its->iteration);
    if (its->open)
        fputs(",{\"key\":\"cairn.open\",\"value\":{\"boolValue\":true}}", out);
    if (its->handed_off)
        fputs(",{\"key\":\"cairn.handed_off\",\"value\":{\"boolValue\":true}}", out);
    uint64_t cpu;
    if (crn_timeline_cpu(writer->timeline, span, &cpu))
        fprintf(out, ",{\"key\":\"cairn.cpu_ns\",\"value\":{\"intValue\":\"%" PRIu64 "\"}}", cpu);
    for (; count; count--, attribute++)
        put_attribute(writer, attribute);
    fputc(']', out);
}

/* Writes the edges that lead to the span, as links. */
static void put_links(writer *writer, uint32_t span)
{
    static const char *const kinds[] = {"hand-off", "waits for", "follows"};
    uint32_t first, count = crn_timeline_arriving(writer->timeline, span, &first);
    if (!count)
        return;
    fputs(",\"links\":[", writer->out);
    for (uint32_t a = first; a < first + count; a++) {
        const crn_arrow *arrow = &writer->timeline->arrows[a];
        fputs(a == first ? "{" : ",{", writer->out);
        put_ids(writer, arrow->from);
        fprintf(writer->out,
                ",\"attributes\":[{\"key\":\"cairn.edge\",\"value\":{\"stringValue\":"
                "\"%s\"}}]}",
                kinds[arrow->kind]);
    }
    fputc(']', writer->out);
}

static void put_span(writer *writer, uint32_t span)
{
    const crn_span *its = &writer->trace->spans[span];
    uint64_t parent = crn_parent_id_of(&writer->ids, span);
    FILE *out = writer->out;
    fputc('{', out);
    put_ids(writer, span);
    if (parent)
        fprintf(out, ",\"parentSpanId\":\"%016" PRIx64 "\"", parent);
    fprintf(out,
            ",\"name\":%s,\"kind\":%d,\"startTimeUnixNano\":\"%" PRIu64
            "\",\"endTimeUnixNano\":\"%" PRIu64 "\"",
            writer->names[crn_timeline_block(writer->timeline, span)], KIND_INTERNAL,
            writer->base + its->start, writer->base + its->end);
    put_attributes(writer, span);
    put_links(writer, span);
    fputs(",\"status\":{}}", out);
}

/* ---- entry ---- */

static void find_names(writer *writer)
{
    static const char *const reserved[] = {
        "thread.name", "code.file.path",   "code.line.number", "cairn.iteration",
        "cairn.open",  "cairn.handed_off", "cairn.cpu_ns",     NULL};
    const crn_timeline *timeline = writer->timeline;
    uint32_t blocks = timeline->profile->block_count;
    writer->names = crn_calloc(blocks, sizeof *writer->names);
    writer->files = crn_calloc(blocks, sizeof *writer->files);
    for (uint32_t b = 0; b < blocks; b++) {
        if (!timeline->names[b])
            continue;
        writer->names[b] = crn_names_json(timeline->names[b]);
        writer->files[b] = crn_names_json(timeline->profile->blocks[b].file);
    }
    writer->lanes = crn_calloc((size_t)writer->trace->lane_count + 1, sizeof *writer->lanes);
    const char **lanes = crn_timeline_lane_names(timeline);
    for (uint32_t lane = 0; lane < writer->trace->lane_count; lane++)
        writer->lanes[lane] = lanes[lane] ? crn_names_json(lanes[lane]) : NULL;
    crn_free((void *)lanes);
    crn_attribute_names_open(&writer->keys, writer->trace, reserved);
    crn_trace_ids_open(&writer->ids, writer->trace);
}

static void free_names(writer *writer)
{
    for (uint32_t b = 0; b < writer->timeline->profile->block_count; b++) {
        crn_free(writer->names[b]);
        crn_free(writer->files[b]);
    }
    for (uint32_t lane = 0; lane < writer->trace->lane_count; lane++)
        crn_free(writer->lanes[lane]);
    crn_free(writer->names);
    crn_free(writer->files);
    crn_free(writer->lanes);
    crn_attribute_names_close(&writer->keys);
    crn_trace_ids_close(&writer->ids);
}

/* Writes a resource for each process. The spans of a process are consecutive. */
static void put_resources(writer *writer)
{
    const crn_trace *trace = writer->trace;
    uint32_t span = 0;
    for (uint32_t p = 0; p < writer->timeline->process_count; p++) {
        open_resource(writer, p);
        for (bool first = true;
             span < trace->span_count && writer->timeline->process[trace->spans[span].lane] == p;
             span++, first = false) {
            if (writer->options->progress)
                writer->options->progress(writer->done++, trace->span_count);
            fputs(first ? "\n" : ",\n", writer->out);
            put_span(writer, span);
        }
        close_resource(writer);
    }
}

bool crn_otlp_write(const crn_profile *profile, const crn_trace *trace,
                    const crn_export_options *options, FILE *out, crn_error *error)
{
    crn_timeline timeline;
    crn_timeline_open(&timeline, profile, trace);
    writer writer = {.timeline = &timeline, .trace = trace, .options = options, .out = out};
    if (trace->process_count && trace->processes[0].unix_ns > trace->processes[0].start)
        writer.base = trace->processes[0].unix_ns - trace->processes[0].start;
    find_names(&writer);
    fputs("{\"resourceSpans\":[", out);
    put_resources(&writer);
    fputs("\n]}\n", out);
    free_names(&writer);
    crn_timeline_close(&timeline);
    return !ferror(out) || crn_export_failed(error, errno);
}
