/* SPDX-License-Identifier: MIT
 *
 * The call graph of the shown part, and sources with costs by block.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/order.h"
#include "cli/common/cli.h"
#include "cli/common/json.h"
#include "cli/common/source_text.h"
#include "profile/profile.h"
#include "view.h"

/* ---- call graph ---- */

enum { NODES_DEFAULT = 40, NODES_MAX = 200, ARROWS_PER_NODE = 4 };

typedef struct node_order {
    const crn_block_cost *cost;
} node_order;

static int compare_nodes(const void *left, const void *right, void *data)
{
    const crn_block_cost *cost = ((const node_order *)data)->cost;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return CRN_ORDER(cost->inclusive[b], cost->inclusive[a]) ?: CRN_ORDER(a, b);
}

static json_t *node_json(const crn_report *report, const crn_block_cost *cost,
                         const crn_block_cost *calls, uint32_t block)
{
    json_t *json = json_object();
    json_object_set_new(json, "block", crn_json_block(report->profile, block));
    json_object_set_new(json, "calls", crn_json_number(calls->self[block]));
    json_object_set_new(json, "self", crn_json_number(cost->self[block]));
    json_object_set_new(json, "inclusive", crn_json_number(cost->inclusive[block]));
    return json;
}

static json_t *arrows_json(const crn_call_graph *graph, uint32_t most)
{
    json_t *arrows = json_array();
    for (uint32_t i = 0; i < graph->count && json_array_size(arrows) < most; i++) {
        const crn_call_arrow *arrow = &graph->arrows[i];
        json_t *json = json_object();
        json_object_set_new(json, "caller", crn_json_number(arrow->caller));
        json_object_set_new(json, "callee", crn_json_number(arrow->callee));
        json_object_set_new(json, "calls", crn_json_number(arrow->calls));
        json_object_set_new(json, "inclusive", crn_json_number(arrow->inclusive));
        json_array_append_new(arrows, json);
    }
    return arrows;
}

static void write_graph(FILE *out, const crn_report *report, uint32_t most)
{
    const crn_profile *profile = report->profile;
    uint8_t *kept = crn_report_kept(report);
    crn_block_cost cost = crn_report_cost(report, report->metrics[0], kept);
    crn_block_cost calls = crn_report_cost(report, CRN_METRIC_CALLS, kept);
    uint32_t *blocks = crn_calloc(profile->block_count, sizeof *blocks), count = 0;
    uint8_t *shown = crn_calloc(profile->block_count, 1);
    for (uint32_t b = 1; b < profile->block_count; b++)
        if (cost.inclusive[b])
            blocks[count++] = b;
    node_order order = {&cost};
    qsort_r(blocks, count, sizeof *blocks, compare_nodes, &order);
    uint32_t drawn = count < most ? count : most;
    json_t *json = json_object(), *nodes = json_array();
    for (uint32_t i = 0; i < drawn; i++) {
        shown[blocks[i]] = 1;
        json_array_append_new(nodes, node_json(report, &cost, &calls, blocks[i]));
    }
    uint64_t *owned;
    const uint64_t *totals = crn_report_totals(report, report->metrics[0], kept, &owned);
    crn_call_graph graph = crn_call_graph_of(profile, kept, shown, totals);
    crn_free(owned);
    json_object_set_new(json, "metric", crn_json_text(profile->metrics[report->metrics[0]].name));
    json_object_set_new(json, "total", crn_json_number(cost.total));
    json_object_set_new(json, "hidden", crn_json_number(count - drawn));
    json_object_set_new(json, "nodes", nodes);
    json_object_set_new(json, "arrows", arrows_json(&graph, drawn * ARROWS_PER_NODE));
    crn_json_write(out, json);
    crn_free(blocks);
    crn_free(shown);
    crn_free(kept);
    crn_block_cost_free(&cost);
    crn_block_cost_free(&calls);
    crn_call_graph_free(&graph);
}

bool crn_view_graph(FILE *out, crn_view *view, const crn_view_query *query)
{
    crn_report report;
    crn_view_file *file;
    uint64_t most;
    bool good = crn_view_report_begin(view, query, &report, &file) &&
                crn_view_number(query, "nodes", NODES_DEFAULT, NODES_MAX, &most);
    if (good)
        write_graph(out, &report, (uint32_t)most);
    crn_view_report_end(&report);
    return good;
}

/* ---- sources ---- */

/* Returns true if `path`, resolved, is below a folder whose files may be shown. */
static bool is_below(const crn_view *view, const char *path)
{
    for (size_t i = 0; i < view->source_count; i++) {
        size_t length = strlen(view->sources[i]);
        if (strncmp(view->sources[i], "/", 2) == 0)
            return true;
        if (strncmp(path, view->sources[i], length) == 0 && path[length] == '/')
            return true;
    }
    return false;
}

/* Returns the path of the file that a capture calls `name`. A capture can name any file, so only
 * files below the given folders are found; otherwise returns NULL and a reason. */
static char *source_find(const crn_view *view, const char *name, const char **reason)
{
    char path[PATH_MAX];
    *reason = "it is not below a folder of --source";
    for (size_t i = 0; i < view->source_count; i++) {
        int size = *name == '/' ? snprintf(path, sizeof path, "%s", name)
                                : snprintf(path, sizeof path, "%s/%s", view->sources[i], name);
        if (size < 0 || (size_t)size >= sizeof path)
            continue;
        char *real = realpath(path, NULL);
        if (real && is_below(view, real))
            return real;
        if (!real && errno == ENOENT)
            *reason = "the file does not exist; --source names the folder of the sources";
        free(real);
    }
    return NULL;
}

char *crn_view_source_text(const crn_view *view, const char *name, size_t *size,
                           const char **reason)
{
    char *path = source_find(view, name, reason);
    char *text = path ? crn_source_text(path, size, reason) : NULL;
    free(path);
    return text;
}

static json_t *lines_json(char *text, size_t size)
{
    json_t *lines = json_array();
    for (size_t i = 0; i < size; i++)
        if (!text[i])
            text[i] = '?';
    for (char *line = text, *end; *line; line = end) {
        end = strchrnul(line, '\n');
        char *next = *end ? end + 1 : end;
        *end = 0;
        json_array_append_new(lines, crn_json_text(line));
        end = next;
    }
    return lines;
}

/* Returns the file's blocks with their costs. */
static json_t *costs_json(const crn_report *report, const char *name)
{
    const crn_profile *profile = report->profile;
    uint8_t *kept = crn_report_kept(report);
    crn_block_cost cost = crn_report_cost(report, report->metrics[0], kept);
    crn_block_cost calls = crn_report_cost(report, CRN_METRIC_CALLS, kept);
    json_t *rows = json_array();
    for (uint32_t b = 1; b < profile->block_count; b++)
        if (strcmp(profile->blocks[b].file, name) == 0)
            json_array_append_new(rows, node_json(report, &cost, &calls, b));
    crn_block_cost_free(&cost);
    crn_block_cost_free(&calls);
    crn_free(kept);
    return rows;
}

bool crn_view_source(FILE *out, crn_view *view, const crn_view_query *query)
{
    crn_report report;
    crn_view_file *file;
    uint64_t block;
    bool good = crn_view_report_begin(view, query, &report, &file) &&
                crn_view_number(query, "block", 0, UINT32_MAX, &block);
    if (good && block >= report.profile->block_count) {
        crn_cli_fail("there is no block %llu", (unsigned long long)block);
        good = false;
    }
    if (good) {
        const char *name = report.profile->blocks[block].file, *reason = NULL;
        size_t size = 0;
        char *text = *name ? crn_view_source_text(view, name, &size, &reason) : NULL;
        json_t *json = json_object();
        json_object_set_new(json, "file", crn_json_text(name));
        json_object_set_new(json, "lines", text ? lines_json(text, size) : json_null());
        if (!text)
            json_object_set_new(json, "reason",
                                json_string(*name ? reason : "the file of this block is unknown"));
        json_object_set_new(json, "blocks", costs_json(&report, name));
        crn_json_write(out, json);
        crn_free(text);
    }
    crn_view_report_end(&report);
    return good;
}
