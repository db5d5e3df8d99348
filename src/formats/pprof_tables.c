/* SPDX-License-Identifier: MIT
 *
 * Tables of a pprof file. Each id and index is checked; a missing function or location is called
 * [unknown].
 */
#include <cairn/cairn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/order.h"
#include "formats/pprof.h"

typedef struct function {
    uint64_t id;
    int64_t name, system_name, file;
    int64_t line;
} function;

typedef struct mapping {
    uint64_t id;
    int64_t file;
} mapping;

static void *table_add(crn_pprof_table *table, size_t item_size, size_t count)
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

/* ---- first pass: tables ---- */

static bool add_string(crn_pprof_reader *reader, const crn_pprof_field *field)
{
    const uint8_t *bytes = crn_pprof_bytes(reader, field);
    if (!bytes)
        return false;
    size_t length = strnlen((const char *)bytes, (size_t)field->value);
    *(size_t *)table_add(&reader->strings, sizeof(size_t), 1) = reader->text.count;
    memcpy(table_add(&reader->text, 1, length + 1), bytes, length);
    return true;
}

static bool add_type(crn_pprof_reader *reader, const crn_pprof_field *field)
{
    Perftools__Profiles__ValueType *message =
        crn_pprof_message(reader, field, &perftools__profiles__value_type__descriptor);
    if (!message)
        return false;
    crn_pprof_type *type = table_add(&reader->types, sizeof *type, 1);
    type->type = message->type;
    type->unit = message->unit;
    protobuf_c_message_free_unpacked(&message->base, NULL);
    return true;
}

static bool add_mapping(crn_pprof_reader *reader, const crn_pprof_field *field)
{
    Perftools__Profiles__Mapping *message =
        crn_pprof_message(reader, field, &perftools__profiles__mapping__descriptor);
    if (!message)
        return false;
    mapping *mapping = table_add(&reader->mappings, sizeof *mapping, 1);
    mapping->id = message->id;
    mapping->file = message->filename;
    protobuf_c_message_free_unpacked(&message->base, NULL);
    return true;
}

static bool add_location(crn_pprof_reader *reader, const crn_pprof_field *field)
{
    Perftools__Profiles__Location *message =
        crn_pprof_message(reader, field, &perftools__profiles__location__descriptor);
    if (!message)
        return false;
    crn_pprof_location *location = table_add(&reader->locations, sizeof *location, 1);
    location->id = message->id;
    location->address = message->address;
    location->mapping = message->mapping_id;
    location->first_line = reader->lines.count;
    location->line_count = message->n_line;
    bool good = message->n_line <= CRN_PPROF_LINES_MAX;
    for (size_t i = 0; good && i < location->line_count; i++) {
        crn_pprof_line *line = table_add(&reader->lines, sizeof *line, 1);
        line->function = message->line[i]->function_id;
        line->column = message->line[i]->column;
    }
    protobuf_c_message_free_unpacked(&message->base, NULL);
    return good || crn_pprof_damaged(reader, "a location with more than 1,024 inlined frames");
}

static bool add_function(crn_pprof_reader *reader, const crn_pprof_field *field)
{
    Perftools__Profiles__Function *message =
        crn_pprof_message(reader, field, &perftools__profiles__function__descriptor);
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

/* Comments are packed, or separate fields. */
static bool add_comments(crn_pprof_reader *reader, const crn_pprof_field *field)
{
    if (reader->comments.count > CRN_PPROF_COMMENTS_MAX)
        return crn_pprof_damaged(reader, "more than a million comments");
    if (field->wire == CRN_WIRE_VARINT) {
        *(int64_t *)table_add(&reader->comments, sizeof(int64_t), 1) = (int64_t)field->value;
        return true;
    }
    const uint8_t *bytes = crn_pprof_bytes(reader, field);
    if (!bytes)
        return false;
    if (field->value > CRN_PPROF_COMMENTS_MAX)
        return crn_pprof_damaged(reader, "more than a million bytes of comments");
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

bool crn_pprof_collect(crn_pprof_reader *reader, const crn_pprof_field *field)
{
    bool bytes = field->wire == CRN_WIRE_BYTES;
    if (field->number == CRN_PPROF_TIME && field->wire == CRN_WIRE_VARINT)
        reader->began = (int64_t)field->value;
    if (field->number == CRN_PPROF_DURATION && field->wire == CRN_WIRE_VARINT)
        reader->duration = (int64_t)field->value;
    if (field->number == CRN_PPROF_DEFAULT_TYPE && field->wire == CRN_WIRE_VARINT)
        reader->default_type = (int64_t)field->value;
    if (field->number == CRN_PPROF_COMMENT && (bytes || field->wire == CRN_WIRE_VARINT))
        return add_comments(reader, field);
    if (!bytes || field->number == CRN_PPROF_SAMPLE || field->number > CRN_PPROF_STRING)
        return crn_pprof_skip(reader, field);
    reader->table_bytes += field->value + 64;
    if (reader->table_bytes > CRN_PPROF_TABLES_MAX)
        return crn_error_set(reader->error, CAIRN_E_LIMIT,
                             "%s: its names and places take more than %llu MiB, which is the limit",
                             crn_source_name(reader->source),
                             (unsigned long long)(CRN_PPROF_TABLES_MAX >> 20));
    switch (field->number) {
    case CRN_PPROF_SAMPLE_TYPE:
        return add_type(reader, field);
    case CRN_PPROF_MAPPING:
        return add_mapping(reader, field);
    case CRN_PPROF_LOCATION:
        return add_location(reader, field);
    case CRN_PPROF_FUNCTION:
        return add_function(reader, field);
    default:
        return add_string(reader, field);
    }
}

/* ---- between the passes: blocks and metrics ---- */

const char *crn_pprof_string(const crn_pprof_reader *reader, int64_t number)
{
    if (number < 0 || (uint64_t)number >= reader->strings.count)
        return "";
    return (const char *)reader->text.items + ((const size_t *)reader->strings.items)[number];
}

/* Functions, mappings and locations begin with their id. */
static int compare_ids(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return CRN_ORDER(a, b);
}

static void table_sort(crn_pprof_table *table, size_t item_size)
{
    if (table->count > 1)
        qsort(table->items, table->count, item_size, compare_ids);
}

/* Finds an item by its id. Most files number ids from 1 without gaps, so index id - 1 is tried
 * first. */
static void *table_find(const crn_pprof_table *table, size_t item_size, uint64_t id)
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

static uint32_t block_of(crn_pprof_reader *reader, const crn_pprof_line *line)
{
    const function *function = table_find(&reader->functions, sizeof *function, line->function);
    if (!function) {
        crn_block_info info = {.name = "[unknown]", .file = ""};
        reader->missing++;
        return crn_stacks_block(&reader->stacks, &info);
    }
    crn_block_info info = {.name = crn_pprof_string(reader, function->name),
                           .file = crn_pprof_string(reader, function->file),
                           .line = number_clamp(function->line)};
    if (!*info.name)
        info.name = crn_pprof_string(reader, function->system_name);
    if (!*info.name)
        info.name = "[unknown]";
    /* In other tools' files the column is that of a call, not of the function. */
    if (reader->own)
        info.column = number_clamp(line->column);
    return crn_stacks_block(&reader->stacks, &info);
}

/* Returns the block of a location without symbols, named by its address. */
static uint32_t block_of_address(crn_pprof_reader *reader, const crn_pprof_location *location)
{
    char name[32];
    snprintf(name, sizeof name, "0x%llx", (unsigned long long)location->address);
    const mapping *mapping = table_find(&reader->mappings, sizeof *mapping, location->mapping);
    crn_block_info info = {.name = location->address ? name : "[unknown]",
                           .file = mapping ? crn_pprof_string(reader, mapping->file) : ""};
    return crn_stacks_block(&reader->stacks, &info);
}

static void resolve_blocks(crn_pprof_reader *reader)
{
    table_sort(&reader->functions, sizeof(function));
    table_sort(&reader->mappings, sizeof(mapping));
    table_sort(&reader->locations, sizeof(crn_pprof_location));
    for (size_t i = 0; i < reader->locations.count; i++) {
        crn_pprof_location *location = (crn_pprof_location *)reader->locations.items + i;
        if (location->line_count == 0) {
            uint32_t block = block_of_address(reader, location);
            location->first_line = reader->lines.count;
            location->line_count = 1;
            ((crn_pprof_line *)table_add(&reader->lines, sizeof(crn_pprof_line), 1))->block = block;
            continue;
        }
        for (size_t j = 0; j < location->line_count; j++) {
            crn_pprof_line *line = (crn_pprof_line *)reader->lines.items + location->first_line + j;
            line->block = block_of(reader, line);
        }
    }
}

static uint64_t nanoseconds_of(const char *unit)
{
    static const struct {
        const char *name;
        uint64_t scale;
    } units[] = {
        {"nanoseconds", 1},        {"ns", 1},       {"microseconds", 1000},  {"us", 1000},
        {"milliseconds", 1000000}, {"ms", 1000000}, {"seconds", 1000000000}, {"s", 1000000000}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0)
            return units[i].scale;
    return 0;
}

/* Makes the metric of a sample type. Types called calls or ticks, and wall or cpu with a unit of
 * time, are built-in metrics. A name that is in use gets the unit added. */
static void resolve_type(crn_pprof_reader *reader, size_t index, size_t first)
{
    crn_pprof_type *types = reader->types.items, *type = &types[index];
    const char *name = crn_pprof_string(reader, type->type),
               *unit = crn_pprof_string(reader, type->unit);
    char other[128];
    if (!*name)
        name = "value";
    type->scale = 1;
    uint64_t scale = nanoseconds_of(unit);
    bool wall = strcmp(name, "wall") == 0, cpu = strcmp(name, "cpu") == 0;
    if ((wall || cpu) && scale)
        type->scale = scale;
    else if (wall || cpu)
        name = wall ? "wall (imported)" : "cpu (imported)";
    for (size_t i = 0; i < reader->types.count && index != first; i++) {
        bool resolved = i < index || i == first;
        if (resolved && strcmp(crn_pprof_string(reader, types[i].type), name) == 0) {
            snprintf(other, sizeof other, "%.60s (%.60s)", name, unit);
            name = other;
            break;
        }
    }
    name = crn_pprof_metric_of(name, unit);
    type->metric = crn_profile_builder_metric(reader->builder, name, *unit ? unit : "count");
    if (index == first && !reader->own) /* reports show what pprof would show */
        crn_profile_builder_note(reader->builder, "default_metric", name);
    reader->lost_types += type->metric >= CRN_METRIC_MAX;
}

/* Returns the default sample type: the one that the file names, otherwise the last. */
static size_t default_type(const crn_pprof_reader *reader)
{
    const crn_pprof_type *types = reader->types.items;
    const char *name = crn_pprof_string(reader, reader->default_type);
    for (size_t i = 0; *name && i < reader->types.count; i++)
        if (strcmp(crn_pprof_string(reader, types[i].type), name) == 0)
            return i;
    return reader->types.count - 1;
}

static void resolve_comments(crn_pprof_reader *reader)
{
    const int64_t *comments = reader->comments.items;
    const char *first = reader->comments.count ? crn_pprof_string(reader, comments[0]) : "";
    reader->own = strlen(first) > 6 && memcmp(first, "cairn ", 6) == 0;
    for (size_t i = reader->own; i < reader->comments.count; i++) {
        char *text = crn_strdup(crn_pprof_string(reader, comments[i])), key[32];
        char *equals = reader->own ? strchr(text, '=') : NULL;
        if (equals)
            *equals = 0;
        snprintf(key, sizeof key, "comment %zu", i + 1);
        crn_profile_builder_note(reader->builder, equals ? text : key, equals ? equals + 1 : text);
        crn_free(text);
    }
}

/* Notes the start and duration of another tool's file. Cairn's files have them in comments. */
static void resolve_span(crn_pprof_reader *reader)
{
    time_t seconds = (time_t)(reader->began / 1000000000);
    struct tm utc;
    char text[32];
    crn_profile_builder_note(reader->builder, "imported", "pprof");
    if (reader->began > 0 && gmtime_r(&seconds, &utc) &&
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc))
        crn_profile_builder_note(reader->builder, "started", text);
    snprintf(text, sizeof text, "%lld", (long long)reader->duration);
    if (reader->duration > 0)
        crn_profile_builder_note(reader->builder, "recorded_ns", text);
}

void crn_pprof_resolve(crn_pprof_reader *reader)
{
    resolve_comments(reader);
    if (!reader->own)
        resolve_span(reader);
    resolve_blocks(reader);
    size_t first = default_type(reader);
    resolve_type(reader, first, first);
    for (size_t i = 0; i < reader->types.count; i++)
        if (i != first)
            resolve_type(reader, i, first);
}

const crn_pprof_location *crn_pprof_location_find(const crn_pprof_reader *reader, uint64_t id)
{
    return table_find(&reader->locations, sizeof(crn_pprof_location), id);
}

void crn_pprof_tables_free(crn_pprof_reader *reader)
{
    crn_pprof_table *tables[] = {&reader->strings,  &reader->text,      &reader->functions,
                                 &reader->mappings, &reader->locations, &reader->lines,
                                 &reader->types,    &reader->comments};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        crn_free(tables[i]->items);
}
