/* SPDX-License-Identifier: MIT
 *
 * pprof of any tool, gzipped or not, in two passes: first all that samples refer to, then
 * the samples, one at a time, so that memory does not grow with their number.
 *
 * Nothing in the file is trusted: string, function and location numbers are looked up,
 * never indexed with; what they miss has a name that says so.
 */
#include <cairn/cairn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/formats.h"
#include "formats/stacks.h"
#include "profile.pb-c.h"

/* What everything but the samples may take in memory, and any one field. */
#define TABLES_MAX ((uint64_t)1 << 30)
#define FIELD_MAX ((uint64_t)64 << 20)
/* Frames that were inlined into one location, and frames of one stack. */
enum { LINES_MAX = 1024, FRAMES_MAX = 1 << 24, COMMENTS_MAX = 1 << 20 };

enum {
    FIELD_SAMPLE_TYPE = 1,
    FIELD_SAMPLE = 2,
    FIELD_MAPPING = 3,
    FIELD_LOCATION = 4,
    FIELD_FUNCTION = 5,
    FIELD_STRING = 6,
    FIELD_COMMENT = 13
};

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

typedef struct function {
    uint64_t id;
    int64_t name, system_name, file;
    int64_t line;
} function;

typedef struct mapping {
    uint64_t id;
    int64_t file;
} mapping;

/* Its frames are lines[first_line, first_line + line_count), innermost first. */
typedef struct location {
    uint64_t id, address, mapping;
    size_t first_line, line_count;
} location;

typedef struct line {
    uint64_t function;
    int64_t column; /* of the function itself, 0 if not known */
    uint32_t block; /* once resolved */
} line;

/* A growing array of one of the above. */
typedef struct table {
    void *items;
    size_t count, capacity;
} table;

typedef struct sample_type {
    int64_t type, unit;
    uint32_t metric;
    uint64_t scale; /* nanoseconds in the file's unit, for wall time; else 1 */
    uint64_t sum;
} sample_type;

typedef struct reader {
    crn_source *source;
    const crn_import_options *options;
    crn_error *error;
    crn_profile_builder *builder;
    crn_stacks stacks;
    uint64_t table_bytes;
    table strings; /* offsets into text */
    table text;
    table functions, mappings, locations, lines, types, comments;
    bool own; /* written by cairn */
    uint64_t samples, negative, missing, labelled, lost_types;
} reader;

typedef struct field {
    uint32_t number;
    unsigned wire;
    uint64_t value; /* of a number; the length of bytes */
} field;

static void *table_add(table *table, size_t item_size, size_t count)
{
    if (table->count + count > table->capacity) {
        table->capacity = (table->count + count) * 2 + 64;
        table->items = crn_realloc(table->items, table->capacity, item_size);
    }
    void *item = (char *)table->items + table->count * item_size;
    memset(item, 0, item_size * count);
    table->count += count;
    return item;
}

static bool damaged(reader *reader, const char *what)
{
    return crn_error_set(reader->error, CAIRN_E_FORMAT, "%s: not a pprof profile: %s at byte %llu",
                         crn_source_name(reader->source), what,
                         (unsigned long long)crn_source_offset(reader->source));
}

/* ---- the top level ---- */

/* False at the end of the file, where the error's code is 0, or when it is damaged. */
static bool read_varint(reader *reader, uint64_t *value, bool may_end)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const char *byte = crn_source_bytes(reader->source, 1, reader->error);
        if (!byte)
            return reader->error->code == CAIRN_OK && !(may_end && shift == 0)
                       ? damaged(reader, "cut short")
                       : false;
        *value |= (uint64_t)(*byte & 0x7f) << shift;
        if (!(*byte & 0x80))
            return true;
    }
    return damaged(reader, "a number that is too long");
}

static bool read_field(reader *reader, field *field)
{
    uint64_t tag;
    if (!read_varint(reader, &tag, true))
        return false;
    field->number = (uint32_t)(tag >> 3);
    field->wire = tag & 7;
    if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
        return damaged(reader, "a field number that cannot be");
    if (field->wire == WIRE_VARINT || field->wire == WIRE_BYTES)
        return read_varint(reader, &field->value, false);
    if (field->wire != WIRE_64 && field->wire != WIRE_32)
        return damaged(reader, "a kind of field that cannot be");
    field->value = 0;
    return crn_source_skip(reader->source, field->wire == WIRE_64 ? 8 : 4, reader->error);
}

static const uint8_t *read_bytes(reader *reader, const field *field)
{
    if (field->value > FIELD_MAX) {
        damaged(reader, "a field of more than 64 MiB");
        return NULL;
    }
    if (field->value == 0)
        return (const uint8_t *)"";
    const char *bytes =
        crn_source_bytes(reader->source, (size_t)field->value, reader->error);
    if (!bytes && reader->error->code == CAIRN_OK)
        damaged(reader, "cut short");
    return (const uint8_t *)bytes;
}

/* Unpacks what `read_bytes` gives. To be freed by protobuf_c_message_free_unpacked. */
static void *read_message(reader *reader, const field *field,
                          const ProtobufCMessageDescriptor *kind)
{
    const uint8_t *bytes = read_bytes(reader, field);
    if (!bytes)
        return NULL;
    void *message = protobuf_c_message_unpack(kind, NULL, (size_t)field->value, bytes);
    if (!message)
        damaged(reader, "a message that does not unpack");
    return message;
}

/* ---- first pass: what samples refer to ---- */

static bool add_string(reader *reader, const field *field)
{
    const uint8_t *bytes = read_bytes(reader, field);
    if (!bytes)
        return false;
    size_t length = strnlen((const char *)bytes, (size_t)field->value);
    *(size_t *)table_add(&reader->strings, sizeof(size_t), 1) = reader->text.count;
    memcpy(table_add(&reader->text, 1, length + 1), bytes, length);
    return true;
}

static bool add_type(reader *reader, const field *field)
{
    Perftools__Profiles__ValueType *message =
        read_message(reader, field, &perftools__profiles__value_type__descriptor);
    if (!message)
        return false;
    sample_type *type = table_add(&reader->types, sizeof *type, 1);
    type->type = message->type;
    type->unit = message->unit;
    protobuf_c_message_free_unpacked(&message->base, NULL);
    return true;
}

static bool add_mapping(reader *reader, const field *field)
{
    Perftools__Profiles__Mapping *message =
        read_message(reader, field, &perftools__profiles__mapping__descriptor);
    if (!message)
        return false;
    mapping *mapping = table_add(&reader->mappings, sizeof *mapping, 1);
    mapping->id = message->id;
    mapping->file = message->filename;
    protobuf_c_message_free_unpacked(&message->base, NULL);
    return true;
}

static bool add_location(reader *reader, const field *field)
{
    Perftools__Profiles__Location *message =
        read_message(reader, field, &perftools__profiles__location__descriptor);
    if (!message)
        return false;
    location *location = table_add(&reader->locations, sizeof *location, 1);
    location->id = message->id;
    location->address = message->address;
    location->mapping = message->mapping_id;
    location->first_line = reader->lines.count;
    location->line_count = message->n_line;
    bool good = message->n_line <= LINES_MAX;
    for (size_t i = 0; good && i < location->line_count; i++) {
        line *line = table_add(&reader->lines, sizeof *line, 1);
        line->function = message->line[i]->function_id;
        line->column = message->line[i]->column;
    }
    protobuf_c_message_free_unpacked(&message->base, NULL);
    return good || damaged(reader, "a location with more than 1,024 inlined frames");
}

static bool add_function(reader *reader, const field *field)
{
    Perftools__Profiles__Function *message =
        read_message(reader, field, &perftools__profiles__function__descriptor);
    if (!message)
        return false;
    function *function = table_add(&reader->functions, sizeof *function, 1);
    function->id = message->id;
    function->name = message->name;
    function->system_name = message->system_name;
    function->file = message->filename;
    function->line = message->start_line;
    protobuf_c_message_free_unpacked(&message->base, NULL);
    return true;
}

/* Comments are packed, or come one by one. */
static bool add_comments(reader *reader, const field *field)
{
    if (reader->comments.count > COMMENTS_MAX)
        return damaged(reader, "more than a million comments");
    if (field->wire == WIRE_VARINT) {
        *(int64_t *)table_add(&reader->comments, sizeof(int64_t), 1) = (int64_t)field->value;
        return true;
    }
    const uint8_t *bytes = read_bytes(reader, field);
    if (!bytes)
        return false;
    if (field->value > COMMENTS_MAX)
        return damaged(reader, "more than a million bytes of comments");
    for (uint64_t at = 0; at < field->value;) {
        uint64_t number = 0;
        for (unsigned shift = 0; at < field->value; shift += 7) {
            uint8_t byte = bytes[at++];
            number |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
            if (!(byte & 0x80))
                break;
        }
        *(int64_t *)table_add(&reader->comments, sizeof(int64_t), 1) = (int64_t)number;
    }
    return true;
}

static bool skip_value(reader *reader, const field *field)
{
    return field->wire != WIRE_BYTES ||
           crn_source_skip(reader->source, field->value, reader->error);
}

static bool read_table_field(reader *reader, const field *field)
{
    bool bytes = field->wire == WIRE_BYTES;
    if (field->number == FIELD_COMMENT && (bytes || field->wire == WIRE_VARINT))
        return add_comments(reader, field);
    if (!bytes || field->number == FIELD_SAMPLE || field->number > FIELD_STRING)
        return skip_value(reader, field);
    reader->table_bytes += field->value + 64;
    if (reader->table_bytes > TABLES_MAX)
        return crn_error_set(reader->error, CAIRN_E_LIMIT,
                             "%s: its names and places take more than 1 GiB, which is the limit",
                             crn_source_name(reader->source));
    switch (field->number) {
    case FIELD_SAMPLE_TYPE:
        return add_type(reader, field);
    case FIELD_MAPPING:
        return add_mapping(reader, field);
    case FIELD_LOCATION:
        return add_location(reader, field);
    case FIELD_FUNCTION:
        return add_function(reader, field);
    default:
        return add_string(reader, field);
    }
}

/* ---- between the passes: blocks and metrics ---- */

static const char *string_at(const reader *reader, int64_t number)
{
    if (number < 0 || (uint64_t)number >= reader->strings.count)
        return "";
    return (const char *)reader->text.items + ((const size_t *)reader->strings.items)[number];
}

/* All tables' items begin with their id. */
static int compare_ids(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void table_sort(table *table, size_t item_size)
{
    if (table->count > 1)
        qsort(table->items, table->count, item_size, compare_ids);
}

/* Most files number from 1 without gaps, so that is tried first. */
static void *table_find(const table *table, size_t item_size, uint64_t id)
{
    if (id > 0 && id <= table->count) {
        char *item = (char *)table->items + (id - 1) * item_size;
        if (*(uint64_t *)item == id)
            return item;
    }
    if (table->count == 0)
        return NULL;
    return bsearch(&id, table->items, table->count, item_size, compare_ids);
}

static uint32_t number_clamp(int64_t number)
{
    return number < 0 || number > INT32_MAX ? 0 : (uint32_t)number;
}

static uint32_t block_of(reader *reader, const line *line)
{
    const function *function =
        table_find(&reader->functions, sizeof *function, line->function);
    if (!function) {
        crn_block_info info = {.name = "[unknown]", .file = ""};
        reader->missing++;
        return crn_stacks_block(&reader->stacks, &info);
    }
    crn_block_info info = {.name = string_at(reader, function->name),
                           .file = string_at(reader, function->file),
                           .line = number_clamp(function->line)};
    if (!*info.name)
        info.name = string_at(reader, function->system_name);
    if (!*info.name)
        info.name = "[unknown]";
    /* Where others give a column it is that of a call in the function, not its own. */
    if (reader->own)
        info.column = number_clamp(line->column);
    return crn_stacks_block(&reader->stacks, &info);
}

/* A place without symbols: its address is all the name there is. */
static uint32_t block_of_address(reader *reader, const location *location)
{
    char name[32];
    snprintf(name, sizeof name, "0x%llx", (unsigned long long)location->address);
    const mapping *mapping = table_find(&reader->mappings, sizeof *mapping, location->mapping);
    crn_block_info info = {.name = location->address ? name : "[unknown]",
                           .file = mapping ? string_at(reader, mapping->file) : ""};
    return crn_stacks_block(&reader->stacks, &info);
}

static void resolve_blocks(reader *reader)
{
    table_sort(&reader->functions, sizeof(function));
    table_sort(&reader->mappings, sizeof(mapping));
    table_sort(&reader->locations, sizeof(location));
    for (size_t i = 0; i < reader->locations.count; i++) {
        location *location = (struct location *)reader->locations.items + i;
        if (location->line_count == 0) {
            uint32_t block = block_of_address(reader, location);
            location->first_line = reader->lines.count;
            location->line_count = 1;
            ((line *)table_add(&reader->lines, sizeof(line), 1))->block = block;
            continue;
        }
        for (size_t j = 0; j < location->line_count; j++) {
            line *line = (struct line *)reader->lines.items + location->first_line + j;
            line->block = block_of(reader, line);
        }
    }
}

static uint64_t nanoseconds_of(const char *unit)
{
    static const struct {
        const char *name;
        uint64_t scale;
    } units[] = {{"nanoseconds", 1},        {"ns", 1},          {"microseconds", 1000},
                 {"us", 1000},              {"milliseconds", 1000000}, {"ms", 1000000},
                 {"seconds", 1000000000}, {"s", 1000000000}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0)
            return units[i].scale;
    return 0;
}

/* Figures called calls, ticks or wall are ours; all others are further metrics. */
static void resolve_type(reader *reader, size_t index)
{
    sample_type *types = reader->types.items, *type = &types[index];
    const char *name = string_at(reader, type->type), *unit = string_at(reader, type->unit);
    char other[128];
    if (!*name)
        name = "value";
    type->scale = 1;
    uint64_t scale = nanoseconds_of(unit);
    if (strcmp(name, "wall") == 0 && scale)
        type->scale = scale;
    else if (strcmp(name, "wall") == 0)
        name = "wall (imported)";
    for (size_t i = 0; i < index; i++) {
        if (strcmp(string_at(reader, types[i].type), name) == 0) {
            snprintf(other, sizeof other, "%.60s (%.60s)", name, unit);
            name = other;
            break;
        }
    }
    type->metric = crn_profile_builder_metric(reader->builder, name, *unit ? unit : "count");
    reader->lost_types += type->metric >= CRN_METRIC_MAX;
}

static void resolve_comments(reader *reader)
{
    const int64_t *comments = reader->comments.items;
    const char *first = reader->comments.count ? string_at(reader, comments[0]) : "";
    reader->own = strlen(first) > 6 && memcmp(first, "cairn ", 6) == 0;
    for (size_t i = reader->own; i < reader->comments.count; i++) {
        char *text = crn_strdup(string_at(reader, comments[i])), key[32];
        char *equals = reader->own ? strchr(text, '=') : NULL;
        if (equals)
            *equals = 0;
        snprintf(key, sizeof key, "comment %zu", i + 1);
        crn_profile_builder_note(reader->builder, equals ? text : key, equals ? equals + 1 : text);
        crn_free(text);
    }
}

/* ---- second pass: samples ---- */

static bool push_stack(reader *reader, const Perftools__Profiles__Sample *sample)
{
    for (size_t i = sample->n_location_id; i-- > 0;) {
        const location *location =
            table_find(&reader->locations, sizeof *location, sample->location_id[i]);
        if (!location) {
            crn_block_info info = {.name = "[unknown]", .file = ""};
            crn_stacks_push(&reader->stacks, crn_stacks_block(&reader->stacks, &info));
            reader->missing++;
            continue;
        }
        const line *lines = (const line *)reader->lines.items + location->first_line;
        for (size_t j = location->line_count; j-- > 0;)
            crn_stacks_push(&reader->stacks, lines[j].block);
        if (reader->stacks.length > FRAMES_MAX)
            return damaged(reader, "a stack of more than 16 million frames");
    }
    return true;
}

static bool add_values(reader *reader, const Perftools__Profiles__Sample *sample)
{
    sample_type *types = reader->types.items;
    uint64_t calls = 0, values[CRN_METRIC_MAX] = {0};
    for (size_t i = 0; i < sample->n_value && i < reader->types.count; i++) {
        if (sample->value[i] < 0) {
            reader->negative++;
            continue;
        }
        uint64_t value = (uint64_t)sample->value[i];
        if (__builtin_mul_overflow(value, types[i].scale, &value) ||
            !crn_stacks_add_up(&types[i].sum, value))
            return crn_error_set(reader->error, CAIRN_E_LIMIT,
                                 "%s: its %s add up to 2^62 or more",
                                 crn_source_name(reader->source),
                                 string_at(reader, types[i].type));
        if (types[i].metric == CRN_METRIC_CALLS)
            calls += value;
        else if (types[i].metric < CRN_METRIC_MAX)
            values[types[i].metric] += value;
    }
    uint32_t context = crn_stacks_end(&reader->stacks, calls);
    for (uint32_t m = 0; m < CRN_METRIC_MAX; m++)
        if (values[m])
            crn_profile_builder_charge(reader->builder, context, m, values[m]);
    return true;
}

static bool read_sample(reader *reader, const field *field)
{
    Perftools__Profiles__Sample *sample =
        read_message(reader, field, &perftools__profiles__sample__descriptor);
    if (!sample)
        return false;
    if (sample->n_value != reader->types.count) {
        protobuf_c_message_free_unpacked(&sample->base, NULL);
        return damaged(reader, "a sample with more or fewer values than there are types");
    }
    reader->labelled += sample->n_label > 0;
    bool good = push_stack(reader, sample) && add_values(reader, sample);
    protobuf_c_message_free_unpacked(&sample->base, NULL);
    return good;
}

typedef bool field_read(reader *reader, const field *field);

static bool read_all(reader *reader, field_read *read, unsigned pass)
{
    field field;
    uint64_t done, total, count = 0;
    if (!crn_source_rewind(reader->source, reader->error))
        return false;
    while (read_field(reader, &field)) {
        if (!read(reader, &field))
            return false;
        if (reader->options->progress && ++count % 256 == 0) {
            crn_source_position(reader->source, &done, &total);
            reader->options->progress(done + pass * total, 2 * total);
        }
    }
    return reader->error->code == CAIRN_OK;
}

static bool read_sample_field(reader *reader, const field *field)
{
    if (field->number != FIELD_SAMPLE || field->wire != WIRE_BYTES)
        return skip_value(reader, field);
    reader->samples++;
    return read_sample(reader, field);
}

static void warn_of(reader *reader, uint64_t count, const char *what)
{
    if (count)
        crn_profile_builder_warn(reader->builder, "pprof: %llu %s", (unsigned long long)count,
                                 what);
}

static void warn(reader *reader)
{
    warn_of(reader, reader->negative, "values were negative and were left out");
    warn_of(reader, reader->missing, "frames had no function or location: [unknown]");
    warn_of(reader, reader->labelled, "samples had labels, which are not kept");
    warn_of(reader, reader->lost_types, "sample types are more than there can be metrics");
}

static bool read_profile(reader *reader)
{
    if (!read_all(reader, read_table_field, 0))
        return false;
    if (reader->types.count == 0)
        return damaged(reader, "it has no sample types");
    resolve_comments(reader);
    resolve_blocks(reader);
    for (size_t i = 0; i < reader->types.count; i++)
        resolve_type(reader, i);
    return read_all(reader, read_sample_field, 1);
}

crn_profile *crn_pprof_read(crn_source *source, const crn_import_options *options,
                            crn_error *error)
{
    reader reader = {.source = source, .options = options, .error = error};
    reader.builder = crn_profile_builder_new();
    crn_stacks_open(&reader.stacks, reader.builder);
    bool good = read_profile(&reader);
    warn(&reader);
    table *tables[] = {&reader.strings,   &reader.text,  &reader.functions, &reader.mappings,
                       &reader.locations, &reader.lines, &reader.types,     &reader.comments};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        crn_free(tables[i]->items);
    crn_stacks_close(&reader.stacks);
    crn_profile *profile = crn_profile_builder_end(reader.builder);
    if (!good) {
        crn_profile_free(profile);
        return NULL;
    }
    return profile;
}

/* Reads a varint of at most `end - at` bytes. NULL if it does not end there. */
static const char *peek_varint(const char *at, const char *end, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
        *value |= (uint64_t)(*at & 0x7f) << shift;
        if (!(*at++ & 0x80))
            return at;
    }
    return NULL;
}

/* Text has no control bytes; here the fields that we see must be those of Profile. */
bool crn_pprof_recognise(const char *head, size_t length)
{
    bool binary = false;
    const char *at = head, *end = head + length;
    for (size_t i = 0; i < length; i++)
        binary = binary || (head[i] >= 0 && head[i] < 8);
    for (unsigned fields = 0; binary && at < end && fields < 64; fields++) {
        uint64_t tag, value;
        if (!(at = peek_varint(at, end, &tag)) || !(at = peek_varint(at, end, &value)))
            return fields > 0 && length >= 4096;
        uint64_t number = tag >> 3, wire = tag & 7;
        if (number == 0 || number > 32 || (wire != WIRE_BYTES && wire != WIRE_VARINT) ||
            (number <= FIELD_STRING && wire != WIRE_BYTES))
            return false;
        if (wire == WIRE_BYTES)
            at = value <= (uint64_t)(end - at) ? at + value : end;
    }
    return binary;
}
