/* SPDX-License-Identifier: MIT
 *
 * Chrome trace events: a complete event ("X") for each span, with its row as thread, and a pair of
 * flow events for each arrow. Times are microseconds with three decimals, so exact in ns.
 */
#include <cairn/span.h>
#include <errno.h>
#include <inttypes.h>

#include "base/memory.h"
#include "formats/attributes.h"
#include "formats/formats.h"
#include "formats/names.h"

typedef struct writer {
    const crn_timeline *timeline;
    const crn_trace *trace;
    const crn_export_options *options;
    FILE *out;
    char **names; /* by block, as JSON strings */
    crn_attribute_names keys;
    uint64_t done;
} writer;

static void put_time(writer *writer, const char *name, uint64_t ns)
{
    fprintf(writer->out, ",\"%s\":%" PRIu64 ".%03u", name, ns / 1000, (unsigned)(ns % 1000));
}

/* Writes the begin of an event on a row. Thread ids are unique over all processes. */
static void open_event(writer *writer, const char *phase, uint32_t row)
{
    const crn_timeline *timeline = writer->timeline;
    uint32_t process = timeline->process[timeline->rows[row].lane];
    fprintf(writer->out, ",\n{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u", phase,
            timeline->process_numbers[process], row + 1);
}

/* ---- metadata ---- */

static void put_rows(writer *writer)
{
    const crn_timeline *timeline = writer->timeline;
    for (uint32_t p = 0; p < timeline->process_count; p++) {
        fprintf(writer->out,
                "%s\n{\"ph\":\"M\",\"pid\":%u,\"name\":\"process_name\",\"args\":{"
                "\"name\":",
                p ? "," : "", timeline->process_numbers[p]);
        crn_names_put_json(writer->out, timeline->process_names[p]);
        fputs("}}", writer->out);
    }
    for (uint32_t r = 0; r < timeline->row_count; r++) {
        open_event(writer, "M", r);
        fputs(",\"name\":\"thread_name\",\"args\":{\"name\":", writer->out);
        crn_names_put_json(writer->out, timeline->row_names[r]);
        fputs("}}", writer->out);
        open_event(writer, "M", r);
        fprintf(writer->out, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%u}}", r);
    }
}

/* ---- spans ---- */

static void put_attributes(writer *writer, uint32_t span)
{
    const crn_span *its = &writer->trace->spans[span];
    FILE *out = writer->out;
    uint32_t count;
    const char *joint = "";
    const crn_attribute *attribute = crn_trace_attributes(writer->trace, span, &count);
    fputs(",\"args\":{", out);
    if (its->iteration != CAIRN_ITERATION_NONE) {
        fprintf(out, "\"iteration\":%" PRId64, its->iteration);
        joint = ",";
    }
    if (its->open) {
        fprintf(out, "%s\"open\":true", joint);
        joint = ",";
    }
    uint64_t cpu;
    if (crn_timeline_cpu(writer->timeline, span, &cpu)) {
        fprintf(out, "%s\"cpu_ns\":%" PRIu64, joint, cpu);
        joint = ",";
    }
    for (; count; count--, attribute++) {
        fputs(joint, out);
        joint = ",";
        crn_attribute_names_put(&writer->keys, attribute, out);
        fputc(':', out);
        if (attribute->kind == CRN_ATTRIBUTE_INTEGER)
            fprintf(out, "%" PRId64, attribute->value.integer);
        else if (attribute->kind == CRN_ATTRIBUTE_NUMBER)
            crn_attribute_put_number(attribute->value.number, out);
        else
            crn_names_put_json(writer->out, attribute->value.text);
    }
    fputs("}}", out);
}

static void put_span(void *data, uint32_t span)
{
    writer *writer = data;
    const crn_timeline *timeline = writer->timeline;
    const crn_span *its = &writer->trace->spans[span];
    if (writer->options->progress)
        writer->options->progress(writer->done++, writer->trace->span_count);
    open_event(writer, "X", timeline->row[span]);
    put_time(writer, "ts", its->start);
    put_time(writer, "dur", its->end - its->start);
    fprintf(writer->out, ",\"cat\":\"span\",\"name\":%s",
            writer->names[crn_timeline_block(timeline, span)]);
    put_attributes(writer, span);
}

static void pass(void *data, uint32_t span)
{
    (void)data;
    (void)span;
}

/* ---- arrows ---- */

/* Returns when the arrow arrives: when a wait ended, otherwise at the begin of its span. Viewers
 * attach it to the innermost event on the row at that time. */
static uint64_t arrives(const crn_trace *trace, const crn_arrow *arrow)
{
    const crn_span *from = &trace->spans[arrow->from], *to = &trace->spans[arrow->to];
    if (arrow->kind != CRN_ARROW_WAITS || from->end <= to->start || to->end == to->start)
        return to->start;
    return from->end < to->end ? from->end : to->end - 1;
}

/* Returns when the arrow leaves its span: when the token was taken, as the span was innermost then;
 * at the span's begin if that is not known. */
static uint64_t leaves(const crn_trace *trace, const crn_arrow *arrow)
{
    const crn_span *from = &trace->spans[arrow->from];
    uint64_t taken = arrow->taken;
    return taken >= from->start && taken < from->end ? taken : from->start;
}

static void put_arrow(writer *writer, uint32_t number)
{
    static const char *const kinds[] = {"hand-off", "waits for", "follows"};
    const crn_timeline *timeline = writer->timeline;
    const crn_arrow *arrow = &timeline->arrows[number];
    const char *kind = kinds[arrow->kind];
    open_event(writer, "s", timeline->row[arrow->from]);
    put_time(writer, "ts", leaves(writer->trace, arrow));
    fprintf(writer->out, ",\"cat\":\"%s\",\"name\":\"%s\",\"id\":%u}", kind, kind, number + 1);
    open_event(writer, "f", timeline->row[arrow->to]);
    put_time(writer, "ts", arrives(writer->trace, arrow));
    fprintf(writer->out, ",\"bp\":\"e\",\"cat\":\"%s\",\"name\":\"%s\",\"id\":%u}", kind, kind,
            number + 1);
}

static void put_level(void *data, uint32_t process, uint64_t time, uint32_t level)
{
    writer *writer = data;
    fprintf(writer->out, ",\n{\"ph\":\"C\",\"pid\":%u", writer->timeline->process_numbers[process]);
    put_time(writer, "ts", time);
    fprintf(writer->out, ",\"name\":\"lanes with an open span\",\"args\":{\"lanes\":%u}}", level);
}

/* ---- entry ---- */

static void find_names(writer *writer)
{
    static const char *const reserved[] = {"iteration", "open", "cpu_ns", NULL};
    const crn_timeline *timeline = writer->timeline;
    writer->names = crn_calloc(timeline->profile->block_count, sizeof *writer->names);
    for (uint32_t b = 0; b < timeline->profile->block_count; b++)
        if (timeline->names[b])
            writer->names[b] = crn_names_json(timeline->names[b]);
    crn_attribute_names_open(&writer->keys, writer->trace, reserved);
}

bool crn_chrome_write(const crn_profile *profile, const crn_trace *trace,
                      const crn_export_options *options, FILE *out, crn_error *error)
{
    crn_timeline timeline;
    crn_timeline_open(&timeline, profile, trace);
    writer writer = {.timeline = &timeline, .trace = trace, .options = options, .out = out};
    find_names(&writer);
    fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"exporter\":\"cairn@" CAIRN_VERSION
          "\"},\n\"traceEvents\":[",
          out);
    put_rows(&writer);
    crn_timeline_walk(&timeline, put_span, pass, &writer);
    for (uint32_t a = 0; a < timeline.arrow_count; a++)
        put_arrow(&writer, a);
    crn_timeline_levels(&timeline, put_level, &writer);
    fputs("\n]}\n", out);
    for (uint32_t b = 0; b < profile->block_count; b++)
        crn_free(writer.names[b]);
    crn_free(writer.names);
    crn_attribute_names_close(&writer.keys);
    crn_timeline_close(&timeline);
    return !ferror(out) || crn_export_failed(error, errno);
}
