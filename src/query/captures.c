/* SPDX-License-Identifier: MIT */
#include "query/captures.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/cairn.h>

#include "base/memory.h"
#include "profile/profile.h"

/* Limits on attribute columns. SQLite allows 2,000 columns a table, and the table's declaration,
 * which doubles quotes in names, must fit into SQL_MAX (query.c). */
enum { COLUMN_KEYS_MAX = 1000, COLUMN_NAME_MAX = 256, COLUMN_NAMES_MAX = 256 << 10 };

/* ---- blocks ---- */

static size_t describe(char **text, const crn_block_info *info)
{
    char *made = NULL;
    int size = asprintf(&made, "%s\n%s\n%u\n%u", info->name, info->file, info->line, info->column);
    *text = size < 0 ? crn_strdup("") : made;
    return strlen(*text);
}

/* Maps the recorded profile's blocks, to which spans refer, to the shown profile's; unknown blocks
 * to the root. */
static void map_blocks(crn_query_capture *capture, const crn_profile *recorded)
{
    const crn_profile *profile = capture->profile;
    capture->block_limit = recorded->block_count;
    capture->blocks = crn_calloc(recorded->block_count, sizeof *capture->blocks);
    for (uint32_t b = 0; b < recorded->block_count && recorded == profile; b++)
        capture->blocks[b] = b;
    if (recorded == profile)
        return;
    crn_interning *known = crn_interning_new();
    uint32_t *first = crn_calloc(profile->block_count, sizeof *first), count = 0;
    char *text;
    for (uint32_t b = 0; b < profile->block_count; b++) {
        size_t size = describe(&text, &profile->blocks[b]);
        uint32_t number = crn_intern_number(known, text, size);
        if (number == count)
            first[count++] = b;
        crn_free(text);
    }
    for (uint32_t b = 0; b < recorded->block_count; b++) {
        size_t size = describe(&text, &recorded->blocks[b]);
        uint32_t number = crn_intern_number(known, text, size);
        capture->blocks[b] = number < count ? first[number] : 0;
        crn_free(text);
    }
    crn_free(first);
    crn_interning_free(known);
}

typedef struct named {
    const char *name;
    uint32_t capture, block;
} named;

static int compare_names(const void *left, const void *right)
{
    return strcmp(((const named *)left)->name, ((const named *)right)->name);
}

static void rank_names(crn_query *query)
{
    uint32_t count = 0, at = 0;
    for (uint32_t i = 0; i < query->count; i++)
        count += query->captures[i].profile->block_count;
    named *names = crn_calloc(count, sizeof *names);
    for (uint32_t i = 0; i < query->count; i++) {
        crn_query_capture *capture = &query->captures[i];
        uint32_t blocks = capture->profile->block_count;
        capture->name_size = crn_calloc(blocks, sizeof *capture->name_size);
        capture->name_rank = crn_calloc(blocks, sizeof *capture->name_rank);
        for (uint32_t b = 0; b < blocks; b++) {
            size_t size = strlen(capture->profile->blocks[b].name);
            capture->name_size[b] = size < INT_MAX ? (int)size : INT_MAX;
            names[at++] = (named){capture->profile->blocks[b].name, i, b};
        }
    }
    qsort(names, count, sizeof *names, compare_names);
    for (uint32_t i = 0, rank = 0; i < count; i++) {
        rank += i && strcmp(names[i - 1].name, names[i].name) != 0;
        query->captures[names[i].capture].name_rank[names[i].block] = rank;
    }
    crn_free(names);
}

/* ---- attribute keys ---- */

/* Returns the column name of a key: "width", or "attribute_id" as `spans` has a column "id".
 * Returns NULL if the name is taken or longer than the space left. */
static char *choose_column(const crn_query *query, const char *key, size_t left)
{
    size_t size = strlen(key) + sizeof "attribute_";
    if (size - sizeof "attribute_" > COLUMN_NAME_MAX || size > left)
        return NULL;
    char *name = crn_calloc(size, 1);
    snprintf(name, size, "%s%s", crn_spans_has_column(key) ? "attribute_" : "", key);
    bool free = *key && !crn_spans_has_column(name);
    for (uint32_t k = 0; k < query->column_keys && free; k++)
        free = sqlite3_stricmp(query->key_columns[k], name) != 0;
    if (free)
        return name;
    crn_free(name);
    return NULL;
}

/* Numbers the distinct names of keys, those with columns first. */
static void name_keys(crn_query *query)
{
    uint32_t most = 0, count = 0, rest = 0;
    for (uint32_t i = 0; i < query->count; i++)
        most += query->captures[i].store->key_count;
    crn_interning *known = crn_interning_new();
    const char **all = crn_calloc(most, sizeof *all);
    query->key_of = crn_calloc(query->count, sizeof *query->key_of);
    for (uint32_t i = 0; i < query->count; i++) {
        const crn_span_store *store = query->captures[i].store;
        query->key_of[i] = crn_calloc(store->key_count, sizeof **query->key_of);
        for (uint32_t k = 0; k < store->key_count; k++) {
            uint32_t number = crn_intern_number(known, store->keys[k], strlen(store->keys[k]));
            if (number == count)
                all[count++] = store->keys[k];
            query->key_of[i][k] = number;
        }
    }
    crn_interning_free(known);
    query->key_count = count;
    query->keys = crn_calloc(count, sizeof *query->keys);
    query->key_columns = crn_calloc(count, sizeof *query->key_columns);
    uint32_t *place = crn_calloc(count, sizeof *place);
    size_t left = COLUMN_NAMES_MAX;
    for (uint32_t k = 0; k < count; k++) {
        char *name =
            query->column_keys < COLUMN_KEYS_MAX ? choose_column(query, all[k], left) : NULL;
        place[k] = name ? query->column_keys : UINT32_MAX;
        if (!name)
            continue;
        left -= strlen(name);
        query->key_columns[query->column_keys++] = name;
    }
    for (uint32_t k = 0; k < count; k++) {
        if (place[k] == UINT32_MAX)
            place[k] = query->column_keys + rest++;
        query->keys[place[k]] = all[k];
    }
    for (uint32_t i = 0; i < query->count; i++)
        for (uint32_t k = 0; k < query->captures[i].store->key_count; k++)
            query->key_of[i][k] = place[query->key_of[i][k]];
    crn_free((void *)all);
    crn_free(place);
}

/* ---- entry ---- */

static bool open_capture(crn_query_capture *capture, const crn_query_file *file, crn_error *error)
{
    static const crn_trace no_spans;
    const crn_trace *trace = file->path ? file->trace : &no_spans;
    capture->path = file->path;
    capture->store = file->store;
    if (!capture->store)
        capture->store = capture->own_store =
            trace ? crn_store_of(trace) : crn_store_open(file->path, error);
    capture->profile = file->profile;
    if (!file->profile && capture->store)
        capture->profile = capture->own = crn_profile_load(file->path, error);
    if (!capture->profile || !capture->store)
        return false;
    map_blocks(capture, file->recorded ? file->recorded : capture->profile);
    return true;
}

static uint32_t *first_id(crn_query_capture *capture, size_t offset)
{
    return (uint32_t *)(void *)((char *)capture + offset);
}

/* Computes the first ids of the next capture. Fails if ids exceed 32 bits. */
static bool count_ids(crn_query_capture *next, crn_query_capture *capture, crn_error *error)
{
    const crn_profile *profile = capture->profile;
    const crn_span_store *store = capture->store;
    const struct {
        size_t id; /* offset of the kind's first id in crn_query_capture */
        uint64_t count;
    } kinds[] = {
#define KIND(id, count) {offsetof(crn_query_capture, id), (count)}
        KIND(span, store->count),
        KIND(block, profile->block_count),
        KIND(context, profile->context_count),
        KIND(lane, store->lane_count),
        KIND(edge, profile->edge_count + (uint64_t)profile->context_count - 1),
        KIND(span_edge, store->edge_count + (uint64_t)store->move_count),
        KIND(attribute, store->attribute_count),
        KIND(counter, store->counter_count),
        KIND(event, store->event_count),
        KIND(off_core, store->off_core_count),
        KIND(sample, store->samples.count),
        KIND(note, profile->note_count),
        KIND(metric, profile->metric_count),
#undef KIND
    };
    uint64_t largest = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        uint64_t sum = *first_id(capture, kinds[i].id) + kinds[i].count;
        largest = sum > largest ? sum : largest;
        *first_id(next, kinds[i].id) = (uint32_t)sum;
    }
    if (largest < UINT32_MAX)
        return true;
    return crn_error_set(error, CAIRN_E_LIMIT,
                         "%s: more than 4,294,967,294 rows in all; query fewer captures at once",
                         capture->path);
}

bool crn_captures_open(crn_query *query, const crn_query_file *files, uint32_t count,
                       crn_error *error)
{
    /* The extra entry has the ends of all ids. */
    query->captures = crn_calloc(count + (size_t)1, sizeof *query->captures);
    for (uint32_t i = 0; i < count; i++, query->count++)
        if (!open_capture(&query->captures[i], &files[i], error) ||
            !count_ids(&query->captures[i + 1], &query->captures[i], error)) {
            query->count = i + 1;
            return false;
        }
    query->spans = query->captures[count].span;
    rank_names(query);
    name_keys(query);
    return true;
}

void crn_captures_close(crn_query *query)
{
    for (uint32_t i = 0; i < query->count; i++) {
        crn_query_capture *capture = &query->captures[i];
        for (int m = 0; m < CRN_METRIC_MAX; m++)
            crn_free(capture->costs.inclusive[m]);
        crn_free(capture->costs.depth);
        crn_free(capture->blocks);
        crn_captures_summary_free(capture);
        crn_free(capture->block_costs);
        crn_free(capture->lanes);
        crn_free(capture->sample_spans);
        crn_free(capture->name_size);
        crn_free(capture->name_rank);
        crn_call_graph_free(&capture->graph);
        crn_block_cost_free(&capture->cost);
        crn_stack_free(&capture->stack);
        crn_store_close(capture->own_store);
        crn_profile_free(capture->own);
        if (query->key_of)
            crn_free(query->key_of[i]);
    }
    for (uint32_t k = 0; k < query->column_keys; k++) {
        crn_free(query->key_columns[k]);
        for (uint32_t i = 0; query->key_orders && i < query->count; i++)
            if (query->key_orders[k].ranks)
                crn_free(query->key_orders[k].ranks[i]);
        if (query->key_orders)
            crn_free(query->key_orders[k].ranks);
    }
    crn_free(query->key_orders);
    crn_free(query->key_of);
    crn_free(query->key_columns);
    crn_free((void *)query->keys);
    crn_free(query->captures);
}

const crn_query_capture *crn_captures_of(const crn_query *query, size_t first, uint32_t id)
{
    uint32_t at = 0;
    while (at + 1 < query->count &&
           *(const uint32_t *)(const void *)((const char *)&query->captures[at + 1] + first) <= id)
        at++;
    return &query->captures[at];
}

void crn_captures_costs(const crn_query_capture *capture)
{
    const crn_profile *profile = capture->profile;
    crn_query_costs *costs = (crn_query_costs *)&capture->costs; /* computed on first use */
    if (costs->depth)
        return;
    costs->depth = crn_calloc(profile->context_count, sizeof *costs->depth);
    for (uint32_t c = 1; c < profile->context_count; c++)
        costs->depth[c] = costs->depth[profile->parent[c]] + 1;
    for (uint32_t m = 0; m < profile->metric_count; m++)
        if (profile->values[m])
            costs->inclusive[m] = crn_totals(profile, m, NULL);
}

void crn_captures_block_costs(const crn_query_capture *asked)
{
    static const uint32_t metrics[] = {CRN_METRIC_TICKS, CRN_METRIC_WALL, CRN_METRIC_CPU};
    crn_query_capture *capture = (crn_query_capture *)asked; /* computed on first use */
    const crn_profile *profile = capture->profile;
    if (capture->block_costs)
        return;
    crn_cost_row *rows = crn_calloc(profile->block_count, sizeof *rows);
    for (uint32_t c = 0; c < profile->context_count; c++) {
        rows[profile->block[c]].calls += crn_self(profile, CRN_METRIC_CALLS, c);
        rows[profile->block[c]].contexts++;
    }
    for (int m = 0; m < 3; m++) {
        if (!profile->values[metrics[m]])
            continue;
        crn_block_cost cost = crn_block_cost_make(profile, metrics[m], NULL);
        for (uint32_t b = 0; b < profile->block_count; b++) {
            rows[b].self[m] = cost.self[b];
            rows[b].inclusive[m] = cost.inclusive[b];
        }
        crn_block_cost_free(&cost);
    }
    capture->block_costs = rows;
}
