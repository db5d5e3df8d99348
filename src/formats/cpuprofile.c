/* SPDX-License-Identifier: MIT
 *
 * V8's CPU profiles (.cpuprofile), as node --cpu-prof and Chrome write them: a tree of call frames,
 * the node of each sample, and the microseconds between samples.
 * Schema: Chrome DevTools Protocol, Profiler.Profile.
 */
#include <cairn/cairn.h>
#include <jansson.h>
#include <string.h>

#include "base/memory.h"
#include "formats/formats.h"

enum { NS_PER_US = 1000 };

typedef struct node {
    json_t *json;
    uint32_t context; /* set by reach */
} node;

typedef struct reader {
    crn_source *source;
    crn_profile_builder *builder;
    crn_interning *ids; /* from ids to indices of `nodes` */
    node *nodes;
    size_t count;
    crn_error *error;
} reader;

static bool fail(const reader *reader, const char *what)
{
    return crn_error_set(reader->error, CAIRN_E_FORMAT, "%s: is damaged: %s",
                         crn_source_name(reader->source), what);
}

static size_t read_some(void *buffer, size_t size, void *data)
{
    crn_source *source = data;
    crn_error error = {0};
    size_t length = 0;
    const char *byte;
    while (length < size && (byte = crn_source_bytes(source, 1, &error)))
        ((char *)buffer)[length++] = *byte;
    return error.code ? (size_t)-1 : length;
}

/* Returns the index of the node with an id; `count` if no node has it. */
static size_t number_of(const reader *reader, json_int_t id)
{
    size_t number = crn_intern_number(reader->ids, (const char *)&id, sizeof id);
    return number < reader->count ? number : reader->count;
}

static bool read_nodes(reader *reader, const json_t *list)
{
    size_t index;
    json_t *value;
    reader->nodes = crn_calloc(json_array_size(list) + 1, sizeof *reader->nodes);
    json_array_foreach(list, index, value)
    {
        json_int_t id = json_integer_value(json_object_get(value, "id"));
        if (crn_intern_number(reader->ids, (const char *)&id, sizeof id) != index)
            return fail(reader, "two nodes have the same id");
        reader->nodes[index].json = value;
    }
    reader->count = json_array_size(list);
    return reader->count > 0 || fail(reader, "it has no nodes");
}

/* Returns the block of a call frame. Lines and columns count from 0 in the file. */
static uint32_t block_of(const reader *reader, const json_t *value)
{
    const json_t *frame = json_object_get(value, "callFrame");
    const char *name = json_string_value(json_object_get(frame, "functionName"));
    const char *file = json_string_value(json_object_get(frame, "url"));
    json_int_t line = json_integer_value(json_object_get(frame, "lineNumber"));
    json_int_t column = json_integer_value(json_object_get(frame, "columnNumber"));
    bool placed = file && *file && line >= 0 && line < INT32_MAX && column < INT32_MAX;
    return crn_profile_builder_block(
        reader->builder,
        &(crn_block_info){.name = name && *name ? name : "(anonymous)",
                          .file = file ? file : "",
                          .line = placed ? (uint32_t)line + 1 : 0,
                          .column = placed && column >= 0 ? (uint32_t)column + 1 : 0});
}

/* Makes the contexts of all nodes below `root`, without recursion. Fails if a node is reached
 * twice, as in a damaged file with a cycle, or not at all. */
static bool reach(reader *reader, size_t root)
{
    size_t *left = crn_calloc(reader->count + 1, sizeof *left), count = 0;
    bool *reached = crn_calloc(reader->count + 1, sizeof *reached), good = true;
    reader->nodes[root].context = crn_profile_builder_root(reader->builder);
    reached[root] = true;
    left[count++] = root;
    while (good && count) {
        const node *parent = &reader->nodes[left[--count]];
        size_t index;
        json_t *id;
        json_array_foreach(json_object_get(parent->json, "children"), index, id)
        {
            size_t child = number_of(reader, json_integer_value(id));
            if (child == reader->count || reached[child]) {
                good = fail(reader, "a child is not a node, or has two parents");
                break;
            }
            reached[child] = true;
            reader->nodes[child].context = crn_profile_builder_child(
                reader->builder, parent->context, block_of(reader, reader->nodes[child].json), 0);
            left[count++] = child;
        }
    }
    for (size_t n = 0; good && n < reader->count; n++)
        if (!reached[n])
            good = fail(reader, "a node is not below the first one");
    crn_free(left);
    crn_free(reached);
    return good;
}

/* Charges each sample with the time until the next one; the last one, until the end. */
static bool charge_samples(reader *reader, const json_t *whole)
{
    const json_t *samples = json_object_get(whole, "samples");
    const json_t *deltas = json_object_get(whole, "timeDeltas");
    size_t count = json_array_size(samples);
    json_int_t at = 0, start = json_integer_value(json_object_get(whole, "startTime"));
    json_int_t end = json_integer_value(json_object_get(whole, "endTime"));
    if (count != json_array_size(deltas))
        return fail(reader, "the numbers of samples and of their times differ");
    for (size_t s = 0; s < count; s++) {
        size_t number = number_of(reader, json_integer_value(json_array_get(samples, s)));
        if (number == reader->count)
            return fail(reader, "a sample names a node that is not there");
        json_int_t delta = json_integer_value(json_array_get(deltas, s));
        json_int_t next = s + 1 < count ? json_integer_value(json_array_get(deltas, s + 1)) : 0;
        if (delta < -INT32_MAX || delta > INT32_MAX || next > INT32_MAX)
            return fail(reader, "a time is out of range");
        at += delta;
        if (s + 1 == count && end > start && end - start < INT64_MAX / NS_PER_US)
            next = end - start - at;
        if (next > 0) /* negative if the clocks of two processors differ */
            crn_profile_builder_charge(reader->builder, reader->nodes[number].context,
                                       CRN_METRIC_WALL, (uint64_t)next * NS_PER_US);
    }
    return true;
}

crn_profile *crn_cpuprofile_read(crn_source *source, const crn_import_options *options,
                                 crn_error *error)
{
    (void)options;
    json_error_t fault = {0};
    reader reader = {.source = source,
                     .builder = crn_profile_builder_new(),
                     .ids = crn_interning_new(),
                     .error = error};
    json_t *whole = NULL;
    crn_profile_builder_note(reader.builder, "imported", "cpuprofile");
    bool good = crn_source_rewind(source, error);
    if (good && !(whole = json_load_callback(read_some, source, 0, &fault)))
        good = fail(&reader, fault.text);
    good = good && read_nodes(&reader, json_object_get(whole, "nodes")) && reach(&reader, 0) &&
           charge_samples(&reader, whole);
    json_decref(whole);
    crn_interning_free(reader.ids);
    crn_free(reader.nodes);
    return crn_import_end(reader.builder, good);
}

bool crn_cpuprofile_recognise(const char *head, size_t length)
{
    static const char *const words[] = {"\"nodes\"", "\"callFrame\""};
    size_t blank = 0;
    while (blank < length && strchr(" \t\r\n", head[blank]))
        blank++;
    bool is = blank < length && head[blank] == '{';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        is = is && memmem(head, length, words[i], strlen(words[i]));
    return is;
}
