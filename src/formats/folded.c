/* SPDX-License-Identifier: MIT
 *
 * Folded stacks as flame graph tools read them: "outer;inner;innermost 42", one line a context.
 *
 * In names, ";" and line ends are written as %3B, %0A and %0D, a leading "# " as %23, and "%" as
 * %25 where it could be read as one of these.
 */
#include <cairn/cairn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "formats/formats.h"
#include "formats/names.h"
#include "formats/stacks.h"
#include "profile/profile.h"

/* The path of a line: `length` frames, each with its context and its end in `text`. */
typedef struct path_text {
    char *text;
    size_t capacity;
    uint32_t *contexts;
    size_t *ends;
    size_t length, path_capacity;
    uint32_t *fresh; /* contexts to append, innermost first */
} path_text;

/* Returns true for "%XX" of a byte that escape() writes so: controls, a separator, '#', '%', and
 * bytes of unsafe characters. */
static bool is_escape(const char *text)
{
    static const char digits[] = "0123456789ABCDEFabcdef";
    if (text[0] != '%' || !text[1] || !strchr(digits, text[1]) || !text[2] ||
        !strchr(digits, text[2]))
        return false;
    unsigned byte = (unsigned)strtoul((char[]){text[1], text[2], 0}, NULL, 16);
    return byte && (byte < ' ' || byte >= 0x7f || strchr(";#%", (int)byte));
}

static char *escape(const char *name)
{
    char *result = crn_calloc(strlen(name) * 3 + 1, 1), *to = result;
    bool comment = strncmp(name, "# ", 2) == 0;
    while (*name) {
        uint32_t character;
        size_t length = crn_text_decode(name, &character);
        bool escaped =
            comment || *name == ';' || is_escape(name) || (length && crn_text_is_unsafe(character));
        for (size_t left = length ? length : 1; left; left--, name++) {
            if (escaped)
                to += snprintf(to, 4, "%%%02X", (unsigned char)*name);
            else
                *to++ = *name;
        }
        comment = false;
    }
    return result;
}

static void unescape(char *name)
{
    char *to = name;
    for (; *name; name++) {
        if (is_escape(name)) {
            char digits[] = {name[1], name[2], 0};
            *to++ = (char)strtol(digits, NULL, 16);
            name += 2;
        } else {
            *to++ = *name;
        }
    }
    *to = 0;
}

static void path_text_grow(path_text *path, size_t length)
{
    if (length <= path->path_capacity)
        return;
    path->path_capacity = length * 2;
    path->contexts = crn_realloc(path->contexts, path->path_capacity, sizeof *path->contexts);
    path->ends = crn_realloc(path->ends, path->path_capacity, sizeof *path->ends);
    path->fresh = crn_realloc(path->fresh, path->path_capacity, sizeof *path->fresh);
}

static void path_text_add(path_text *path, const char *name)
{
    size_t begin = path->length ? path->ends[path->length - 1] : 0, size = strlen(name);
    if (begin + size + 32 > path->capacity) {
        path->capacity = (begin + size + 32) * 2;
        path->text = crn_realloc(path->text, path->capacity, 1);
    }
    if (begin)
        path->text[begin++] = ';';
    memcpy(path->text + begin, name, size);
    path->ends[path->length++] = begin + size;
}

/* Makes `path` the path of `context`, and keeps the outer frames that both have. */
static void path_text_move(path_text *path, const crn_profile *profile, const uint32_t *depths,
                           uint32_t context, char **names)
{
    size_t depth = depths[context] ? depths[context] : 1, count = 0;
    path_text_grow(path, depth);
    while (depth > 0 && (depth > path->length || path->contexts[depth - 1] != context)) {
        path->fresh[count++] = context;
        context = profile->parent[context];
        depth--;
    }
    path->length = depth;
    while (count > 0) {
        context = path->fresh[--count];
        path->contexts[path->length] = context;
        path_text_add(path, names[profile->block[context]]);
    }
}

bool crn_folded_write(const crn_profile *profile, const crn_export_options *options, FILE *out,
                      crn_error *error)
{
    if (!crn_export_check_size(profile, "folded", error))
        return false;
    crn_names names;
    crn_names_open(&names, profile);
    for (uint32_t i = 0; i < names.used_count; i++) {
        char **label = &names.labels[names.used[i]], *plain = *label;
        *label = escape(plain);
        crn_free(plain);
    }
    uint32_t *depths = crn_depths(profile);
    path_text path = {0};
    bool good = true;
    for (uint32_t c = 0; good && c < profile->context_count; c++) {
        if (options->progress)
            options->progress(c, profile->context_count);
        uint64_t value = crn_self(profile, (uint32_t)options->metric, c);
        if (value == 0)
            continue;
        path_text_move(&path, profile, depths, c, names.labels);
        size_t length = path.ends[path.length - 1];
        /* path_text_add has reserved space for the number. */
        int digits = sprintf(path.text + length, " %llu\n", (unsigned long long)value);
        good = fwrite(path.text, 1, length + (size_t)digits, out) == length + (size_t)digits;
    }
    crn_free(path.text);
    crn_free(path.contexts);
    crn_free(path.ends);
    crn_free(path.fresh);
    crn_free(depths);
    crn_names_close(&names);
    return good || crn_export_failed(error, errno);
}

/* ---- reading ---- */

typedef struct folded_reader {
    crn_source *source;
    crn_stacks stacks;
    char *last; /* the frames of the previous line */
    size_t last_length, last_capacity;
    uint32_t metric;
    uint64_t sum, lines, fractions;
} folded_reader;

/* Splits "a;b;c 42" at its last space. Returns false if no number follows. Fractions are
 * rounded. */
static bool split_value(char *line, size_t length, uint64_t *value, bool *fraction)
{
    while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\t'))
        line[--length] = 0;
    size_t at = length;
    while (at > 0 && line[at - 1] != ' ' && line[at - 1] != '\t')
        at--;
    const char *digits = line + at;
    if (at == 0 || *digits < '0' || *digits > '9')
        return false;
    char *end;
    errno = 0;
    unsigned long long whole = strtoull(digits, &end, 10);
    *fraction = false;
    if (*end == '.') {
        const char *part = end + 1;
        *fraction = true;
        whole += *part >= '5' && *part <= '9';
        end += 1 + strspn(part, "0123456789");
    }
    line[at - 1] = 0;
    *value = whole;
    return *end == 0 && errno == 0;
}

/* Returns the length of the longest prefix of whole frames that the previous line also has, and
 * sets `*count` to its number of frames. Files are mostly sorted. */
static size_t shared_frames(const folded_reader *reader, const char *frames, size_t *count)
{
    size_t length = 0;
    *count = 0;
    for (size_t i = 0; i < reader->last_length && frames[i] == reader->last[i]; i++) {
        if (frames[i] == ';') {
            length = i + 1;
            ++*count;
        }
    }
    return length;
}

static void keep_frames(folded_reader *reader, const char *frames, size_t length)
{
    if (length > reader->last_capacity) {
        reader->last_capacity = length * 2;
        reader->last = crn_realloc(reader->last, reader->last_capacity, 1);
    }
    if (length > 0)
        memcpy(reader->last, frames, length);
    reader->last_length = length;
}

static void push_frames(folded_reader *reader, char *frames)
{
    size_t shared, length = shared_frames(reader, frames, &shared);
    keep_frames(reader, frames, strlen(frames));
    crn_stacks_keep(&reader->stacks, shared);
    frames += length;
    for (char *next; frames; frames = next) {
        next = strchr(frames, ';');
        if (next)
            *next++ = 0;
        unescape(frames);
        crn_block_info info = {.name = frames, .file = ""};
        crn_stacks_push(&reader->stacks, crn_stacks_block(&reader->stacks, &info));
    }
}

static bool read_line(void *data, char *line, size_t length, crn_error *error)
{
    folded_reader *reader = data;
    if (length == 0 || strncmp(line, "# ", 2) == 0)
        return true;
    uint64_t value;
    bool fraction;
    const char *name = crn_source_name(reader->source);
    unsigned long long number = crn_source_line_number(reader->source);
    if (!split_value(line, length, &value, &fraction))
        return crn_error_set(error, CAIRN_E_FORMAT,
                             "%s:%llu: not a folded stack, which is \"outer;inner 42\"", name,
                             number);
    if (!crn_stacks_add_up(&reader->sum, value))
        return crn_error_set(error, CAIRN_E_LIMIT, "%s:%llu: the numbers add up to 2^62 or more",
                             name, number);
    reader->lines++;
    reader->fractions += fraction;
    push_frames(reader, line);
    bool calls = reader->metric == CRN_METRIC_CALLS;
    uint32_t context = crn_stacks_end(&reader->stacks, calls ? value : 0);
    if (!calls)
        crn_profile_builder_charge(reader->stacks.builder, context, reader->metric, value);
    return true;
}

crn_profile *crn_folded_read(crn_source *source, const crn_import_options *options,
                             crn_error *error)
{
    crn_profile_builder *builder = crn_profile_builder_new();
    folded_reader reader = {.source = source};
    crn_stacks_open(&reader.stacks, builder);
    crn_profile_builder_note(builder, "imported", "folded");
    const char *metric = options->metric ? options->metric : "samples";
    reader.metric = crn_profile_builder_metric(builder, metric, "count");
    bool good = crn_import_lines(source, options, read_line, &reader, error);
    if (good && reader.lines == 0)
        good =
            crn_error_set(error, CAIRN_E_FORMAT, "%s: contains no stacks", crn_source_name(source));
    if (reader.fractions)
        crn_profile_builder_warn(builder, "%llu of the imported numbers were fractions: rounded",
                                 (unsigned long long)reader.fractions);
    crn_free(reader.last);
    crn_stacks_close(&reader.stacks);
    return crn_import_end(builder, good);
}

/* Returns true if the first line that is no comment ends in a number. */
bool crn_folded_recognise(const char *head, size_t length)
{
    const char *end = head + length;
    while (head < end) {
        const char *line_end = memchr(head, '\n', (size_t)(end - head));
        size_t size = (size_t)((line_end ? line_end : end) - head);
        if (memchr(head, 0, size))
            return false;
        bool comment = size >= 2 && memcmp(head, "# ", 2) == 0;
        if (size > 0 && !comment && *head != '\r') {
            uint64_t value;
            bool fraction;
            size -= head[size - 1] == '\r';
            char *line = strndup(head, size);
            bool result = line && split_value(line, size, &value, &fraction);
            free(line);
            /* A first line that is longer than `head` may be a long stack. */
            return result || (!line_end && length >= 4096);
        }
        head = line_end ? line_end + 1 : end;
    }
    return false;
}
