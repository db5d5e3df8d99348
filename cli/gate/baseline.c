/* SPDX-License-Identifier: MIT
 *
 * Reads and writes a baseline's file; reduces profiles to what the file has.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/common/output.h"
#include "gate.h"

static const char first_line[] = "# Baseline of cairn gate; cairn gate --update renews it.";
static const char rest_name[] = "(rest)";
static const char tolerance_name[] = "own tolerance";
enum { PATH_MOST = 1 << 16 };

/* ---- reducing ---- */

static uint32_t block_named(crn_profile_builder *builder, const char *name)
{
    return crn_profile_builder_block(builder, &(crn_block_info){.name = name, .file = ""});
}

/* Returns the profile with blocks that have names only. Of a call graph without paths, omits calls
 * of a function by itself, which have no line of their own. */
static crn_profile *by_name(const crn_profile *profile, uint32_t metric)
{
    crn_profile_builder *builder = crn_profile_builder_new();
    const crn_metric_info *info = &profile->metrics[metric];
    uint32_t own = crn_profile_builder_metric(builder, info->name, info->unit);
    bool graph = crn_calls_static(profile);
    int stack = graph ? crn_profile_metric(profile, CRN_STACK_METRIC) : -1;
    uint32_t on_stack = stack < 0 ? own : crn_profile_builder_metric(builder, CRN_STACK_METRIC, "");
    uint32_t *contexts = crn_calloc(profile->context_count, sizeof *contexts);
    contexts[0] = crn_profile_builder_root(builder);
    for (uint32_t c = 0; c < profile->context_count; c++) {
        if (c)
            contexts[c] = crn_profile_builder_child(
                builder, contexts[profile->parent[c]],
                block_named(builder, profile->blocks[profile->block[c]].name),
                graph ? profile->calls_tree[c] : crn_self(profile, CRN_METRIC_CALLS, c));
        if (metric != CRN_METRIC_CALLS)
            crn_profile_builder_charge(builder, contexts[c], own, crn_self(profile, metric, c));
        if (stack >= 0)
            crn_profile_builder_charge(builder, contexts[c], on_stack,
                                       crn_self(profile, (uint32_t)stack, c));
    }
    crn_free(contexts);
    return crn_profile_builder_end(builder);
}

/* Returns, by context, the cost that decides whether it gets a line: the inclusive cost. In an
 * import that is a call graph without paths, it is the cost of the function while on the stack.
 * Free it with crn_free. */
static uint64_t *sizes_of(const crn_profile *named, uint32_t metric)
{
    uint64_t *sizes = crn_totals(named, metric, NULL);
    int stack = crn_profile_metric(named, CRN_STACK_METRIC);
    if (stack < 0 || metric == CRN_METRIC_CALLS)
        return sizes;
    uint64_t *of_block = crn_calloc(named->block_count, sizeof *of_block);
    for (uint32_t c = 1; c < named->context_count; c++)
        of_block[named->block[c]] += crn_self(named, (uint32_t)stack, c);
    for (uint32_t c = 1; c < named->context_count; c++)
        if (named->parent[c] == 0 || named->calls_tree[c])
            sizes[c] = of_block[named->block[c]];
    crn_free(of_block);
    return sizes;
}

/* Returns, by context of `profile`, the context of `known` with the same path, or
 * CRN_CONTEXT_NONE. */
static uint32_t *same_paths(const crn_profile *profile, const crn_profile *known)
{
    uint32_t *same = crn_calloc(profile->context_count, sizeof *same);
    uint32_t *first = crn_calloc(known->context_count, sizeof *first);
    uint32_t *next = crn_calloc(known->context_count, sizeof *next);
    for (uint32_t k = known->context_count - 1; k > 0; k--) {
        next[k] = first[known->parent[k]];
        first[known->parent[k]] = k;
    }
    for (uint32_t c = 1; c < profile->context_count; c++) {
        uint32_t above = same[profile->parent[c]];
        const char *name = profile->blocks[profile->block[c]].name;
        same[c] = CRN_CONTEXT_NONE;
        if (above == CRN_CONTEXT_NONE)
            continue;
        for (uint32_t k = first[above]; k; k = next[k])
            if (strcmp(known->blocks[known->block[k]].name, name) == 0)
                same[c] = k;
    }
    crn_free(first);
    crn_free(next);
    return same;
}

crn_profile *crn_baseline_reduce(const crn_profile *profile, const char *metric, double share,
                                 const crn_profile *known)
{
    int number = crn_profile_metric(profile, metric);
    if (number < 0 || crn_metric_empty(profile, (uint32_t)number)) {
        crn_cli_fail("the capture has no %s; %s", metric,
                     known ? "record it like the baseline" : "name another metric with --metric");
        return NULL;
    }
    crn_profile *named = by_name(profile, (uint32_t)number);
    uint32_t own = (uint32_t)crn_profile_metric(named, metric);
    uint64_t *sizes = sizes_of(named, own);
    uint32_t *same = known ? same_paths(named, known) : NULL;
    crn_profile_builder *builder = crn_profile_builder_new();
    uint32_t to_metric = crn_profile_builder_metric(builder, metric, named->metrics[own].unit);
    uint32_t *above = crn_calloc(named->context_count, sizeof *above); /* nearest kept context */
    uint8_t *rest = crn_calloc(named->context_count, 1);
    double least = share * (double)sizes[0];
    for (uint32_t c = 0; c < named->context_count; c++) {
        uint32_t parent = named->parent[c], to = crn_profile_builder_root(builder);
        bool large = (double)sizes[c] >= least || (same && same[c] != CRN_CONTEXT_NONE);
        rest[c] = c && (rest[parent] || !large);
        const char *name = rest[c] ? rest_name : named->blocks[named->block[c]].name;
        if (c)
            to = crn_profile_builder_child(builder, above[parent], block_named(builder, name),
                                           crn_self(named, CRN_METRIC_CALLS, c));
        above[c] = rest[c] ? above[parent] : to;
        if (own != CRN_METRIC_CALLS)
            crn_profile_builder_charge(builder, to, to_metric, crn_self(named, own, c));
    }
    crn_free(above);
    crn_free(rest);
    crn_free(same);
    crn_free(sizes);
    crn_profile_free(named);
    if (crn_calls_static(profile))
        crn_profile_builder_note(builder, CRN_NOTE_STATIC_CALLS, "1");
    return crn_profile_builder_end(builder);
}

/* ---- writing ---- */

static void write_name(FILE *out, const char *name)
{
    for (; *name; name++) {
        static const char from[] = "\t\n\r\\", to[] = "tnr\\";
        const char *special = strchr(from, *name);
        if (special)
            fprintf(out, "\\%c", to[special - from]);
        else
            putc(*name, out);
    }
}

static void write_path(FILE *out, const crn_profile *profile, uint32_t context)
{
    uint32_t count = 0, path[PATH_MOST];
    for (uint32_t c = context; c && count < PATH_MOST; c = profile->parent[c])
        path[count++] = c;
    while (count--) {
        putc('\t', out);
        write_name(out, profile->blocks[profile->block[path[count]]].name);
    }
}

int crn_baseline_write(const crn_baseline *baseline, const char *path)
{
    const crn_profile *profile = baseline->profile;
    crn_output output;
    if (!crn_output_open(&output, path, NULL))
        return CRN_EXIT_BAD;
    FILE *out = output.file;
    uint32_t metric = (uint32_t)crn_profile_metric(profile, baseline->metric);
    fprintf(out, "%s\nmetric\t%s\nunit\t%s\ntolerance\t%g %%\nshare\t%g %%\n", first_line,
            baseline->metric, profile->metrics[metric].unit, 100 * baseline->tolerance,
            100 * baseline->share);
    if (crn_calls_static(profile))
        fputs("paths\tnone\n", out);
    fprintf(out, "# calls, self %s, tolerance (- is the one above), path\n", baseline->metric);
    for (uint32_t c = 0; c < profile->context_count; c++) {
        fprintf(out, "%" PRIu64 "\t%" PRIu64 "\t", crn_self(profile, CRN_METRIC_CALLS, c),
                metric == CRN_METRIC_CALLS ? 0 : crn_self(profile, metric, c));
        if (baseline->own && baseline->own[c] >= 0)
            fprintf(out, "%g %%", 100 * baseline->own[c]);
        else
            putc('-', out);
        write_path(out, profile, c);
        putc('\n', out);
    }
    return crn_output_close(&output, true) ? CRN_EXIT_OK : CRN_EXIT_BAD;
}

/* ---- reading ---- */

typedef struct reading {
    crn_baseline *baseline;
    const char *path;
    unsigned long line;
    crn_profile_builder *builder;
    bool has_metric;
    uint32_t metric, tolerance; /* tolerance: a context's own, as a metric; in millionths, plus 1 */
} reading;

static bool bad(const reading *reading, const char *what)
{
    crn_cli_fail("%s, line %lu: %s", reading->path, reading->line, what);
    return false;
}

/* Parses "1 %" as 0.01. */
static bool read_percent(const char *text, double *share)
{
    char *end;
    errno = 0;
    double number = strtod(text, &end);
    *share = number / 100;
    return end != text && !errno && number >= 0 && number <= 1e6 &&
           (strcmp(end, " %") == 0 || strcmp(end, "%") == 0 || !*end);
}

static void unescape(char *name)
{
    char *to = name;
    for (; *name; name++) {
        if (*name == '\\' && name[1]) {
            name++;
            *to++ = *name == 't' ? '\t' : *name == 'n' ? '\n' : *name == 'r' ? '\r' : *name;
        } else {
            *to++ = *name;
        }
    }
    *to = 0;
}

static bool read_header(reading *reading, const char *key, const char *value)
{
    crn_baseline *baseline = reading->baseline;
    if (strcmp(key, "metric") == 0) {
        if (!*value || strlen(value) >= sizeof baseline->metric)
            return bad(reading, "a metric's name is expected");
        strcpy(baseline->metric, value);
        return true;
    }
    if (strcmp(key, "unit") == 0) {
        if (!*baseline->metric || strlen(value) >= 64)
            return bad(reading, "the metric comes before its unit");
        reading->metric = crn_profile_builder_metric(reading->builder, baseline->metric, value);
        reading->has_metric = true;
        return true;
    }
    if (strcmp(key, "tolerance") == 0)
        return read_percent(value, &baseline->tolerance) ||
               bad(reading, "a percentage is expected");
    if (strcmp(key, "share") == 0)
        return read_percent(value, &baseline->share) || bad(reading, "a percentage is expected");
    if (strcmp(key, "paths") == 0 && strcmp(value, "none") == 0) {
        crn_profile_builder_note(reading->builder, CRN_NOTE_STATIC_CALLS, "1");
        return true;
    }
    return bad(reading, "is not a line of a baseline");
}

static bool read_number(char **line, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(*line, &end, 10);
    bool good = **line >= '0' && **line <= '9' && !errno && *end == '\t';
    *line = end + good;
    return good;
}

static bool read_context(reading *reading, char *line)
{
    uint64_t calls, self;
    double own = -1;
    if (!read_number(&line, &calls) || !read_number(&line, &self))
        return bad(reading, "two numbers are expected");
    char *tolerance = strsep(&line, "\t");
    if (strcmp(tolerance, "-") != 0 && !read_percent(tolerance, &own))
        return bad(reading, "a tolerance in percent, or -, is expected");
    uint32_t context = crn_profile_builder_root(reading->builder);
    for (char *name; line && (name = strsep(&line, "\t"));) {
        unescape(name);
        context = crn_profile_builder_child(reading->builder, context,
                                            block_named(reading->builder, name), line ? 0 : calls);
    }
    if (reading->metric && reading->metric != CRN_METRIC_CALLS)
        crn_profile_builder_charge(reading->builder, context, reading->metric, self);
    if (own >= 0)
        crn_profile_builder_charge(reading->builder, context, reading->tolerance,
                                   (uint64_t)(own * 1e6) + 1);
    return true;
}

static bool read_lines(reading *reading, FILE *file)
{
    char *line = NULL;
    size_t capacity = 0;
    bool good = true;
    while (good && getline(&line, &capacity, file) >= 0) {
        reading->line++;
        line[strcspn(line, "\r\n")] = 0;
        if (reading->line == 1)
            good = strcmp(line, first_line) == 0 ||
                   bad(reading, "is no baseline; cairn gate --update makes one");
        else if (*line && *line != '#' && *line >= '0' && *line <= '9')
            good = read_context(reading, line);
        else if (*line && *line != '#') {
            char *tab = strchr(line, '\t');
            if (tab)
                *tab = 0;
            good = read_header(reading, line, tab ? tab + 1 : "");
        }
    }
    free(line);
    return good && (reading->has_metric || bad(reading, "the metric or its unit is missing"));
}

bool crn_baseline_read(crn_baseline *baseline, const char *path, bool may_miss)
{
    reading reading = {.baseline = baseline, .path = path, .builder = NULL};
    FILE *file = fopen(path, "re");
    if (!file && errno == ENOENT && may_miss)
        return true;
    if (!file) {
        crn_cli_fail("%s: %s%s", path, strerror(errno),
                     errno == ENOENT ? "; cairn gate --update makes it" : "");
        return false;
    }
    reading.builder = crn_profile_builder_new();
    reading.tolerance = crn_profile_builder_metric(reading.builder, tolerance_name, "millionths");
    bool good = read_lines(&reading, file);
    fclose(file);
    crn_profile *profile = crn_profile_builder_end(reading.builder);
    if (good) {
        baseline->profile = profile;
        baseline->own = crn_calloc(profile->context_count, sizeof *baseline->own);
        for (uint32_t c = 0; c < profile->context_count; c++)
            baseline->own[c] = (double)crn_self(profile, reading.tolerance, c) / 1e6 - 1e-6;
    } else {
        crn_profile_free(profile);
    }
    return good;
}

void crn_baseline_free(crn_baseline *baseline)
{
    crn_profile_free(baseline->profile);
    crn_free(baseline->own);
    *baseline = (crn_baseline){.profile = NULL};
}
