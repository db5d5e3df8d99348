/* SPDX-License-Identifier: MIT
 *
 * MLton's mlmon.out, with the names that the profiled program prints (@MLton show-sources --).
 *
 * mlmon.out has figures by function and no call paths: the self cost and, with -profile-stack, the
 * cost while the function was on the stack, without and with garbage collection. So each function
 * is one context below the root, and the costs on the stack are metrics of their own
 * (profile/stack.h). Each call that the program may make is a context without figures, so that the
 * call graph has an arrow for it.
 */
#include <cairn/cairn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/formats.h"
#include "formats/mlmon.h"

enum { TICK_NS = 10000000 /* MLton's clock has 100 ticks a second */ };

static const char first_line[] = "MLton prof";

typedef struct reader {
    crn_source *source;
    crn_error *error;
    crn_profile_builder *builder;
    crn_mlmon_names *names;
    uint32_t metric, stack, collector; /* metrics: self cost; cost on the stack, without and with
                                          garbage collection */
    uint64_t unit;                     /* of a figure, in the metric's unit */
    bool has_stack, split;
} reader;

static bool fail(const reader *reader, const char *what)
{
    return crn_mlmon_fail(reader->source, what, reader->error);
}

static char *next_line(const reader *reader)
{
    return crn_mlmon_line(reader->source, reader->error);
}

/* ---- blocks and the calls between them ---- */

/* Makes a block of "Calc.eval<tab>prog.sml: 44". `copy` numbers the copies of a function from 1;
 * the block's name shows it from 2 on. */
static uint32_t block_of(const reader *reader, const char *line, uint32_t copy)
{
    char *text = crn_strdup(line), *name = NULL;
    crn_block_info info = {.name = text, .file = ""};
    char *tab = strchr(text, '\t'), *colon = tab ? strrchr(tab, ':') : NULL;
    if (tab) {
        *tab = '\0';
        info.file = tab + 1;
    }
    if (colon) {
        *colon = '\0';
        unsigned long line = strtoul(colon + 1, NULL, 10);
        info.line = line < UINT32_MAX ? (uint32_t)line : 0;
    }
    if (copy > 1 && asprintf(&name, "%s [copy %" PRIu32 "]", text, copy) > 0)
        info.name = name;
    uint32_t block = crn_profile_builder_block(reader->builder, &info);
    free(name);
    crn_free(text);
    return block;
}

/* Returns the blocks of all rows: of names, or of sources if copies are split. */
static uint32_t *blocks_make(const reader *reader)
{
    const crn_mlmon_names *names = reader->names;
    uint32_t count = reader->split ? names->source_count : names->count;
    uint32_t *blocks = crn_calloc((size_t)count + 1, sizeof *blocks);
    uint32_t *copies = crn_calloc((size_t)names->count + 1, sizeof *copies);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t name = reader->split ? names->sources[i].name : i;
        blocks[i] = block_of(reader, names->texts[name], ++copies[name]);
    }
    crn_free(copies);
    return blocks;
}

static void arrows_make(const reader *reader, const uint32_t *blocks)
{
    const crn_mlmon_names *names = reader->names;
    uint32_t root = crn_profile_builder_root(reader->builder);
    for (uint32_t i = 0; i < names->source_count; i++) {
        const crn_mlmon_sequence *to = &names->sequences[names->sources[i].successors];
        uint32_t from = blocks[reader->split ? i : names->sources[i].name];
        for (uint32_t k = 0; k < to->count; k++) {
            uint32_t callee = to->sources[k];
            crn_profile_builder_child(
                reader->builder, crn_profile_builder_child(reader->builder, root, from, 0),
                blocks[reader->split ? callee : names->sources[callee].name], 0);
        }
    }
}

/* ---- figures ---- */

static bool read_kind(reader *reader)
{
    const char *kind = next_line(reader);
    if (!kind)
        return false;
    reader->unit = 1;
    if (strcmp(kind, "time") == 0) {
        reader->metric = CRN_METRIC_CPU;
        reader->unit = TICK_NS;
    } else if (strcmp(kind, "alloc") == 0) {
        reader->metric = crn_profile_builder_metric(reader->builder, "allocated", CRN_UNIT_BYTES);
    } else if (strcmp(kind, "count") == 0) {
        reader->metric = CRN_METRIC_TICKS;
    } else {
        return fail(reader, "the kind is neither count, time nor alloc");
    }
    crn_profile_builder_note(reader->builder, "mlmon", kind);
    return true;
}

static bool read_header(reader *reader, char magic[CRN_MLMON_MAGIC_SIZE])
{
    char *line = next_line(reader);
    uint64_t totals[2];
    if (!line || strcmp(line, first_line) != 0)
        return line && fail(reader, "is no mlmon.out");
    if (!read_kind(reader) || !(line = next_line(reader)))
        return false;
    reader->has_stack = strcmp(line, "stack") == 0;
    if (!reader->has_stack && strcmp(line, "current") != 0)
        return fail(reader, "\"current\" or \"stack\" is expected here");
    if (!(line = next_line(reader)))
        return false;
    snprintf(magic, CRN_MLMON_MAGIC_SIZE, "%s", line);
    crn_profile_builder_note(reader->builder, CRN_NOTE_MLMON_MAGIC, magic);
    return (line = next_line(reader)) && (crn_mlmon_numbers(line, totals, 2) == 2 ||
                                          fail(reader, "two totals are expected here"));
}

static bool read_row(const reader *reader, uint64_t figures[3])
{
    int expected = reader->has_stack ? 3 : 1;
    char *line = next_line(reader);
    if (!line)
        return false;
    if (crn_mlmon_numbers(line, figures, 3) != expected)
        return fail(reader, "a row has the wrong number of figures");
    for (int i = 0; i < expected; i++)
        if (figures[i] > UINT64_MAX / reader->unit)
            return fail(reader, "a figure is too large");
    return true;
}

static void charge(const reader *reader, uint32_t context, const uint64_t figures[3])
{
    const uint32_t metrics[3] = {reader->metric, reader->stack, reader->collector};
    for (int i = 0; i < (reader->has_stack ? 3 : 1); i++)
        crn_profile_builder_charge(reader->builder, context, metrics[i], figures[i] * reader->unit);
}

static bool read_table(const reader *reader, const char *what, uint32_t expected,
                       const uint32_t *blocks)
{
    uint32_t count, root = crn_profile_builder_root(reader->builder);
    uint64_t figures[3];
    bool good = crn_mlmon_count(reader->source, &count, reader->error);
    if (good && count != expected)
        good = fail(reader, what);
    for (uint32_t i = 0; good && i < count && (good = read_row(reader, figures)); i++)
        if (blocks && (figures[0] || (reader->has_stack && (figures[1] || figures[2]))))
            charge(reader, crn_profile_builder_child(reader->builder, root, blocks[i], 0), figures);
    return good;
}

/* Reads both tables: a row for each source, that is for each copy of a function; a row for each
 * name. Charges the rows of one of them. */
static bool read_rows(const reader *reader)
{
    const crn_mlmon_names *names = reader->names;
    uint32_t *blocks = blocks_make(reader);
    bool good =
        read_table(reader, "there are more or fewer rows than sources: they are of another program",
                   names->source_count, reader->split ? blocks : NULL) &&
        read_table(reader, "there are more or fewer rows than names: they are of another program",
                   names->count, reader->split ? NULL : blocks);
    if (good)
        arrows_make(reader, blocks);
    crn_free(blocks);
    return good;
}

static void stack_metrics_make(reader *reader)
{
    const char *unit = reader->metric == CRN_METRIC_TICKS ? "count"
                       : reader->metric == CRN_METRIC_CPU ? CRN_UNIT_TIME
                                                          : CRN_UNIT_BYTES;
    reader->stack = crn_profile_builder_metric(reader->builder, CRN_STACK_METRIC, unit);
    reader->collector =
        crn_profile_builder_metric(reader->builder, CRN_STACK_COLLECTOR_METRIC, unit);
}

static bool check_magic(const reader *reader, const char *magic, crn_source *sources)
{
    return strcmp(magic, reader->names->magic) == 0 ||
           crn_error_set(reader->error, CAIRN_E_FORMAT,
                         "%s: is of another program than %s (magic %s, not %s)",
                         crn_source_name(sources), crn_source_name(reader->source),
                         reader->names->magic, magic);
}

crn_profile *crn_mlmon_read(crn_source *source, const crn_import_options *options, crn_error *error)
{
    char magic[CRN_MLMON_MAGIC_SIZE] = "";
    crn_mlmon_names names = {.count = 0};
    reader reader = {.source = source,
                     .error = error,
                     .builder = crn_profile_builder_new(),
                     .names = &names,
                     .split = options->split};
    crn_profile_builder_note(reader.builder, "imported", "mlmon");
    crn_profile_builder_note(reader.builder, CRN_NOTE_STATIC_CALLS, "1");
    bool good = options->sources ||
                crn_error_set(error, CAIRN_E_FORMAT,
                              "%s: the names are in the program that wrote it: add --sources "
                              "PROGRAM --run, or write PROGRAM @MLton show-sources -- >sources.txt "
                              "and add --sources sources.txt",
                              crn_source_name(source));
    good = good && crn_source_rewind(source, error) && read_header(&reader, magic) &&
           crn_mlmon_names_read(&names, options->sources, error) &&
           check_magic(&reader, magic, options->sources);
    if (good && reader.has_stack)
        stack_metrics_make(&reader);
    good = good && read_rows(&reader);
    crn_mlmon_names_free(&names);
    return crn_import_end(reader.builder, good);
}

bool crn_mlmon_recognise(const char *head, size_t length)
{
    return length > sizeof first_line && memcmp(head, first_line, sizeof first_line - 1) == 0;
}
