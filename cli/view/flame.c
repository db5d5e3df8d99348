/* SPDX-License-Identifier: MIT
 *
 * Flame graphs: boxes wide enough to be seen, from any context on. Each box has the number and cost
 * of its callees that are too narrow.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/common/json.h"
#include "profile/profile.h"
#include "view.h"

enum { WIDTH_DEFAULT = 1600, WIDTH_MAX = 20000, ROWS_MAX = 60000, DEPTH_MAX = 512 };
enum { UPSIDE_DOWN_PARTS = 20000 }; /* the total divided by this is the least cost followed */

/* ---- the part that is shown ---- */

/* Returns the key under which the part is cached: all that it depends on, unambiguously. */
static char *key_of(const crn_report *report, const crn_view_file *file, bool upside_down)
{
    char *key = NULL;
    size_t size = 0;
    FILE *text = open_memstream(&key, &size);
    if (!text)
        return NULL;
    fprintf(text, "%u %u %d %s", file->generation, report->metrics[0], upside_down,
            report->profile == file->profile ? "" : file->transformed.key);
    for (uint32_t i = 0; i < report->focus.length; i++)
        fprintf(text, " %u", report->focus.blocks[i]);
    for (size_t d = 0; d < report->drop_count; d++)
        for (uint32_t i = 0; i < report->drops[d].length; i++)
            fprintf(text, "%s%u", i ? " " : " -", report->drops[d].blocks[i]);
    fclose(text);
    char *copy = crn_strdup(key ? key : "");
    free(key);
    return copy;
}

static void part_make(crn_view_part *part, const crn_report *report, bool upside_down)
{
    const crn_profile *profile = report->profile;
    uint32_t metric = report->metrics[0];
    uint8_t *kept = crn_sequence_select(profile, NULL, report->drops, report->drop_count);
    part->metric = metric;
    part->upside_down = upside_down;
    if (upside_down && report->focused)
        part->owned = crn_sequence_above(profile, &report->focus, metric, kept);
    else if (upside_down)
        part->owned = crn_bottom_up(profile, metric, kept,
                                    crn_report_total(report, metric) / UPSIDE_DOWN_PARTS);
    else if (report->focused)
        part->owned = crn_sequence_below(profile, &report->focus, kept);
    part->profile = part->owned ? part->owned : profile;
    if (part->owned) {
        part->blocks = crn_view_numbers_of(profile, part->owned);
        crn_free(kept);
    } else {
        part->kept = kept;
    }
    if (part->owned)
        part->totals = part->owned_totals = crn_totals(part->owned, metric, NULL);
    else
        part->totals = crn_report_totals(report, metric, part->kept, &part->owned_totals);
}

const crn_view_part *crn_view_part_of(crn_view *view, const crn_view_query *query,
                                      crn_view_file **file)
{
    crn_report report;
    uint64_t upside_down;
    bool good = crn_view_report_begin(view, query, &report, file) &&
                crn_view_number(query, "callers", 0, 1, &upside_down);
    if (good) {
        char *key = key_of(&report, *file, upside_down);
        crn_view_part *part = &(*file)->part;
        if (!part->key || !key || strcmp(part->key, key) != 0) {
            crn_view_part_clear(part);
            part_make(part, &report, upside_down);
            part->key = key;
        } else {
            crn_free(key);
        }
        if (!part->owned_totals) /* another metric's totals may have replaced the cached ones */
            part->totals = crn_figure_cache_totals(report.known, part->metric);
    }
    crn_view_report_end(&report);
    return good ? &(*file)->part : NULL;
}

/* ---- boxes ---- */

typedef struct boxes {
    const crn_view_part *part;
    const crn_profile *profile;
    uint64_t least;          /* cost from which a context gets a row */
    uint32_t *row_of;        /* by context: its row + 1; 0: not shown */
    uint32_t *contexts;      /* by row */
    uint16_t *depths;        /* by row */
    uint64_t *cycles, *rest; /* by row: calls that came back; cost of callees without a row */
    uint32_t *rest_count;    /* by row: number of callees without a row */
    uint32_t count, room;
    uint32_t *numbers; /* by row: its number in the output + 1; 0: too deep */
    uint8_t *used;     /* by block: 1 if a box shows it */
    uint8_t *always;   /* by block: 1 if shown however narrow; NULL: none */
} boxes;

/* Returns the context's cost in the run before, scaled for the comparison. */
static uint64_t before_of(const crn_view_part *part, uint32_t context)
{
    double scaled = (double)part->others[context] * part->scale;
    return part->scale == 1 ? part->others[context] : (uint64_t)(scaled + 0.5);
}

/* Returns the width of a box: the cost; of a difference, the larger one. */
static uint64_t size_of(const crn_view_part *part, uint32_t context)
{
    uint64_t size = part->totals[context], before = part->others ? before_of(part, context) : 0;
    return before > size ? before : size;
}

/* Returns true if both costs differ, but by no more than sampling two equal runs could cause. */
static bool is_chance(const crn_view_part *part, uint32_t context)
{
    const uint64_t values[] = {before_of(part, context), part->totals[context]};
    return values[0] != values[1] &&
           crn_sampling_within_chance(part->sampling, values, CRN_INTERVAL_Z);
}

/* Returns, by block, 1 if it stands for something unknown ([missing], [folded]) and is shown
 * however narrow. NULL without such a block. */
static uint8_t *always_of(const crn_profile *profile)
{
    uint8_t *always = NULL;
    for (uint32_t b = 1; b < profile->block_count; b++) {
        if (b != profile->folded_block && strcmp(profile->blocks[b].name, "[missing]") != 0)
            continue;
        if (!always)
            always = crn_calloc(profile->block_count, 1);
        always[b] = 1;
    }
    return always;
}

static bool is_always_shown(const boxes *all, uint32_t context)
{
    return all->always && all->always[all->profile->block[context]];
}

static void put_row(boxes *all, uint32_t context, uint16_t depth)
{
    if (all->count == all->room) {
        all->room = all->room ? all->room * 2 : 1024;
        all->contexts = crn_realloc(all->contexts, all->room, sizeof *all->contexts);
        all->depths = crn_realloc(all->depths, all->room, sizeof *all->depths);
        all->rest = crn_realloc(all->rest, all->room, sizeof *all->rest);
        all->rest_count = crn_realloc(all->rest_count, all->room, sizeof *all->rest_count);
    }
    all->contexts[all->count] = context;
    all->depths[all->count] = depth;
    all->rest[all->count] = all->rest_count[all->count] = 0;
    all->row_of[context] = ++all->count;
}

/* Returns, by context below `root`, 1 if it is always shown or has a context below it that is; NULL
 * if no block is always shown. Free it with crn_free. */
static uint8_t *held_of(const boxes *all, uint32_t root)
{
    const crn_profile *profile = all->profile;
    if (!all->always)
        return NULL;
    uint8_t *held = crn_calloc(profile->context_count, 1);
    for (uint32_t c = profile->context_count - 1; c > root; c--)
        if (held[c] || (is_always_shown(all, c) && size_of(all->part, c)))
            held[c] = held[profile->parent[c]] = 1;
    return held;
}

/* Chooses the contexts that get a row, and sums up the others. */
static void choose_rows(boxes *all, uint32_t root)
{
    const crn_profile *profile = all->profile;
    uint8_t *held = held_of(all, root);
    put_row(all, root, 0);
    for (uint32_t c = root + 1; c < profile->context_count; c++) {
        uint32_t above = all->row_of[profile->parent[c]];
        uint64_t size = above ? size_of(all->part, c) : 0;
        if (!size)
            continue;
        if ((size >= all->least || (held && held[c])) && all->count < ROWS_MAX &&
            all->depths[above - 1] < DEPTH_MAX) {
            put_row(all, c, (uint16_t)(all->depths[above - 1] + 1));
        } else {
            all->rest[above - 1] += size;
            all->rest_count[above - 1]++;
        }
    }
    crn_free(held);
}

/* Returns the depth of the picture. */
static uint32_t levels_of(const boxes *all)
{
    uint32_t levels = 0;
    for (uint32_t row = 0; row < all->count; row++) {
        uint32_t its = all->depths[row] + 1u + (all->rest_count[row] > 0);
        levels = its > levels ? its : levels;
    }
    return levels;
}

/* Numbers the rows. Leaves out those at `levels` or deeper, except contexts that are always shown
 * and their ancestors. */
static void number_rows(boxes *all, uint32_t levels)
{
    const crn_profile *profile = all->profile;
    all->numbers = crn_calloc(all->count, sizeof *all->numbers);
    for (uint32_t row = all->count; row-- > 0;) {
        uint32_t c = all->contexts[row];
        if (all->depths[row] < levels || is_always_shown(all, c))
            all->numbers[row] = 1;
        if (all->numbers[row] && row)
            all->numbers[all->row_of[profile->parent[c]] - 1] = 1;
    }
    for (uint32_t row = 0, number = 0; row < all->count; row++) {
        if (!all->numbers[row])
            continue;
        all->numbers[row] = ++number;
        all->used[profile->block[all->contexts[row]]] = 1;
    }
}

/* Counts, by row, the calls that came back over cycles. */
static void count_cycles(boxes *all)
{
    const crn_profile *profile = all->profile;
    all->cycles = crn_calloc(all->count, sizeof *all->cycles);
    for (uint32_t e = 0; e < profile->edge_count && !all->part->upside_down; e++) {
        const crn_profile_edge *edge = &profile->edges[e];
        uint32_t row = all->row_of[edge->target];
        if (row && !edge->folded && (!all->part->kept || all->part->kept[edge->target]))
            all->cycles[row - 1] += edge->calls;
    }
}

static uint32_t number_of(const crn_view_part *part, uint32_t context)
{
    uint32_t block = part->profile->block[context];
    return part->blocks ? part->blocks[block] : block;
}

/* Appends a comma and a number. Faster than printf: there are hundreds of thousands. */
static char *put_number(char *at, uint64_t number)
{
    char digits[20];
    unsigned count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
    } while (number /= 10);
    *at++ = ',';
    while (count)
        *at++ = digits[--count];
    return at;
}

static void write_row(FILE *out, const boxes *all, uint32_t row)
{
    char text[256], *at = text;
    const crn_view_part *part = all->part;
    const crn_profile *profile = all->profile;
    uint32_t c = all->contexts[row];
    bool counts = !part->upside_down && (!part->kept || part->kept[c]);
    at += sprintf(at, row ? ",\n[%" PRId64 : "\n[%" PRId64,
                  row ? (int64_t)all->numbers[all->row_of[profile->parent[c]] - 1] - 1 : -1);
    at = put_number(at, c);
    at = put_number(at, number_of(part, c));
    at = put_number(at, part->totals[c]);
    at = put_number(at, counts ? crn_self(profile, part->metric, c) : 0);
    at = put_number(at, counts ? crn_self(profile, CRN_METRIC_CALLS, c) : 0);
    at = put_number(at, all->cycles[row]);
    at = put_number(at, all->rest_count[row]);
    at = put_number(at, all->rest[row]);
    if (part->others) {
        at = put_number(at, part->others[c]);
        at = put_number(at, is_chance(part, c));
    }
    *at++ = ']';
    fwrite(text, 1, (size_t)(at - text), out);
}

/* Returns the context at the end of a path of blocks from the root, "12.7.93", followed as far as
 * it exists: another metric or filter may lack a zoomed context. */
static uint32_t follow(const crn_view_part *part, const char *path)
{
    uint32_t at = 0;
    char *end;
    unsigned long wanted = strtoul(path, &end, 10);
    for (uint32_t c = 1; end != path && c < part->profile->context_count; c++) {
        if (part->profile->parent[c] != at || number_of(part, c) != wanted || !size_of(part, c))
            continue;
        at = c;
        path = *end == '.' ? end + 1 : end;
        wanted = strtoul(path, &end, 10);
    }
    return at;
}

/* Writes the path to the zoomed box: its nearest ancestors with costs, and the blocks of the whole
 * path. */
static void write_above(FILE *out, boxes *all, uint32_t root)
{
    enum { MOST = 64 };
    const crn_profile *profile = all->profile;
    uint32_t length = 0, at = 0;
    for (uint32_t c = root; c; c = profile->parent[c])
        length++;
    uint32_t *path = crn_calloc((size_t)length + 1, sizeof *path);
    for (uint32_t c = root, i = length; c; c = profile->parent[c])
        path[i--] = c; /* path[0] is the root */
    fputs(",\n\"above\":[", out);
    for (uint32_t i = length > MOST ? length - MOST : 0; i < length; i++) {
        all->used[profile->block[path[i]]] = 1;
        fprintf(out, "%s[%u,%u,%" PRIu64 "]", at++ ? "," : "", path[i],
                number_of(all->part, path[i]), all->part->totals[path[i]]);
    }
    fputs("],\n\"zoom\":[", out);
    for (uint32_t i = 1; i <= length; i++)
        fprintf(out, "%s%u", i > 1 ? "," : "", number_of(all->part, path[i]));
    putc(']', out);
    crn_free(path);
}

static void write_boxes(FILE *out, const crn_view_part *part, uint32_t root, uint32_t width,
                        uint32_t levels)
{
    boxes all = {.part = part, .profile = part->profile};
    const crn_metric_info *metric = &all.profile->metrics[part->metric];
    all.row_of = crn_calloc(all.profile->context_count, sizeof *all.row_of);
    all.used = crn_calloc(all.profile->block_count, 1);
    all.always = always_of(all.profile);
    all.least = size_of(part, root) / width;
    choose_rows(&all, root);
    count_cycles(&all);
    number_rows(&all, levels ? levels : UINT32_MAX);
    fputs("{\"metric\":", out);
    crn_json_write(out, crn_json_text(metric->name));
    crn_json_write_member(out, "unit", crn_json_text(metric->unit));
    crn_json_write_member(out, "total", crn_json_number(part->totals[0]));
    if (part->others) {
        crn_json_write_member(out, "before", crn_json_number(part->others[0]));
        crn_json_write_member(out, "scale", json_real(part->scale));
    }
    crn_json_write_member(out, "callers", json_boolean(part->upside_down));
    fputs(",\n\"columns\":[\"parent\",\"context\",\"block\",\"inclusive\",\"self\",\"calls\","
          "\"cycles\",\"narrow\",\"narrow_cost\"",
          out);
    fputs(part->others ? ",\"before\",\"chance\"],\n\"rows\":[" : "],\n\"rows\":[", out);
    for (uint32_t row = 0; row < all.count; row++)
        if (all.numbers[row])
            write_row(out, &all, row);
    fputs("]", out);
    if (levels) {
        crn_json_write_member(out, "levels", crn_json_number(levels_of(&all)));
        crn_json_write_member(out, "asked", crn_json_number(levels));
    }
    write_above(out, &all, root);
    crn_view_write_blocks(out, all.profile, all.used, part->blocks);
    fputs("}\n", out);
    crn_free(all.row_of);
    crn_free(all.contexts);
    crn_free(all.depths);
    crn_free(all.cycles);
    crn_free(all.rest);
    crn_free(all.rest_count);
    crn_free(all.numbers);
    crn_free(all.used);
    crn_free(all.always);
}

bool crn_view_write_part(FILE *out, const crn_view_part *part, const crn_view_query *query)
{
    uint64_t root, width, levels;
    if (!part || !crn_view_number(query, "root", 0, UINT32_MAX, &root) ||
        !crn_view_number(query, "width", WIDTH_DEFAULT, WIDTH_MAX, &width) ||
        !crn_view_number(query, "levels", 0, DEPTH_MAX + 2, &levels))
        return false;
    if (root >= part->profile->context_count) {
        crn_cli_fail("there is no context %llu", (unsigned long long)root);
        return false;
    }
    const char *zoom = crn_view_text(query, "zoom");
    if (zoom && *zoom)
        root = follow(part, zoom);
    write_boxes(out, part, (uint32_t)root, width ? (uint32_t)width : 1, (uint32_t)levels);
    return true;
}

bool crn_view_flame(FILE *out, crn_view *view, const crn_view_query *query)
{
    crn_view_file *file;
    return crn_view_write_part(out, crn_view_part_of(view, query, &file), query);
}
