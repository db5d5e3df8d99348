/* SPDX-License-Identifier: MIT */
#include "spans/redact.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/cairn.h>

#include "base/memory.h"
#include "capture/format.h"
#include "spans/trace_merge.h"
#include "spans/trace_process.h"

enum { PSEUDONYM_SIZE = 64, EXTENSION_MAX = 5 };

/* The pseudonyms of one kind of name. */
typedef struct table {
    crn_interning *numbers; /* from a name to its index in the two arrays below */
    char **names, **pseudonyms;
    uint32_t count, next; /* next: number for the next pseudonym */
} table;

typedef enum kind { KIND_NAME, KIND_FILE, KIND_KEY, KIND_TEXT, KIND_LANE, KIND_COUNT } kind;

/* Prefixes of pseudonyms by kind. */
static const char *const prefixes[] = {"f", "file", "key", "text", "lane"};

struct crn_redact_map {
    table tables[KIND_COUNT];
    crn_interning *taken; /* pseudonyms in use and kept names: new pseudonyms must differ */
    uint32_t taken_count;
    char **kept; /* fnmatch patterns of names to keep */
    size_t kept_count;
};

crn_redact_map *crn_redact_map_new(void)
{
    crn_redact_map *map = crn_calloc(1, sizeof *map);
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        map->tables[kind].numbers = crn_interning_new();
        map->tables[kind].next = 1;
    }
    map->taken = crn_interning_new();
    return map;
}

void crn_redact_map_free(crn_redact_map *map)
{
    if (!map)
        return;
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        table *table = &map->tables[kind];
        for (uint32_t i = 0; i < table->count; i++) {
            crn_free(table->names[i]);
            crn_free(table->pseudonyms[i]);
        }
        crn_free(table->names);
        crn_free(table->pseudonyms);
        crn_interning_free(table->numbers);
    }
    for (size_t i = 0; i < map->kept_count; i++)
        crn_free(map->kept[i]);
    crn_free(map->kept);
    crn_interning_free(map->taken);
    crn_free(map);
}

void crn_redact_map_keep(crn_redact_map *map, const char *pattern)
{
    map->kept = crn_realloc(map->kept, map->kept_count + 1, sizeof *map->kept);
    map->kept[map->kept_count++] = crn_strdup(pattern);
}

/* Marks a text as used. Returns true if it was unused. */
static bool take(crn_redact_map *map, const char *text)
{
    if (crn_intern_number(map->taken, text, strlen(text)) < map->taken_count)
        return false;
    map->taken_count++;
    return true;
}

/* Adds a name and its pseudonym. The name's number must be the table's count. */
static const char *append(table *table, const char *name, const char *pseudonym)
{
    table->names = crn_realloc(table->names, table->count + 1, sizeof *table->names);
    table->pseudonyms = crn_realloc(table->pseudonyms, table->count + 1, sizeof *table->pseudonyms);
    table->names[table->count] = crn_strdup(name);
    return table->pseudonyms[table->count++] = crn_strdup(pseudonym);
}

static bool is_kept(const crn_redact_map *map, const char *name)
{
    static const char *const always[] = {"", "[root]", "[folded]", "[unknown]", "[C]", "<gc>"};
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (strcmp(name, always[i]) == 0)
            return true;
    for (size_t i = 0; i < map->kept_count; i++)
        if (fnmatch(map->kept[i], name, 0) == 0)
            return true;
    return false;
}

/* Returns the file name extension with its dot, or "". Pseudonyms keep it: it tells only the
 * language. */
static const char *extension_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    size_t length = dot ? strlen(dot + 1) : 0;
    if (!length || length > EXTENSION_MAX)
        return "";
    for (const char *c = dot + 1; *c; c++)
        if (!isalnum((unsigned char)*c))
            return "";
    return dot;
}

static const char *pseudonym(crn_redact_map *map, kind kind, const char *name)
{
    if (is_kept(map, name))
        return name;
    table *table = &map->tables[kind];
    uint32_t number = crn_intern_number(table->numbers, name, strlen(name));
    if (number < table->count)
        return table->pseudonyms[number];
    char made[PSEUDONYM_SIZE];
    do {
        snprintf(made, sizeof made, "%s%u%s", prefixes[kind], table->next,
                 kind == KIND_FILE ? extension_of(name) : "");
        table->next++;
    } while (!take(map, made));
    return append(table, name, made);
}

/* ---- the file of the map ---- */

static void write_escaped(FILE *file, const char *text)
{
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\\\", file);
        else if (*text == '\n')
            fputs("\\n", file);
        else if (*text == '\t')
            fputs("\\t", file);
        else
            fputc(*text, file);
    }
}

static void unescape(char *text)
{
    char *to = text;
    for (; *text; text++) {
        if (*text != '\\' || !text[1]) {
            *to++ = *text;
            continue;
        }
        text++;
        *to++ = *text == 'n' ? '\n' : *text == 't' ? '\t' : *text;
    }
    *to = 0;
}

/* Raises the table's next number above that of a pseudonym read from the file. */
static void skip_number(table *table, const char *pseudonym, const char *prefix)
{
    size_t length = strlen(prefix);
    if (strncmp(pseudonym, prefix, length) != 0)
        return;
    unsigned long number = strtoul(pseudonym + length, NULL, 10);
    if (number >= table->next && number < UINT32_MAX)
        table->next = (uint32_t)number + 1;
}

/* Returns the kind of a pseudonym, KIND_COUNT for another text. */
static kind kind_of(const char *pseudonym)
{
    for (kind kind = KIND_COUNT; kind-- > 0;) { /* from the last: "file1" begins with "f", too */
        size_t length = strlen(prefixes[kind]);
        if (strncmp(pseudonym, prefixes[kind], length) == 0 &&
            isdigit((unsigned char)pseudonym[length]))
            return kind;
    }
    return KIND_COUNT;
}

bool crn_redact_map_read(crn_redact_map *map, const char *path, crn_error *error)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return errno == ENOENT ||
               crn_error_set(error, CAIRN_E_READ, "%s: %s; name another file for the map", path,
                             strerror(errno));
    char *line = NULL;
    size_t size = 0, number = 0;
    bool good = true;
    errno = 0;
    while (good && getline(&line, &size, file) >= 0) {
        number++;
        line[strcspn(line, "\n")] = 0;
        char *tab = strchr(line, '\t');
        if (tab)
            *tab = 0;
        kind kind = tab ? kind_of(line) : KIND_COUNT;
        if (kind == KIND_COUNT) {
            good = crn_error_set(error, CAIRN_E_FORMAT,
                                 "%s: line %zu is not a pseudonym, a tab and a name: is this a "
                                 "map of cairn redact?",
                                 path, number);
            break;
        }
        unescape(tab + 1);
        table *table = &map->tables[kind];
        take(map, line);
        if (crn_intern_number(table->numbers, tab + 1, strlen(tab + 1)) == table->count)
            append(table, tab + 1, line);
        skip_number(table, line, prefixes[kind]);
    }
    if (good && ferror(file))
        good = crn_error_set(error, CAIRN_E_READ, "%s: %s; name a file for the map", path,
                             strerror(errno));
    free(line);
    fclose(file);
    return good;
}

bool crn_redact_map_write(const crn_redact_map *map, const char *path, crn_error *error)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return crn_error_set(error, CAIRN_E_OPEN, "%s: %s", path, strerror(errno));
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        const table *table = &map->tables[kind];
        for (uint32_t i = 0; i < table->count; i++) {
            fprintf(file, "%s\t", table->pseudonyms[i]);
            write_escaped(file, table->names[i]);
            fputc('\n', file);
        }
    }
    errno = 0;
    bool failed = ferror(file);
    failed |= fclose(file) != 0;
    return !failed || crn_error_set(error, CAIRN_E_SPACE, "%s: %s; free some space", path,
                                    errno ? strerror(errno) : "it cannot be written");
}

/* ---- profiles ---- */

static bool is_note_kept(const char *key)
{
    static const char *const kept[] = {
        "out_of_space",   "wall",          "sample_period_ns", "tick_period",    "seed",
        "recorded_ns",    "elapsed_ns",    "cost_ns",          "cost_method",    "library",
        "path_limit",     "lanes",         "strands",          "misuses",        "dropped",
        "context_budget", "tick_samples",  "samples",          "state",          "merged",
        "call_ns",        "cpu",           "unaccounted_ns",   "alloc",          "alloc_samples",
        "default_metric", "sample_rounds", "sample_rounds_ns", "sampler_ns",     "sampler",
        "cpu_samples",    "wall_squares",  "cpu_squares",      "sample_ns",      "cores",
        "spans_dropped",  "spans_limited", "spans_late",       "spans_recycled", "spans_skipped",
        "off_core",       "python"};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (strcmp(key, kept[i]) == 0)
            return true;
    return false;
}

/* Marks all kept names as used, so that none becomes a pseudonym. */
static void take_kept(crn_redact_map *map, const crn_profile *profile)
{
    for (uint32_t b = 0; b < profile->block_count; b++) {
        if (is_kept(map, profile->blocks[b].name))
            take(map, profile->blocks[b].name);
        if (is_kept(map, profile->blocks[b].file))
            take(map, profile->blocks[b].file);
    }
}

/* Returns the profile with renamed blocks. The caller frees the blocks; all else belongs to the
 * original. */
static crn_profile rename_blocks(const crn_profile *profile, crn_redact_map *map)
{
    crn_profile renamed = *profile;
    renamed.blocks = crn_calloc(profile->block_count, sizeof *renamed.blocks);
    for (uint32_t b = 0; b < profile->block_count; b++) {
        renamed.blocks[b] = profile->blocks[b];
        renamed.blocks[b].name = pseudonym(map, KIND_NAME, profile->blocks[b].name);
        renamed.blocks[b].file = pseudonym(map, KIND_FILE, profile->blocks[b].file);
    }
    return renamed;
}

crn_profile *crn_redact(const crn_profile *profile, crn_redact_map *given)
{
    crn_redact_map *map = given ? given : crn_redact_map_new();
    take_kept(map, profile);
    crn_profile renamed = rename_blocks(profile, map);
    renamed.warning_count = 0;
    crn_profile_builder *builder = crn_profile_builder_new();
    crn_profile_builder_add(builder, &renamed);
    for (size_t i = 0; i < profile->note_count; i++)
        if (is_note_kept(profile->notes[i].key))
            crn_profile_builder_note(builder, profile->notes[i].key, profile->notes[i].value);
    crn_profile_builder_note(builder, "redacted", "yes");
    if (profile->warning_count)
        crn_profile_builder_warn(builder, "%zu warning%s left out by redaction",
                                 profile->warning_count,
                                 profile->warning_count == 1 ? " was" : "s were");
    crn_free(renamed.blocks);
    if (!given)
        crn_redact_map_free(map);
    return crn_profile_builder_end(builder);
}

/* ---- spans ---- */

static void take_kept_text(crn_redact_map *map, const char *text)
{
    if (is_kept(map, text))
        take(map, text);
}

static void take_kept_texts(crn_redact_map *map, const crn_trace *trace)
{
    for (uint32_t k = 0; k < trace->key_count; k++)
        take_kept_text(map, trace->keys[k]);
    for (uint32_t lane = 0; lane < trace->lane_count; lane++)
        take_kept_text(map, trace->lanes[lane]);
    for (uint32_t a = 0; a < trace->attribute_count && map->kept_count; a++)
        if (trace->attributes[a].kind == CRN_ATTRIBUTE_TEXT)
            take_kept_text(map, trace->attributes[a].value.text);
    for (uint32_t e = 0; e < trace->event_count && map->kept_count; e++)
        take_kept_text(map, trace->events[e].text);
}

static const char *redacted_text(crn_trace *trace, crn_redact_map *map, kind kind, const char *text)
{
    const char *replacement = pseudonym(map, kind, text);
    return crn_intern_text(trace->texts, replacement);
}

static void redact_histogram(crn_disk_histogram *disk, crn_redact_map *map)
{
    char text[CRN_HISTOGRAM_TEXT_MAX + 1] = "";
    memcpy(text, disk->text, disk->value < sizeof disk->text ? disk->value : sizeof disk->text);
    memset(disk->text, 0, sizeof disk->text);
    if (disk->kind != CRN_HISTOGRAM_TEXT)
        return;
    const char *replacement = pseudonym(map, KIND_TEXT, text);
    disk->value = strnlen(replacement, sizeof disk->text);
    memcpy(disk->text, replacement, disk->value);
}

/* Drops where and when processes ran, their ids, and remote parents. A remote parent in the trace
 * stays the span's parent. */
static void forget_processes(crn_trace *trace)
{
    for (uint32_t p = 0; p < trace->process_count; p++) {
        crn_trace_process *process = &trace->processes[p];
        *process = (crn_trace_process){.name = "",
                                       .first_lane = process->first_lane,
                                       .start = process->start,
                                       .clock_shift = process->clock_shift,
                                       .length = process->length,
                                       .dangling = process->dangling};
    }
    trace->remote_count = 0;
}

/* Returns a number for a thread of a machine, from 1 on; 0 stays 0. */
static uint32_t number_of_thread(crn_interning *numbers, const crn_trace *trace, uint32_t lane,
                                 uint32_t thread)
{
    uint64_t key[3] = {thread};
    if (trace->process_count)
        memcpy(key + 1, trace->processes[crn_trace_process_of(trace, lane)].boot,
               sizeof trace->processes->boot);
    return thread ? crn_intern_number(numbers, (const char *)key, sizeof key) + 1 : 0;
}

/* Replaces kernel ids of threads by numbers that still match samples with spans. Needs the
 * processes' boot ids. */
static void forget_threads(crn_trace *trace)
{
    crn_interning *numbers = crn_interning_new();
    for (uint32_t lane = 0; trace->threads && lane < trace->lane_count; lane++)
        trace->threads[lane] = number_of_thread(numbers, trace, lane, trace->threads[lane]);
    for (uint32_t c = 0; c < trace->samples.change_count; c++) {
        crn_thread_change *change = &trace->samples.changes[c];
        change->thread = number_of_thread(numbers, trace, change->lane, change->thread);
    }
    crn_interning_free(numbers);
}

void crn_redact_trace(crn_trace *trace, const crn_profile *profile, const crn_profile *redacted,
                      crn_redact_map *map)
{
    crn_profile renamed = rename_blocks(profile, map);
    uint32_t *blocks = crn_blocks_match(&renamed, redacted);
    crn_trace_rename_blocks(trace, blocks, profile->block_count);
    crn_free(blocks);
    crn_free(renamed.blocks);
    take_kept_texts(map, trace);
    for (uint32_t k = 0; k < trace->key_count; k++)
        trace->keys[k] = redacted_text(trace, map, KIND_KEY, trace->keys[k]);
    for (uint32_t lane = 0; lane < trace->lane_count; lane++)
        trace->lanes[lane] = redacted_text(trace, map, KIND_LANE, trace->lanes[lane]);
    for (uint32_t a = 0; a < trace->attribute_count; a++)
        if (trace->attributes[a].kind == CRN_ATTRIBUTE_TEXT)
            trace->attributes[a].value.text =
                redacted_text(trace, map, KIND_TEXT, trace->attributes[a].value.text);
    for (uint32_t e = 0; e < trace->event_count; e++)
        trace->events[e].text = redacted_text(trace, map, KIND_TEXT, trace->events[e].text);
    for (uint32_t h = 0; h < trace->histogram_count; h++)
        redact_histogram(trace->histograms[h].disk, map);
    forget_threads(trace);
    forget_processes(trace);
}
