/* SPDX-License-Identifier: MIT */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "formats/names.h"
#include "profile/profile.h"
#include "support/cases.h"
#include "support/random.h"
#include "support/soundness.h"

enum { BLOCKS = 40, DEPTH = 30 };

static void add_blocks(crn_profile_builder *builder, uint32_t *blocks)
{
    static const char *const odd[] = {
        "with space",
        "semi;colon",
        "percent%3Bsign",
        "100%",
        "line\nend",
        "# hash",
        "",
        "function <a.lua:12>",
        "(anonymous)",
        "caf\xc3\xa9",
        "bad\xff\xfe",
        "ends in 42 ",
        "#1",
    };
    for (uint32_t i = 0; i < BLOCKS; i++) {
        char name[32];
        snprintf(name, sizeof name, "f%u", i);
        crn_block_info info = {.name = name, .file = "src/a b.lua", .line = i + 1, .column = 2};
        if (i < COUNT(odd))
            info.name = odd[i];
        else if (i < 20)
            info.name = "same"; /* told apart by line */
        else if (i < 23)
            info = (crn_block_info){"same", "src/a b.lua", 7, i, 0, 0}; /* by column */
        else if (i < 25)
            info = (crn_block_info){"inner", "b.lua", 1, 1, blocks[i], 0}; /* by lexical parent */
        else if (i < 28)
            info = (crn_block_info){.name = name, .file = ""};
        if (i == 23 || i == 24)
            info.parent = blocks[i - 10 + (i == 24)];
        blocks[i] = crn_profile_builder_block(builder, &info);
    }
}

crn_profile *support_random(uint64_t seed, uint32_t stacks)
{
    random_source random = {seed};
    crn_profile_builder *builder = crn_profile_builder_new();
    uint32_t blocks[BLOCKS], kept[DEPTH], depth = 0;
    uint32_t bytes = crn_profile_builder_metric(builder, "alloc", "bytes");
    uint32_t root = crn_profile_builder_root(builder);
    add_blocks(builder, blocks);
    crn_profile_builder_note(builder, "command", "program --with arguments; and more");
    crn_profile_builder_note(builder, "started", "2024-02-29T12:34:56Z");
    crn_profile_builder_note(builder, "recorded_ns", "1500000000");
    crn_profile_builder_note(builder, "label", "a=b\nsecond line");
    crn_profile_builder_charge(builder, root, CRN_METRIC_CALLS, 3);
    crn_profile_builder_charge(builder, root, CRN_METRIC_WALL, random_below(&random, 1000));
    /* Consecutive stacks share their outer frames, as those of programs do. */
    for (uint32_t i = 0; i < stacks; i++) {
        depth = depth ? random_below(&random, depth) : 0;
        uint32_t context = depth ? kept[depth - 1] : root;
        uint32_t more = 1 + random_below(&random, DEPTH - depth);
        uint32_t palette = 2 + random_below(&random, BLOCKS - 2);
        while (more-- > 0) {
            uint32_t block = blocks[random_below(&random, palette)];
            context = crn_profile_builder_child(builder, context, block, random_below(&random, 5));
            kept[depth++] = context;
        }
        crn_profile_builder_charge(builder, context, CRN_METRIC_TICKS, random_below(&random, 100));
        crn_profile_builder_charge(builder, context, CRN_METRIC_WALL, random_next(&random) >> 24);
        if (random_chance(&random, 1, 4))
            crn_profile_builder_charge(builder, context, bytes, random_below(&random, 4096));
    }
    return crn_profile_builder_end(builder);
}

crn_profile *support_path(uint32_t length)
{
    crn_profile_builder *builder = crn_profile_builder_new();
    uint32_t context = crn_profile_builder_root(builder);
    for (uint32_t i = 0; i < length; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%u", i);
        crn_block_info info = {.name = name, .file = ""};
        context = crn_profile_builder_child(builder, context,
                                            crn_profile_builder_block(builder, &info), 1);
    }
    return crn_profile_builder_end(builder);
}

crn_source *support_source(const void *bytes, size_t size)
{
    crn_error error = {0};
    int descriptor = memfd_create("source", MFD_CLOEXEC);
    assert_true(descriptor >= 0);
    assert_int_equal(pwrite(descriptor, bytes, size, 0), size);
    crn_source *source = crn_source_from(descriptor, "input", &error);
    assert_non_null(source);
    return source;
}

char *support_write(crn_format_write *write, const crn_profile *profile,
                    const crn_export_options *options, size_t *size)
{
    crn_export_options choice = {.metric = crn_export_metric(profile, true), .times = true};
    crn_error error = {0};
    FILE *out = tmpfile();
    assert_non_null(out);
    if (!write(profile, options ? options : &choice, out, &error))
        fail_msg("%s", error.message);
    assert_int_equal(fseek(out, 0, SEEK_END), 0);
    *size = (size_t)ftell(out);
    rewind(out);
    char *bytes = calloc(*size + 1, 1);
    assert_int_equal(fread(bytes, 1, *size, out), *size);
    fclose(out);
    return bytes;
}

crn_profile *support_read(crn_format_read *read, const void *bytes, size_t size, const char *metric,
                          crn_error *error)
{
    *error = (crn_error){0};
    crn_source *source = support_source(bytes, size);
    crn_profile *profile = read(source, &(crn_import_options){.metric = metric}, error);
    crn_source_close(source);
    if (!profile) {
        assert_int_not_equal(error->code, 0);
        assert_true(strncmp(error->message, "input", 5) == 0);
        assert_null(strchr(error->message, '\n'));
        return NULL;
    }
    difference found = {{0}};
    if (!profile_is_sound(profile, &found))
        fail_msg("%s", found.text);
    return profile;
}

static int compare_lines(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static char *figures_of(const crn_profile *profile, const crn_names *names, uint32_t context,
                        const char *metric)
{
    char *line = NULL;
    size_t size;
    bool any = false;
    FILE *out = open_memstream(&line, &size);
    for (uint32_t c = context; c != 0; c = profile->parent[c]) {
        const crn_block_info *info = &profile->blocks[profile->block[c]];
        fprintf(out, "%s (%s:%u:%u) < ", names->labels[profile->block[c]], metric ? "" : info->file,
                metric ? 0 : info->line, metric ? 0 : info->column);
    }
    for (uint32_t m = 0; m < profile->metric_count; m++) {
        uint64_t value = crn_self(profile, m, context);
        if (value == 0 || (metric && strcmp(profile->metrics[m].name, metric) != 0))
            continue;
        any = true;
        fprintf(out, " %s=%llu %s", profile->metrics[m].name, (unsigned long long)value,
                metric ? "" : profile->metrics[m].unit);
    }
    fclose(out);
    if (any)
        return line;
    free(line);
    return NULL;
}

char *support_figures(const crn_profile *profile, const char *metric)
{
    crn_names names;
    crn_names_open(&names, profile);
    char **lines = calloc(profile->context_count, sizeof *lines);
    size_t count = 0, size;
    for (uint32_t c = 0; c < profile->context_count; c++) {
        char *line = figures_of(profile, &names, c, metric);
        if (line)
            lines[count++] = line;
    }
    qsort(lines, count, sizeof *lines, compare_lines);
    char *text = NULL;
    FILE *out = open_memstream(&text, &size);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "%s\n", lines[i]);
        free(lines[i]);
    }
    fclose(out);
    free(lines);
    crn_names_close(&names);
    return text;
}

uint64_t support_total(const crn_profile *profile, const char *metric)
{
    int m = crn_profile_metric(profile, metric);
    uint64_t sum = 0;
    for (uint32_t c = 0; m >= 0 && c < profile->context_count; c++)
        sum += crn_self(profile, (uint32_t)m, c);
    return sum;
}

static uint32_t child_of(const crn_profile *profile, uint32_t context, const char *name)
{
    for (uint32_t c = 1; c < profile->context_count; c++)
        if (profile->parent[c] == context &&
            strcmp(profile->blocks[profile->block[c]].name, name) == 0)
            return c;
    fail_msg("there is no %s below context %u", name, context);
    return 0;
}

uint32_t support_context(const crn_profile *profile, const char *path)
{
    char *copy = strdup(path), *save = NULL;
    uint32_t context = 0;
    for (char *name = strtok_r(copy, ";", &save); name; name = strtok_r(NULL, ";", &save))
        context = child_of(profile, context, name);
    free(copy);
    return context;
}

uint64_t support_value(const crn_profile *profile, const char *path, const char *metric)
{
    int m = crn_profile_metric(profile, metric);
    if (m < 0)
        fail_msg("there is no metric %s", metric);
    return crn_self(profile, (uint32_t)m, support_context(profile, path));
}

const crn_block_info *support_block(const crn_profile *profile, const char *name)
{
    for (uint32_t b = 0; b < profile->block_count; b++)
        if (strcmp(profile->blocks[b].name, name) == 0)
            return &profile->blocks[b];
    fail_msg("there is no block %s", name);
    return NULL;
}
