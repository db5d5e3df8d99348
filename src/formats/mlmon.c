/* SPDX-License-Identifier: MIT
 *
 * MLton's mlmon.out, with the names that the profiled program prints (@MLton show-sources --).
 *
 * mlmon.out has figures by function and no call paths: current, and with -profile-stack the time
 * on the stack without and with the collector. So each function is one context below the root, and
 * what was on the stack has metrics of its own (profile/stack.h).
 */
#include <cairn/cairn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/formats.h"

enum { ROWS_MAX = 1 << 20, TICK_NS = 10000000 /* MLton's clock has 100 ticks a second */ };

static const char first_line[] = "MLton prof";

typedef struct reader {
    crn_source *source;
    crn_error *error;
    crn_profile_builder *builder;
    uint32_t metric, stack, collector;
    uint64_t unit;
    bool has_stack;
} reader;

static bool fail(const reader *reader, const char *what)
{
    return crn_error_set(reader->error, CAIRN_E_FORMAT, "%s, line %" PRIu64 ": %s",
                         crn_source_name(reader->source), crn_source_line_number(reader->source),
                         what);
}

static char *next_line(const reader *reader)
{
    size_t length;
    char *line = crn_source_line(reader->source, &length, reader->error);
    if (!line && !reader->error->code)
        fail(reader, "the file ends too early");
    if (line && length && line[length - 1] == '\r')
        line[length - 1] = '\0';
    return line;
}

/* Reads up to `most` numbers of a line. Returns how many there are; 0 if anything else is there. */
static int numbers_of(const char *line, uint64_t *numbers, int most)
{
    int count = 0;
    for (;;) {
        char *end;
        line += strspn(line, " \t");
        if (!*line)
            return count;
        if (count == most || *line < '0' || *line > '9')
            return 0;
        errno = 0;
        numbers[count++] = strtoull(line, &end, 10);
        if (errno || (*end && *end != ' ' && *end != '\t'))
            return 0;
        line = end;
    }
}

static bool read_count(const reader *reader, uint64_t *count)
{
    char *line = next_line(reader);
    if (!line)
        return false;
    return (numbers_of(line, count, 1) == 1 && *count <= ROWS_MAX) ||
           fail(reader, "a number of rows is expected here");
}

/* ---- names ---- */

typedef struct names {
    char magic[32];
    uint64_t count;
    char **texts;
} names;

static void names_free(names *names)
{
    for (uint64_t i = 0; names->texts && i < names->count; i++)
        crn_free(names->texts[i]);
    crn_free((void *)names->texts);
}

/* The numbers of sources and their sequences, which follow the names, are not needed. */
static bool names_read(names *names, const char *path, crn_error *error)
{
    reader reader = {.source = crn_source_open(path, error), .error = error};
    char *line = reader.source ? next_line(&reader) : NULL;
    bool good = line != NULL;
    if (good)
        snprintf(names->magic, sizeof names->magic, "%s", line);
    if (good && strncmp(names->magic, "0x", 2) != 0)
        good = fail(&reader, "is not what a program prints for @MLton show-sources --");
    uint64_t count = 0;
    good = good && read_count(&reader, &count);
    names->texts = crn_calloc(count + 1, sizeof *names->texts);
    while (good && names->count < count && (line = next_line(&reader)))
        names->texts[names->count++] = crn_strdup(line);
    good = good && names->count == count;
    if (reader.source)
        crn_source_close(reader.source);
    return good;
}

/* "Calc.eval<tab>prog.sml: 44" */
static uint32_t block_of(const reader *reader, char *text)
{
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
    return crn_profile_builder_block(reader->builder, &info);
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

static bool read_header(reader *reader, char magic[32])
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
    snprintf(magic, 32, "%s", line);
    crn_profile_builder_note(reader->builder, "mlmon_magic", magic);
    return (line = next_line(reader)) &&
           (numbers_of(line, totals, 2) == 2 || fail(reader, "two totals are expected here"));
}

static bool read_row(const reader *reader, uint64_t figures[3])
{
    int expected = reader->has_stack ? 3 : 1;
    char *line = next_line(reader);
    if (!line)
        return false;
    if (numbers_of(line, figures, 3) != expected)
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

/* First the rows of functions that were split, which are skipped, then a row for each name. */
static bool read_rows(const reader *reader, names *names)
{
    uint64_t split, count, figures[3];
    bool good = read_count(reader, &split);
    for (uint64_t i = 0; good && i < split; i++)
        good = read_row(reader, figures);
    good = good && read_count(reader, &count);
    if (good && count != names->count)
        good = fail(reader, "there are more or fewer rows than names: the sources are of another "
                            "program");
    uint32_t root = crn_profile_builder_root(reader->builder);
    for (uint64_t i = 0; good && i < names->count && (good = read_row(reader, figures)); i++)
        if (figures[0] || (reader->has_stack && (figures[1] || figures[2])))
            charge(reader,
                   crn_profile_builder_child(reader->builder, root,
                                             block_of(reader, names->texts[i]), 0),
                   figures);
    return good;
}

static bool check_magic(const reader *reader, const char *magic, const char *sources,
                        const char *theirs)
{
    return strcmp(magic, theirs) == 0 ||
           crn_error_set(reader->error, CAIRN_E_FORMAT,
                         "%s: is of another program than %s (magic %s, not %s)", sources,
                         crn_source_name(reader->source), theirs, magic);
}

crn_profile *crn_mlmon_read(crn_source *source, const crn_import_options *options, crn_error *error)
{
    char magic[32] = "";
    names names = {.count = 0};
    reader reader = {.source = source, .error = error, .builder = crn_profile_builder_new()};
    crn_profile_builder_note(reader.builder, "imported", "mlmon");
    bool good = options->sources ||
                crn_error_set(error, CAIRN_E_FORMAT,
                              "%s: the names are in the program: write PROGRAM @MLton show-sources "
                              "-- >sources.txt, and import with --sources sources.txt",
                              crn_source_name(source));
    good = good && crn_source_rewind(source, error) && read_header(&reader, magic) &&
           names_read(&names, options->sources, error) &&
           check_magic(&reader, magic, options->sources, names.magic);
    if (good && reader.has_stack) {
        const char *unit = reader.metric == CRN_METRIC_TICKS ? "count"
                           : reader.metric == CRN_METRIC_CPU ? CRN_UNIT_TIME
                                                             : CRN_UNIT_BYTES;
        reader.stack = crn_profile_builder_metric(reader.builder, CRN_STACK_METRIC, unit);
        reader.collector =
            crn_profile_builder_metric(reader.builder, CRN_STACK_COLLECTOR_METRIC, unit);
    }
    good = good && read_rows(&reader, &names);
    names_free(&names);
    return crn_import_end(reader.builder, good);
}

bool crn_mlmon_recognise(const char *head, size_t length)
{
    return length > sizeof first_line && memcmp(head, first_line, sizeof first_line - 1) == 0;
}
