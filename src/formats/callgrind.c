/* SPDX-License-Identifier: MIT
 *
 * Output of Valgrind's callgrind: callgrind.out.PID. The format is described in Valgrind's manual,
 * "Callgrind Format Specification".
 *
 * The file has self cost by function, and calls with their inclusive cost by caller and callee, but
 * no call paths. So each function is a context below the root, with its self cost; each call edge
 * is a context below the caller's, with the number of calls and no cost; and the inclusive cost is
 * a metric of its own (profile/stack.h). The first event, usually instructions, is the metric.
 */
#include <cairn/cairn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/formats.h"

enum { NAMES_MAX = 1 << 22, EVENT_SIZE = 32 };

/* Names are compressed: "(12) name" defines number 12, "(12)" refers to it. */
typedef struct names {
    char **texts; /* by number */
    uint32_t count;
} names;

typedef struct function {
    uint32_t block, context;
    uint64_t self, called; /* called: inclusive cost of its calls of other functions */
} function;

typedef struct reader {
    crn_source *source;
    crn_error *error;
    crn_profile_builder *builder;
    names files, functions;
    char event[EVENT_SIZE];
    unsigned positions; /* fields before the costs of a line */
    uint32_t metric, inclusive;
    char *file, *called_file; /* of fl=; of cfi= or cfl=, NULL if the same as `file` */
    uint32_t current, callee; /* indices into list + 1; 0 before the first function */
    bool is_call;             /* the next line has the cost of a call */
    function *list;
    uint32_t count, capacity;
    uint32_t *by_block, block_capacity; /* index into list + 1; 0 if not in the list */
} reader;

static bool fail(const reader *reader, const char *what)
{
    return crn_error_set(reader->error, CAIRN_E_FORMAT, "%s, line %" PRIu64 ": %s",
                         crn_source_name(reader->source), crn_source_line_number(reader->source),
                         what);
}

static void names_free(names *names)
{
    for (uint32_t i = 0; i < names->count; i++)
        crn_free(names->texts[i]);
    crn_free((void *)names->texts);
}

/* Returns the name that a text stands for; NULL after an error. */
static const char *name_of(const reader *reader, names *names, const char *text)
{
    char *end;
    if (*text != '(')
        return text;
    errno = 0;
    unsigned long number = strtoul(text + 1, &end, 10);
    if (errno || *end != ')' || number >= NAMES_MAX) {
        fail(reader, "a name's number is wrong");
        return NULL;
    }
    while (names->count <= number) { /* numbers are nearly in order */
        if ((names->count & (names->count - 1)) == 0)
            names->texts = crn_realloc((void *)names->texts, names->count ? names->count * 2 : 1,
                                       sizeof *names->texts);
        names->texts[names->count++] = NULL;
    }
    const char *name = end + 1 + strspn(end + 1, " \t");
    if (*name) {
        crn_free(names->texts[number]);
        names->texts[number] = crn_strdup(name);
    }
    if (!names->texts[number])
        fail(reader, "a name's number was not defined before");
    return names->texts[number];
}

/* Returns the function's index + 1, and adds new functions; returns 0 after an error. */
static uint32_t function_of(reader *reader, const char *text, const char *file)
{
    const char *name = name_of(reader, &reader->functions, text);
    if (!name)
        return 0;
    uint32_t block = crn_profile_builder_block(
        reader->builder,
        &(crn_block_info){.name = name, .file = file && strcmp(file, "???") != 0 ? file : ""});
    if (block >= reader->block_capacity) {
        uint32_t capacity = (block + 1) * 2;
        reader->by_block = crn_realloc(reader->by_block, capacity, sizeof *reader->by_block);
        memset(reader->by_block + reader->block_capacity, 0,
               (capacity - reader->block_capacity) * sizeof *reader->by_block);
        reader->block_capacity = capacity;
    }
    if (reader->by_block[block])
        return reader->by_block[block];
    CRN_GROW(reader->list, reader->count, reader->capacity);
    uint32_t root = crn_profile_builder_root(reader->builder);
    reader->list[reader->count] = (function){
        .block = block, .context = crn_profile_builder_child(reader->builder, root, block, 0)};
    return reader->by_block[block] = ++reader->count;
}

static bool set_file(reader *reader, char **file, const char *text)
{
    const char *name = name_of(reader, &reader->files, text);
    crn_free(*file);
    *file = name ? crn_strdup(name) : NULL;
    return name != NULL;
}

/* ---- lines ---- */

/* Reads the first cost of a line of costs, "POSITIONS COSTS". Costs that are left out are 0. */
static bool first_cost(const reader *reader, const char *line, uint64_t *cost)
{
    for (unsigned i = 0; i < reader->positions; i++) {
        size_t length = strcspn(line, " \t");
        if (!length)
            return fail(reader, "a position is missing");
        line += length;
        line += strspn(line, " \t");
    }
    *cost = 0;
    if (!*line)
        return true;
    char *end;
    errno = 0;
    *cost = strtoull(line, &end, 10);
    if (end == line || *line == '-' || errno || (*end && *end != ' ' && *end != '\t'))
        return fail(reader, "a cost is expected here");
    return true;
}

static bool read_cost(reader *reader, const char *line)
{
    uint64_t cost = 0;
    if (!reader->current)
        return fail(reader, "there is a cost before the first function");
    if (!first_cost(reader, line, &cost))
        return false;
    function *function = &reader->list[reader->current - 1];
    uint64_t *sum = reader->is_call ? &function->called : &function->self;
    bool counts = !reader->is_call || reader->callee != reader->current;
    if (counts && __builtin_add_overflow(*sum, cost, sum))
        return fail(reader, "the costs are too large");
    reader->is_call = false;
    return true;
}

/* Reads "calls=COUNT POSITIONS", after cfn=. */
static bool read_calls(reader *reader, const char *text)
{
    char *end;
    errno = 0;
    uint64_t calls = strtoull(text, &end, 10);
    if (end == text || *text == '-' || errno || !reader->current || !reader->callee)
        return fail(reader, "calls= needs a number, and fn= and cfn= before it");
    const function *from = &reader->list[reader->current - 1];
    crn_profile_builder_child(reader->builder, from->context,
                              reader->list[reader->callee - 1].block, calls);
    reader->is_call = true;
    return true;
}

static bool read_header(reader *reader, const char *key, size_t length, const char *value)
{
    if (length == 6 && memcmp(key, "events", 6) == 0) {
        size_t size = strcspn(value, " \t");
        if (!size || size >= EVENT_SIZE || reader->metric)
            return fail(reader,
                        "events: must come once, with a first name of less than 32 characters");
        snprintf(reader->event, sizeof reader->event, "%.*s", (int)size, value);
        const char *name = strcmp(reader->event, "Ir") == 0 ? "instructions" : reader->event;
        reader->metric = crn_profile_builder_metric(reader->builder, name, "count");
        reader->inclusive = crn_profile_builder_metric(reader->builder, CRN_STACK_METRIC, "count");
        crn_profile_builder_note(reader->builder, "default_metric", name);
    } else if (length == 9 && memcmp(key, "positions", 9) == 0) {
        reader->positions = strchr(value, ' ') ? 2 : 1;
    } else if (length == 3 && memcmp(key, "cmd", 3) == 0) {
        crn_profile_builder_note(reader->builder, "command", value);
    }
    return true;
}

static bool starts(const char *line, const char *word)
{
    return strncmp(line, word, strlen(word)) == 0;
}

static bool read_line(reader *reader, char *line)
{
    size_t key = strspn(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    if (!*line || *line == '#')
        return true;
    if (key && line[key] == ':') {
        const char *value = line + key + 1;
        return read_header(reader, line, key, value + strspn(value, " \t"));
    }
    if (!key) /* a line of costs begins with a position */
        return strchr("0123456789+-*", *line)
                   ? (reader->metric || fail(reader, "there is a cost before events:")) &&
                         read_cost(reader, line)
                   : fail(reader, "this is no line of callgrind's output");
    if (starts(line, "fl="))
        return set_file(reader, &reader->file, line + 3);
    if (starts(line, "fi=") || starts(line, "fe=")) { /* another file, of inlined code */
        char *file = NULL;
        bool good = set_file(reader, &file, line + 3);
        crn_free(file);
        return good;
    }
    if (starts(line, "cfi=") || starts(line, "cfl="))
        return set_file(reader, &reader->called_file, line + 4);
    if (starts(line, "fn=")) {
        crn_free(reader->called_file);
        reader->called_file = NULL;
        return (reader->current = function_of(reader, line + 3, reader->file)) != 0;
    }
    if (starts(line, "cfn=")) {
        const char *file = reader->called_file ? reader->called_file : reader->file;
        reader->callee = function_of(reader, line + 4, file);
        crn_free(reader->called_file);
        reader->called_file = NULL;
        return reader->callee != 0;
    }
    if (starts(line, "calls="))
        return read_calls(reader, line + 6);
    return true; /* ignores objects, jumps and lines of later versions */
}

/* ---- the whole ---- */

static bool charge(const reader *reader)
{
    uint64_t total = 0;
    if (!reader->metric)
        return fail(reader, "events: is missing");
    for (uint32_t i = 0; i < reader->count; i++)
        if (__builtin_add_overflow(total, reader->list[i].self, &total))
            return fail(reader, "the costs are too large");
    for (uint32_t i = 0; i < reader->count; i++) {
        const function *function = &reader->list[i];
        uint64_t inclusive;
        if (__builtin_add_overflow(function->self, function->called, &inclusive) ||
            inclusive > total)
            inclusive = total; /* mutual recursion is counted more than once */
        crn_profile_builder_charge(reader->builder, function->context, reader->metric,
                                   function->self);
        crn_profile_builder_charge(reader->builder, function->context, reader->inclusive,
                                   inclusive);
    }
    return true;
}

crn_profile *crn_callgrind_read(crn_source *source, const crn_import_options *options,
                                crn_error *error)
{
    reader reader = {
        .source = source, .error = error, .builder = crn_profile_builder_new(), .positions = 1};
    char *line;
    size_t length;
    bool good = crn_source_rewind(source, error);
    crn_profile_builder_note(reader.builder, "imported", "callgrind");
    crn_profile_builder_note(reader.builder, CRN_NOTE_STATIC_CALLS, "1");
    while (good && (line = crn_source_line(source, &length, error))) {
        uint64_t done, total;
        if (options->progress && crn_source_line_number(source) % 65536 == 0) {
            crn_source_position(source, &done, &total);
            options->progress(done, total);
        }
        good = read_line(&reader, line);
    }
    good = good && !error->code && charge(&reader);
    names_free(&reader.files);
    names_free(&reader.functions);
    crn_free(reader.file);
    crn_free(reader.called_file);
    crn_free(reader.list);
    crn_free(reader.by_block);
    return crn_import_end(reader.builder, good);
}

bool crn_callgrind_recognise(const char *head, size_t length)
{
    static const char first[] = "# callgrind format";
    return (length >= sizeof first - 1 && memcmp(head, first, sizeof first - 1) == 0) ||
           (memmem(head, length, "\nevents: ", 9) && memmem(head, length, "\nfn=", 4));
}
