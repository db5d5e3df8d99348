/* SPDX-License-Identifier: MIT
 *
 * The page's answers of cairn report, and those about sequences.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "cli/common/cli.h"
#include "cli/common/json.h"
#include "cli/report/arguments.h"
#include "view.h"

enum { TOP_MAX = 100000, STEPS_MAX = 64, PATH_MAX_SHOWN = 256, MATCHES_SHOWN = 1000 };

/* ---- options ---- */

static bool read_numbers(const crn_view_query *query, crn_report_arguments *arguments)
{
    uint64_t top, least;
    if (!crn_view_number(query, "top", TOP_MAX + 1, TOP_MAX, &top) ||
        !crn_view_number(query, "least", UINT32_MAX, 1000000, &least))
        return false;
    arguments->top = top <= TOP_MAX ? (long)top : -1;
    arguments->threshold = least == UINT32_MAX ? -1 : (double)least / 1e6; /* millionths */
    return true;
}

static void read_view(const crn_view_query *query, crn_report_arguments *arguments)
{
    const char *name = crn_view_text(query, "view");
    arguments->flat = name && strcmp(name, "flat") == 0;
    arguments->tree = name && strcmp(name, "tree") == 0;
    arguments->stack = name && strcmp(name, "stack") == 0;
}

static bool read_sort(const crn_view_query *query, int *sort)
{
    const char *text = crn_view_some_text(query, "sort");
    for (*sort = 0; text && crn_report_sort_names[*sort]; ++*sort)
        if (strcmp(text, crn_report_sort_names[*sort]) == 0)
            return true;
    return !text || crn_cli_fail("cannot sort by \"%s\"", text) == CRN_EXIT_OK;
}

/* Collects the query's values of `key` that are not empty. */
static crn_list list_items(const crn_view_query *query, const char *key, char **values)
{
    crn_list list = {.list = values};
    for (size_t i = 0; i < query->count; i++)
        if (strcmp(query->items[i].key, key) == 0 && *query->items[i].value)
            values[list.count++] = (char *)(uintptr_t)query->items[i].value;
    return list;
}

/* Sets the report's profile and its cached figures: the file's, with the transforms applied. */
static bool transform(crn_report *report, crn_view_file *file, const crn_list *texts)
{
    report->profile = file->profile;
    report->known = &file->known;
    if (!texts->count)
        return true;
    char key[CRN_VIEW_QUERY_MAX] = "";
    for (size_t i = 0, used = 0; i < texts->count && used < sizeof key; i++)
        used += (size_t)snprintf(key + used, sizeof key - used, "%s\n", texts->list[i]);
    crn_view_transformed *transformed = &file->transformed;
    if (!transformed->key || strcmp(transformed->key, key) != 0) {
        crn_transform *transforms = crn_report_parse_transforms(file->profile, texts);
        if (!transforms)
            return false;
        crn_view_part_clear(&file->part); /* it may refer to the old profile */
        crn_view_transformed_clear(transformed);
        transformed->profile = crn_profile_transform(file->profile, transforms, texts->count);
        transformed->known.profile = transformed->profile;
        transformed->key = crn_strdup(key);
        crn_free(transforms);
    }
    report->profile = transformed->profile;
    report->known = &transformed->known;
    return true;
}

bool crn_view_report_begin(crn_view *view, const crn_view_query *query, crn_report *report,
                           crn_view_file **file)
{
    char *drops[CRN_VIEW_ITEMS_MAX], *transforms[CRN_VIEW_ITEMS_MAX];
    crn_report_arguments arguments = {.before = true, .after = true, .json = true};
    *report = (crn_report){0};
    *file = crn_view_file_of(view, query);
    if (!*file || !read_numbers(query, &arguments) || !read_sort(query, &arguments.sort))
        return false;
    arguments.metrics = crn_view_some_text(query, "metric");
    arguments.focus = crn_view_some_text(query, "focus");
    arguments.drops = list_items(query, "drop", drops);
    arguments.transforms = list_items(query, "transform", transforms);
    read_view(query, &arguments);
    report->path = (*file)->path;
    return transform(report, *file, &arguments.transforms) &&
           crn_report_choose(report, &arguments) == 0;
}

void crn_view_report_end(crn_report *report)
{
    for (size_t i = 0; i < report->drop_count; i++)
        crn_sequence_free(&report->drops[i]);
    crn_free(report->drops);
    crn_sequence_free(&report->focus);
}

bool crn_view_report(FILE *out, crn_view *view, const crn_view_query *query)
{
    crn_report report;
    crn_view_file *file;
    bool good = crn_view_report_begin(view, query, &report, &file);
    if (good)
        crn_report_json(out, &report);
    crn_view_report_end(&report);
    return good;
}

static void add_line(void *lines, const char *label, const char *text)
{
    json_t *line = json_object();
    json_object_set_new(line, "label", crn_json_text(label));
    json_object_set_new(line, "text", crn_json_text(text));
    json_array_append_new(lines, line);
}

json_t *crn_view_measured_json(const crn_report *report)
{
    json_t *all = json_array(), *json = json_object();
    const crn_report_lines lines = {add_line, all};
    crn_report_clocks(&lines, report->profile);
    crn_report_overhead(&lines, report->profile);
    crn_report_memory(&lines, report);
    crn_report_collector(&lines, report);
    crn_report_waiting(&lines, report->profile);
    json_object_set_new(json, "lines", all);
    json_object_set_new(
        json, "functions",
        crn_json_number(report->profile->block_count - 1 - (report->profile->folded_block != 0)));
    return json;
}

bool crn_view_measured(FILE *out, crn_view *view, const crn_view_query *query)
{
    crn_report report;
    crn_view_file *file;
    bool good = crn_view_report_begin(view, query, &report, &file);
    if (good)
        crn_json_write(out, crn_view_measured_json(&report));
    crn_view_report_end(&report);
    return good;
}

/* ---- files ---- */

static json_t *file_json(const crn_view *view, const crn_view_file *file)
{
    static const char *const states[] = {"ended", "running", "killed", "unclosed"};
    const crn_profile *profile = file->profile;
    json_t *json = json_object(), *metrics = json_array(), *warnings = json_array();
    json_object_set_new(json, "path", crn_json_text(file->path));
    json_object_set_new(json, "name", crn_json_text(crn_path_name(file->path)));
    json_object_set_new(json, "generation", crn_json_number(file->generation));
    json_object_set_new(json, "state", json_string(states[crn_view_file_state(file)]));
    for (uint32_t i = 0; i < profile->warning_count; i++)
        json_array_append_new(warnings, crn_json_text(profile->warnings[i]));
    json_object_set_new(json, "warnings", warnings);
    json_object_set_new(json, "foreign", json_boolean(file->foreign));
    json_object_set_new(json, "fleet", json_boolean(view->fleet != NULL));
    json_object_set_new(json, "spans",
                        !file->looked_at
                            ? json_null()
                            : crn_json_number(file->trace ? file->trace->span_count : 0));
    uint32_t standard = crn_metric_default(profile);
    bool uncounted = standard != CRN_METRIC_CALLS && !crn_calls_counted(profile);
    for (uint32_t m = 0; m < profile->metric_count; m++) {
        if (!file->totals[m] || (m == CRN_METRIC_CALLS && uncounted))
            continue;
        json_t *metric = json_object();
        json_object_set_new(metric, "name", crn_json_text(profile->metrics[m].name));
        json_object_set_new(metric, "unit", crn_json_text(profile->metrics[m].unit));
        json_object_set_new(metric, "total", crn_json_number(file->totals[m]));
        crn_sampling sampling = crn_sampling_of(profile, m);
        if (sampling.unit > 0)
            json_object_set_new(metric, "sampling", crn_report_sampling_json(&sampling));
        json_array_append_new(metrics, metric);
    }
    json_object_set_new(json, "metrics", metrics);
    json_object_set_new(json, "metric", crn_json_text(profile->metrics[standard].name));
    return json;
}

bool crn_view_captures(FILE *out, crn_view *view, const crn_view_query *query)
{
    (void)query;
    json_t *files = json_array();
    for (size_t i = 0; i < view->file_count; i++) {
        crn_view_file_renew(view, &view->files[i]);
        json_array_append_new(files, file_json(view, &view->files[i]));
    }
    crn_json_write(out, files);
    return true;
}

/* Answers with blocks by number, "ids=3,5". */
bool crn_view_blocks(FILE *out, crn_view *view, const crn_view_query *query)
{
    const crn_view_file *file = crn_view_file_of(view, query);
    const char *at = crn_view_text(query, "ids");
    if (!file)
        return false;
    json_t *blocks = json_array();
    while (at && *at) {
        char *end;
        unsigned long id = strtoul(at, &end, 10);
        if (end != at && id < file->profile->block_count)
            json_array_append_new(blocks, crn_json_block(file->profile, (uint32_t)id));
        at = *end ? end + 1 : end;
    }
    crn_json_write(out, blocks);
    return true;
}

/* ---- sequences ---- */

static json_t *cost_json(const crn_sequence_cost *cost)
{
    json_t *json = json_object();
    json_object_set_new(json, "calls", crn_json_number(cost->calls));
    json_object_set_new(json, "self", crn_json_number(cost->self));
    json_object_set_new(json, "inclusive", crn_json_number(cost->inclusive));
    return json;
}

/* Answers with the cost of the sequence up to each of its blocks. */
bool crn_view_steps(FILE *out, crn_view *view, const crn_view_query *query)
{
    crn_report report;
    crn_view_file *file;
    if (!crn_view_report_begin(view, query, &report, &file)) {
        crn_view_report_end(&report);
        return false;
    }
    uint8_t *kept = crn_sequence_select(report.profile, NULL, report.drops, report.drop_count);
    uint64_t *owned;
    const uint64_t *totals = crn_report_totals(&report, report.metrics[0], kept, &owned);
    json_t *steps = json_array();
    uint32_t first = report.focus.length > STEPS_MAX ? report.focus.length - STEPS_MAX : 0;
    for (uint32_t i = first; i < report.focus.length; i++) {
        crn_sequence prefix = {i + 1, report.focus.blocks};
        crn_sequence_cost cost =
            crn_sequence_measure_of(report.profile, &prefix, report.metrics[0], kept, totals);
        json_t *step = cost_json(&cost);
        json_object_set_new(step, "block", crn_json_block(report.profile, report.focus.blocks[i]));
        json_array_append_new(steps, step);
    }
    crn_free(owned);
    crn_free(kept);
    crn_json_write(out, steps);
    crn_view_report_end(&report);
    return true;
}

/* The contexts with the most self cost: a heap with the least of them on top. */
typedef struct dearest {
    const crn_profile *profile;
    uint32_t metric, count, room;
    uint32_t *heap;
} dearest;

static bool costs_less(const dearest *all, uint32_t a, uint32_t b)
{
    uint64_t left = crn_self(all->profile, all->metric, a);
    uint64_t right = crn_self(all->profile, all->metric, b);
    return left != right ? left < right : a > b;
}

static void sift_down(dearest *all, uint32_t at)
{
    for (;;) {
        uint32_t least = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < all->count; child++)
            if (costs_less(all, all->heap[child], all->heap[least]))
                least = child;
        if (least == at)
            return;
        uint32_t moved = all->heap[at];
        all->heap[at] = all->heap[least];
        all->heap[least] = moved;
        at = least;
    }
}

static void offer(dearest *all, uint32_t context)
{
    if (all->count < all->room) {
        all->heap[all->count++] = context;
        for (uint32_t at = all->count / 2; all->count == all->room && at-- > 0;)
            sift_down(all, at);
    } else if (all->room && costs_less(all, all->heap[0], context)) {
        all->heap[0] = context;
        sift_down(all, 0);
    }
}

static int compare_contexts(const void *left, const void *right, void *data)
{
    return costs_less(data, *(const uint32_t *)left, *(const uint32_t *)right) ? 1 : -1;
}

static json_t *path_json(const crn_profile *profile, uint32_t context, uint8_t *used)
{
    uint32_t path[PATH_MAX_SHOWN], length = 0;
    json_t *json = json_array();
    for (; context && length < PATH_MAX_SHOWN; context = profile->parent[context])
        path[length++] = profile->block[context];
    while (length) {
        json_array_append_new(json, crn_json_number(path[--length]));
        used[path[length]] = 1;
    }
    return json;
}

static void write_sequences(FILE *out, const dearest *all, const uint64_t *totals)
{
    const crn_profile *profile = all->profile;
    uint8_t *used = crn_calloc(profile->block_count, 1);
    fprintf(out, "{\"metric\":");
    crn_json_write(out, crn_json_text(profile->metrics[all->metric].name));
    crn_json_write_member(out, "total", crn_json_number(totals[0]));
    fputs(",\n\"sequences\":[", out);
    for (uint32_t i = 0; i < all->count; i++) {
        uint32_t c = all->heap[i];
        json_t *row = json_object();
        json_object_set_new(row, "path", path_json(profile, c, used));
        json_object_set_new(row, "calls", crn_json_number(crn_self(profile, CRN_METRIC_CALLS, c)));
        json_object_set_new(row, "self", crn_json_number(crn_self(profile, all->metric, c)));
        json_object_set_new(row, "inclusive", crn_json_number(totals[c]));
        crn_json_write_element(out, i, row);
    }
    fputs("]", out);
    crn_view_write_blocks(out, profile, used, NULL);
    fputs("}\n", out);
    crn_free(used);
}

bool crn_view_sequences(FILE *out, crn_view *view, const crn_view_query *query)
{
    crn_report report;
    crn_view_file *file;
    bool good = crn_view_report_begin(view, query, &report, &file);
    if (good) {
        uint8_t *kept = crn_report_kept(&report);
        uint64_t *owned;
        const uint64_t *totals = crn_report_totals(&report, report.metrics[0], kept, &owned);
        dearest all = {.profile = report.profile,
                       .metric = report.metrics[0],
                       .room =
                           report.top && report.top < MATCHES_SHOWN ? report.top : MATCHES_SHOWN};
        all.heap = crn_calloc((size_t)all.room + 1, sizeof *all.heap);
        for (uint32_t c = 1; c < report.profile->context_count; c++)
            if ((!kept || kept[c]) && crn_self(report.profile, all.metric, c))
                offer(&all, c);
        qsort_r(all.heap, all.count, sizeof *all.heap, compare_contexts, &all);
        write_sequences(out, &all, totals);
        crn_free(all.heap);
        crn_free(owned);
        crn_free(kept);
    }
    crn_view_report_end(&report);
    return good;
}

/* ---- search ---- */

static uint32_t match_blocks(const crn_profile *profile, const char *text, uint8_t *matches)
{
    uint32_t count = 0;
    for (uint32_t b = 1; b < profile->block_count; b++) {
        const crn_block_info *info = &profile->blocks[b];
        matches[b] = strcasestr(info->name, text) || strcasestr(info->file, text);
        count += matches[b];
    }
    return count;
}

/* Returns the self cost of all contexts with one of the blocks on their path, each counted once.
 * Sets `*self` to that of the contexts of the blocks themselves. */
static uint64_t cost_of_blocks(const crn_report *report, const uint8_t *matches,
                               const uint8_t *kept, uint64_t *self)
{
    const crn_profile *profile = report->profile;
    uint8_t *within = crn_calloc(profile->context_count, 1);
    uint64_t inclusive = *self = 0;
    for (uint32_t c = 1; c < profile->context_count; c++) {
        within[c] = within[profile->parent[c]] || matches[profile->block[c]];
        uint64_t cost = kept && !kept[c] ? 0 : crn_self(profile, report->metrics[0], c);
        inclusive += within[c] ? cost : 0;
        *self += matches[profile->block[c]] ? cost : 0;
    }
    crn_free(within);
    return inclusive;
}

static void write_match(FILE *out, const crn_report *report, const char *text)
{
    const crn_profile *profile = report->profile;
    uint8_t *matches = crn_calloc(profile->block_count, 1);
    uint8_t *kept = crn_report_kept(report);
    uint32_t count = match_blocks(profile, text, matches), shown = 0;
    uint64_t self, inclusive = cost_of_blocks(report, matches, kept, &self);
    json_t *json = json_object(), *ids = json_array();
    for (uint32_t b = 1; b < profile->block_count && shown < MATCHES_SHOWN; b++)
        if (matches[b] && ++shown)
            json_array_append_new(ids, crn_json_number(b));
    json_object_set_new(json, "count", crn_json_number(count));
    json_object_set_new(json, "self", crn_json_number(self));
    json_object_set_new(json, "inclusive", crn_json_number(inclusive));
    json_object_set_new(json, "blocks", ids);
    crn_json_write(out, json);
    crn_free(matches);
    crn_free(kept);
}

bool crn_view_match(FILE *out, crn_view *view, const crn_view_query *query)
{
    crn_report report;
    crn_view_file *file;
    const char *text = crn_view_text(query, "text");
    bool good = crn_view_report_begin(view, query, &report, &file);
    if (good)
        write_match(out, &report, text ? text : "");
    crn_view_report_end(&report);
    return good;
}
