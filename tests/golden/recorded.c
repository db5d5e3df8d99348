/* SPDX-License-Identifier: MIT
 *
 * recorded.c - a capture of spans whose times are known, from lines on its input:
 *
 *   lane NAME
 *   span LABEL START END BLOCK [#ITERATION] [<PARENT] [@TAKEN] [KEY=VALUE ...]
 *   waits LABEL LABEL AT
 *   follows LABEL LABEL AT
 *   counter LABEL NAME VALUE AT      in this span; in the order of the spans
 *   event LABEL LEVEL AT TEXT        likewise; LEVEL is a number
 *   off LANE BEGIN WAITING READY END [BY]    no core; lanes are numbered, in their order
 *   thread NUMBER                    of the lane before it
 *   sample AT CPU [BLOCK ...]        on the lane before it, in the order of the moments; the blocks
 *                                    from the outermost on
 *
 * Spans are of the lane before them, in the order of their starts; times are in microseconds. END
 * is "-" for one that has not ended. Labels are for the lines only. What has a TAKEN was handed off
 * then.
 *
 * usage: recorded OUT.cairn <LINES
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/span.h>

#include "base/memory.h"
#include "base/order.h"
#include "spans/spans.h"

enum { LINE = 4096, MICROSECOND = 1000 };

typedef struct recording {
    crn_trace *trace;
    crn_profile_builder *builder;
    char **labels; /* by span */
    crn_samples_making samples;
} recording;

static void fail(const char *what, const char *word)
{
    fprintf(stderr, "recorded: %s \"%s\"\n", what, word ? word : "");
    exit(2);
}

static const char *intern(recording *recording, const char *text)
{
    return crn_intern_text(recording->trace->texts, text);
}

static uint64_t time_of(const char *word)
{
    char *end;
    double time = word ? strtod(word, &end) : 0;
    if (!word || *end)
        fail("no time:", word);
    return (uint64_t)(time * MICROSECOND);
}

static uint32_t span_of(const recording *recording, const char *label)
{
    for (uint32_t s = 0; label && s < recording->trace->span_count; s++)
        if (strcmp(recording->labels[s], label) == 0)
            return s;
    fail("no span", label);
    return 0;
}

static void add_lane(recording *recording, const char *name)
{
    crn_trace *trace = recording->trace;
    trace->lanes =
        crn_realloc((void *)trace->lanes, trace->lane_count + (size_t)1, sizeof *trace->lanes);
    trace->threads =
        crn_realloc(trace->threads, trace->lane_count + (size_t)1, sizeof *trace->threads);
    trace->threads[trace->lane_count] = 0;
    trace->lanes[trace->lane_count++] = intern(recording, name ? name : "");
}

static uint32_t block_of(recording *recording, const char *name)
{
    return crn_profile_builder_block(recording->builder,
                                     &(crn_block_info){.name = name, .file = ""});
}

static void add_sample(recording *recording)
{
    crn_sample sample = {.at = time_of(strtok(NULL, " \n")), .path = CRN_PATH_NONE};
    uint32_t context = crn_profile_builder_root(recording->builder);
    sample.cpu = (uint32_t)time_of(strtok(NULL, " \n"));
    sample.lane = recording->trace->lane_count - 1;
    for (char *word; (word = strtok(NULL, " \n"));) {
        uint32_t block = block_of(recording, word);
        context = crn_profile_builder_child(recording->builder, context, block, 0);
        sample.path = crn_samples_path(&recording->samples, sample.path, block);
    }
    crn_profile_builder_charge(recording->builder, context, CAIRN_METRIC_CPU, sample.cpu);
    crn_samples_add(&recording->samples, &sample);
}

static uint16_t key_of(recording *recording, const char *name)
{
    crn_trace *trace = recording->trace;
    name = intern(recording, name);
    for (uint32_t k = 0; k < trace->key_count; k++)
        if (trace->keys[k] == name)
            return (uint16_t)k;
    trace->keys =
        crn_realloc((void *)trace->keys, trace->key_count + (size_t)1, sizeof *trace->keys);
    trace->keys[trace->key_count] = name;
    return (uint16_t)trace->key_count++;
}

static void add_attribute(recording *recording, uint32_t span, char *word)
{
    crn_trace *trace = recording->trace;
    char *value = strchr(word, '='), *end;
    if (!value)
        fail("no attribute:", word);
    *value++ = 0;
    crn_attribute attribute = {.span = span, .key = key_of(recording, word)};
    attribute.kind = CRN_ATTRIBUTE_INTEGER;
    attribute.value.integer = strtoll(value, &end, 10);
    if (*end || !*value) {
        attribute.kind = CRN_ATTRIBUTE_NUMBER;
        attribute.value.number = strtod(value, &end);
    }
    if (*end || !*value) {
        attribute.kind = CRN_ATTRIBUTE_TEXT;
        attribute.value.text = intern(recording, value);
    }
    trace->attributes = crn_realloc(trace->attributes, trace->attribute_count + (size_t)1,
                                    sizeof *trace->attributes);
    trace->attributes[trace->attribute_count++] = attribute;
}

static void add_counter(recording *recording)
{
    crn_trace *trace = recording->trace;
    uint32_t span = span_of(recording, strtok(NULL, " \n"));
    uint16_t key = key_of(recording, strtok(NULL, " \n"));
    double value = strtod(strtok(NULL, " \n"), NULL);
    trace->counters =
        crn_realloc(trace->counters, trace->counter_count + (size_t)1, sizeof *trace->counters);
    trace->counters[trace->counter_count++] =
        (crn_counter){span, key, value, time_of(strtok(NULL, " \n"))};
}

static void add_event(recording *recording)
{
    crn_trace *trace = recording->trace;
    crn_span_event event = {.span = span_of(recording, strtok(NULL, " \n"))};
    event.level = (uint32_t)strtoul(strtok(NULL, " \n"), NULL, 10);
    event.at = time_of(strtok(NULL, " \n"));
    event.text = intern(recording, strtok(NULL, "\n"));
    trace->events =
        crn_realloc(trace->events, trace->event_count + (size_t)1, sizeof *trace->events);
    trace->events[trace->event_count++] = event;
}

static void add_off_core(recording *recording)
{
    crn_trace *trace = recording->trace;
    crn_off_core off = {.lane = (uint32_t)strtoul(strtok(NULL, " \n"), NULL, 10)};
    off.begin = time_of(strtok(NULL, " \n"));
    off.waiting = time_of(strtok(NULL, " \n"));
    off.ready = time_of(strtok(NULL, " \n"));
    off.end = time_of(strtok(NULL, " \n"));
    const char *by = strtok(NULL, " \n");
    off.woken_by = by ? (uint32_t)strtoul(by, NULL, 10) : CRN_SPAN_NONE;
    trace->off_core =
        crn_realloc(trace->off_core, trace->off_core_count + (size_t)1, sizeof *trace->off_core);
    trace->off_core[trace->off_core_count++] = off;
}

static void add_handoff(recording *recording, uint32_t span, uint64_t taken)
{
    crn_trace *trace = recording->trace;
    trace->spans[span].handed_off = true;
    trace->handoffs =
        crn_realloc(trace->handoffs, trace->handoff_count + (size_t)1, sizeof *trace->handoffs);
    trace->handoffs[trace->handoff_count] =
        (crn_span_handoff){span, (uint16_t)(trace->handoff_count + 1), taken};
    trace->handoff_count++;
}

static void add_span(recording *recording)
{
    crn_trace *trace = recording->trace;
    uint32_t s = trace->span_count;
    char *label = strtok(NULL, " \n"), *start = strtok(NULL, " \n"), *end = strtok(NULL, " \n");
    char *block = strtok(NULL, " \n");
    if (!block || !trace->lane_count)
        fail("not a whole span, or no lane:", label);
    trace->spans = crn_realloc(trace->spans, s + (size_t)1, sizeof *trace->spans);
    recording->labels = crn_realloc(recording->labels, s + (size_t)1, sizeof *recording->labels);
    recording->labels[s] = crn_strdup(label);
    trace->spans[s] = (crn_span){.start = time_of(start),
                                 .open = strcmp(end, "-") == 0,
                                 .iteration = CAIRN_ITERATION_NONE,
                                 .block = block_of(recording, block),
                                 .parent = CRN_SPAN_NONE,
                                 .lane = trace->lane_count - 1};
    trace->spans[s].end = trace->spans[s].open ? trace->spans[s].start : time_of(end);
    if (trace->length < trace->spans[s].end)
        trace->length = trace->spans[s].end;
    for (char *word; (word = strtok(NULL, " \n"));) {
        if (*word == '#')
            trace->spans[s].iteration = strtoll(word + 1, NULL, 10);
        else if (*word == '<')
            trace->spans[s].parent = span_of(recording, word + 1);
        else if (*word == '@')
            add_handoff(recording, s, time_of(word + 1));
        else
            add_attribute(recording, s, word);
    }
    trace->span_count++;
}

static void add_edge(recording *recording, const char *kind)
{
    crn_trace *trace = recording->trace;
    crn_span_edge edge = {.kind = strcmp(kind, "waits") == 0 ? CRN_EDGE_WAITS : CRN_EDGE_FOLLOWS};
    edge.from = span_of(recording, strtok(NULL, " \n"));
    edge.to = span_of(recording, strtok(NULL, " \n"));
    edge.at = time_of(strtok(NULL, " \n"));
    trace->edges = crn_realloc(trace->edges, trace->edge_count + (size_t)1, sizeof *trace->edges);
    trace->edges[trace->edge_count++] = edge;
}

static void read_lines(recording *recording)
{
    char line[LINE];
    while (fgets(line, sizeof line, stdin)) {
        char *word = strtok(line, " \n");
        if (!word || *word == '%')
            continue;
        if (strcmp(word, "lane") == 0)
            add_lane(recording, strtok(NULL, "\n"));
        else if (strcmp(word, "span") == 0)
            add_span(recording);
        else if (strcmp(word, "counter") == 0)
            add_counter(recording);
        else if (strcmp(word, "event") == 0)
            add_event(recording);
        else if (strcmp(word, "off") == 0)
            add_off_core(recording);
        else if (strcmp(word, "thread") == 0)
            recording->trace->threads[recording->trace->lane_count - 1] =
                (uint32_t)strtoul(strtok(NULL, " \n"), NULL, 10);
        else if (strcmp(word, "sample") == 0)
            add_sample(recording);
        else if (strcmp(word, "waits") == 0 || strcmp(word, "follows") == 0)
            add_edge(recording, word);
        else
            fail("what is", word);
    }
}

static int compare_edges(const void *left, const void *right)
{
    const crn_span_edge *a = left, *b = right;
    return CRN_ORDER(a->from, b->from);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    recording recording = {.trace = crn_calloc(1, sizeof *recording.trace),
                           .builder = crn_profile_builder_new()};
    recording.trace->texts = crn_interning_new();
    crn_samples_begin(&recording.samples, &recording.trace->samples);
    crn_profile_builder_metric(recording.builder, "cpu", "nanoseconds");
    read_lines(&recording);
    crn_samples_end(&recording.samples);
    if (recording.trace->edge_count)
        qsort(recording.trace->edges, recording.trace->edge_count, sizeof *recording.trace->edges,
              compare_edges);
    for (uint32_t s = 0; s < recording.trace->span_count; s++) {
        if (recording.trace->spans[s].open)
            recording.trace->spans[s].end = recording.trace->length;
        crn_free(recording.labels[s]);
    }
    crn_free(recording.labels);
    crn_profile *profile = crn_profile_builder_end(recording.builder);
    crn_error error;
    bool saved = crn_trace_save(profile, recording.trace, argv[1], &error);
    if (!saved)
        fprintf(stderr, "recorded: %s\n", error.message);
    crn_profile_free(profile);
    crn_trace_free(recording.trace);
    return saved ? 0 : 1;
}
