/* SPDX-License-Identifier: MIT
 *
 * Writes gzipped pprof: a sample for each context with its canonical path, a function and a
 * location for each block. Each field of the top-level message is encoded alone and written to the
 * gzip stream.
 */
#include <cairn/cairn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/memory.h"
#include "base/text.h"
#include "formats/formats.h"
#include "formats/names.h"
#include "formats/pprof.h"
#include "profile/profile.h"

typedef struct writer {
    const crn_profile *profile;
    const crn_export_options *options;
    crn_names names;
    uint32_t *ids; /* by block: id of its function and location; 0 if it has no context */
    gzFile file;
    bool failed;
    int reason; /* errno of the first failure */
    uint8_t *packed;
    size_t capacity;
    crn_interning *strings; /* numbered like the string table */
    const char **table;
    size_t string_count, table_capacity;
} writer;

static void put(writer *writer, const void *bytes, size_t length)
{
    while (length > 0 && !writer->failed) {
        unsigned part = length < (1u << 30) ? (unsigned)length : 1u << 30;
        writer->failed = gzwrite(writer->file, bytes, part) != (int)part;
        writer->reason = writer->failed ? errno : 0;
        bytes = (const char *)bytes + part;
        length -= part;
    }
}

/* Writes tag and length of a length-delimited field of Profile. */
static void put_head(writer *writer, unsigned field, size_t length)
{
    uint8_t head[12];
    size_t count = 0;
    head[count++] = (uint8_t)(field << 3 | 2);
    for (; length >= 0x80; length >>= 7)
        head[count++] = (uint8_t)(length | 0x80);
    head[count++] = (uint8_t)length;
    put(writer, head, count);
}

static void pack(writer *writer, const ProtobufCMessage *message, size_t *length)
{
    *length = protobuf_c_message_get_packed_size(message);
    if (*length > writer->capacity) {
        writer->capacity = *length * 2;
        writer->packed = crn_realloc(writer->packed, writer->capacity, 1);
    }
    protobuf_c_message_pack(message, writer->packed);
}

static void put_message(writer *writer, unsigned field, const ProtobufCMessage *message)
{
    size_t length;
    pack(writer, message, &length);
    put_head(writer, field, length);
    put(writer, writer->packed, length);
}

/* Returns the index of a string, adding it to the table if it is new. */
static int64_t string_number(writer *writer, const char *text)
{
    char *valid = crn_text_copy(text, false);
    size_t length = strlen(valid);
    uint32_t number = crn_intern_number(writer->strings, valid, length);
    if (number == writer->string_count) {
        if (writer->string_count == writer->table_capacity) {
            writer->table_capacity = writer->table_capacity * 2 + 64;
            writer->table =
                crn_realloc(writer->table, writer->table_capacity, sizeof *writer->table);
        }
        writer->table[writer->string_count++] = crn_intern(writer->strings, valid, length);
    }
    crn_free(valid);
    return number;
}

static void put_sample_types(writer *writer, const uint32_t *metrics, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        Perftools__Profiles__ValueType type = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
        type.type =
            string_number(writer, crn_pprof_type_of(writer->profile->metrics[metrics[i]].name));
        type.unit = string_number(writer, writer->profile->metrics[metrics[i]].unit);
        put_message(writer, CRN_PPROF_SAMPLE_TYPE, &type.base);
    }
}

/* Finds the locations of a path, innermost first, and returns their number. The root is the last,
 * so that pprof's cumulative figures of the root equal the report's. */
static size_t path_find(const writer *writer, uint32_t context, uint64_t **path, size_t *capacity)
{
    const crn_profile *profile = writer->profile;
    size_t length = 0;
    for (;; context = profile->parent[context]) {
        if (length == *capacity) {
            *capacity = *capacity * 2 + 256;
            *path = crn_realloc(*path, *capacity, sizeof **path);
        }
        (*path)[length++] = writer->ids[profile->block[context]];
        if (context == 0)
            return length;
    }
}

static void put_samples(writer *writer, const uint32_t *metrics, uint32_t metric_count)
{
    const crn_profile *profile = writer->profile;
    int64_t values[CRN_METRIC_MAX];
    uint64_t *path = NULL;
    size_t capacity = 0;
    for (uint32_t c = 0; c < profile->context_count && !writer->failed; c++) {
        if (writer->options->progress)
            writer->options->progress(c, profile->context_count);
        if (crn_export_is_empty(profile, metrics, metric_count, c))
            continue;
        for (uint32_t i = 0; i < metric_count; i++)
            values[i] = (int64_t)crn_self(profile, metrics[i], c);
        Perftools__Profiles__Sample sample = PERFTOOLS__PROFILES__SAMPLE__INIT;
        sample.n_location_id = path_find(writer, c, &path, &capacity);
        sample.location_id = path;
        sample.n_value = metric_count;
        sample.value = values;
        put_message(writer, CRN_PPROF_SAMPLE, &sample.base);
    }
    crn_free(path);
}

/* Writes one mapping for all locations: without any, pprof looks for binaries to symbolise. */
static void put_mapping(writer *writer)
{
    Perftools__Profiles__Mapping mapping = PERFTOOLS__PROFILES__MAPPING__INIT;
    mapping.id = 1;
    mapping.filename =
        string_number(writer, crn_profile_note(writer->profile, "command", "[cairn]"));
    mapping.has_functions = mapping.has_filenames = mapping.has_line_numbers = true;
    mapping.has_inline_frames = true;
    put_message(writer, CRN_PPROF_MAPPING, &mapping.base);
}

static void put_blocks(writer *writer)
{
    const crn_profile *profile = writer->profile;
    const crn_names *names = &writer->names;
    for (uint32_t i = 0; i < names->used_count; i++) {
        const crn_block_info *info = &profile->blocks[names->used[i]];
        Perftools__Profiles__Line line = PERFTOOLS__PROFILES__LINE__INIT;
        line.function_id = i + (uint64_t)1;
        line.line = info->line;
        line.column = info->column;
        Perftools__Profiles__Line *lines[] = {&line};
        Perftools__Profiles__Location location = PERFTOOLS__PROFILES__LOCATION__INIT;
        location.id = line.function_id;
        location.mapping_id = 1;
        location.n_line = 1;
        location.line = lines;
        put_message(writer, CRN_PPROF_LOCATION, &location.base);
    }
    for (uint32_t i = 0; i < names->used_count; i++) {
        const crn_block_info *info = &profile->blocks[names->used[i]];
        Perftools__Profiles__Function function = PERFTOOLS__PROFILES__FUNCTION__INIT;
        function.id = i + (uint64_t)1;
        function.name = string_number(writer, names->labels[names->used[i]]);
        /* No system name: if both names are equal, pprof takes "f <a.lua:1>" for a C++ template and
         * shortens it. */
        function.filename = string_number(writer, info->file);
        function.start_line = info->line;
        put_message(writer, CRN_PPROF_FUNCTION, &function.base);
    }
}

/* Writes the rest of Profile: numbers, and notes as comments. A packed Profile may follow single
 * fields of it. */
static void put_rest(writer *writer, int metric)
{
    const crn_profile *profile = writer->profile;
    Perftools__Profiles__Profile rest = PERFTOOLS__PROFILES__PROFILE__INIT;
    size_t note_count;
    const crn_note **notes = crn_export_notes(profile, writer->options->times, &note_count);
    rest.comment = crn_calloc(note_count + 1, sizeof *rest.comment);
    rest.comment[rest.n_comment++] = string_number(writer, "cairn " CAIRN_VERSION);
    for (size_t i = 0; i < note_count; i++) {
        size_t size = strlen(notes[i]->key) + strlen(notes[i]->value) + 2;
        char *text = crn_calloc(size, 1);
        snprintf(text, size, "%s=%s", notes[i]->key, notes[i]->value);
        rest.comment[rest.n_comment++] = string_number(writer, text);
        crn_free(text);
    }
    crn_free(notes);
    rest.default_sample_type =
        string_number(writer, crn_pprof_type_of(profile->metrics[metric].name));
    if (writer->options->times)
        crn_export_span(profile, &rest.time_nanos, &rest.duration_nanos);
    size_t length;
    pack(writer, &rest.base, &length);
    put(writer, writer->packed, length);
    crn_free(rest.comment);
    for (size_t i = 0; i < writer->string_count; i++) {
        size_t size = strlen(writer->table[i]);
        put_head(writer, CRN_PPROF_STRING, size);
        put(writer, writer->table[i], size);
    }
}

bool crn_pprof_write(const crn_profile *profile, const crn_export_options *options, FILE *out,
                     crn_error *error)
{
    if (!crn_export_check_size(profile, "pprof", error))
        return false;
    writer writer = {.profile = profile, .options = options};
    int descriptor = fflush(out) == 0 ? dup(fileno(out)) : -1;
    /* zlib's header has no time stamp, so the same profile gives the same bytes. */
    writer.file = descriptor < 0 ? NULL : gzdopen(descriptor, "wb");
    if (!writer.file) {
        crn_export_failed(error, errno);
        if (descriptor >= 0)
            close(descriptor);
        return false;
    }
    gzbuffer(writer.file, 1 << 18);
    writer.strings = crn_interning_new();
    string_number(&writer, "");
    crn_names_open(&writer.names, profile);
    writer.ids = crn_calloc(profile->block_count, sizeof *writer.ids);
    for (uint32_t i = 0; i < writer.names.used_count; i++)
        writer.ids[writer.names.used[i]] = i + 1;
    uint32_t metrics[CRN_METRIC_MAX];
    uint32_t metric_count = crn_export_metrics(profile, options->times, metrics);
    metric_count = crn_pprof_heap_order(profile, metrics, metric_count);
    put_sample_types(&writer, metrics, metric_count);
    put_samples(&writer, metrics, metric_count);
    put_mapping(&writer);
    put_blocks(&writer);
    put_rest(&writer, options->metric);
    bool good = gzclose(writer.file) == Z_OK && !writer.failed;
    if (!good)
        crn_export_failed(error, writer.failed ? writer.reason : errno);
    crn_names_close(&writer.names);
    crn_free(writer.ids);
    crn_interning_free(writer.strings);
    crn_free(writer.table);
    crn_free(writer.packed);
    return good;
}
