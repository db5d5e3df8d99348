/* SPDX-License-Identifier: MIT
 *
 * Sends blocks, contexts, figures and edges.
 *
 * Contexts are divided into parts by the first bits of their ids. The list of a part's contexts is
 * its *shape*, and figures are an array of values for each shape and metric. Runs with the same
 * contexts share their shapes, so a second run adds only values.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "fleet/pushing.h"
#include "fleet/sql.h"

/* Limit on names in the column `path`, the innermost ones: whole paths of deep stacks would have
 * quadratic size. */
enum { PATH_MAX_NAMES = 32, PARTS_ASKED = 1024 };

/* Contexts in the order of their ids, and where each part begins. */
typedef struct parts {
    uint32_t *order, *first; /* first: index into order by part, and the end */
    crn_fleet_id *shapes;
    bool *known; /* by part: its shape, and so its contexts, need not be sent */
} parts;

static int by_id(const void *one, const void *other, void *data)
{
    const crn_fleet_id *ids = data;
    return memcmp(&ids[*(const uint32_t *)one], &ids[*(const uint32_t *)other], sizeof *ids);
}

static uint32_t part_of(const crn_pushing *pushing, const crn_fleet_id *id)
{
    uint32_t bits = (uint32_t)id->bytes[0] << 8 | id->bytes[1];
    return bits >> (16 - pushing->level);
}

static uint32_t part_count(const crn_pushing *pushing)
{
    return UINT32_C(1) << pushing->level;
}

static void parts_make(parts *parts, const crn_pushing *pushing)
{
    uint32_t count = pushing->profile->context_count, of = part_count(pushing);
    parts->order = crn_calloc(count, sizeof *parts->order);
    parts->first = crn_calloc(of + 1, sizeof *parts->first);
    parts->shapes = crn_calloc(of, sizeof *parts->shapes);
    parts->known = crn_calloc(of, sizeof *parts->known);
    for (uint32_t c = 0; c < count; c++)
        parts->order[c] = c;
    qsort_r(parts->order, count, sizeof *parts->order, by_id, pushing->ids.contexts);
    crn_fleet_id *sorted = crn_calloc(count, sizeof *sorted);
    for (uint32_t c = 0; c < count; c++) {
        sorted[c] = pushing->ids.contexts[parts->order[c]];
        parts->first[part_of(pushing, &sorted[c]) + 1] = c + 1;
    }
    for (uint32_t p = 0; p < of; p++) {
        if (parts->first[p + 1] < parts->first[p])
            parts->first[p + 1] = parts->first[p]; /* an empty part */
        parts->shapes[p] =
            crn_fleet_ids_hash(sorted + parts->first[p], parts->first[p + 1] - parts->first[p]);
    }
    crn_free(sorted);
}

static void parts_free(parts *parts)
{
    crn_free(parts->order);
    crn_free(parts->first);
    crn_free(parts->shapes);
    crn_free(parts->known);
}

/* ---- blocks and contexts, the same for all runs ---- */

/* Returns the block's lexical depth. Readers order rows by it, so that parents come first. */
static uint8_t nesting_of(const crn_profile *profile, uint32_t block)
{
    uint8_t depth = 0;
    while (depth < UINT8_MAX && (block = profile->blocks[block].parent) &&
           block < profile->block_count)
        depth++;
    return depth;
}

bool crn_push_blocks(crn_pushing *pushing)
{
    static const crn_fleet_id none;
    const crn_profile *profile = pushing->profile;
    crn_rows *rows = &pushing->batch->tables[CRN_BATCH_BLOCKS];
    bool good = true;
    for (uint32_t b = 0; good && b < profile->block_count; b++) {
        const crn_block_info *block = &profile->blocks[b];
        bool nested = block->parent && block->parent < profile->block_count;
        size_t start = rows->size;
        crn_rows_text(rows, pushing->service);
        crn_rows_id(rows, &pushing->ids.blocks[b]);
        crn_rows_text(rows, block->name);
        crn_rows_text(rows, block->file);
        crn_rows_number(rows, block->line, 4);
        crn_rows_number(rows, block->column, 4);
        crn_rows_id(rows, nested ? &pushing->ids.blocks[block->parent] : &none);
        crn_rows_number(rows, nesting_of(profile, b), 1);
        if (crn_batch_is_new(pushing->batch, rows->bytes + start, rows->size - start))
            crn_pushing_end(pushing, rows, start, CRN_PUSHED_BLOCKS, b, false);
        else
            rows->size = start; /* another capture of the batch has the block */
        good = crn_pushing_send(pushing, CRN_BATCH_BLOCKS);
    }
    return good;
}

static void put_path(crn_rows *rows, const crn_profile *profile, uint32_t context, uint32_t depth)
{
    const char *names[PATH_MAX_NAMES];
    uint32_t count = depth < PATH_MAX_NAMES ? depth : PATH_MAX_NAMES;
    for (uint32_t i = count; i > 0; i--, context = profile->parent[context])
        names[i - 1] = profile->blocks[profile->block[context]].name;
    crn_rows_length(rows, count);
    for (uint32_t i = 0; i < count; i++)
        crn_rows_text(rows, names[i]);
}

static void put_context(const crn_pushing *pushing, uint32_t context, const uint32_t *depths)
{
    static const crn_fleet_id none;
    crn_rows *rows = &pushing->batch->tables[CRN_BATCH_CONTEXTS];
    const crn_profile *profile = pushing->profile;
    const crn_fleet_ids *ids = &pushing->ids;
    crn_rows_text(rows, pushing->service);
    crn_rows_id(rows, &ids->contexts[context]);
    crn_rows_id(rows, context ? &ids->contexts[profile->parent[context]] : &none);
    crn_rows_id(rows, &ids->blocks[profile->block[context]]);
    crn_rows_number(rows, depths[context], 4);
    put_path(rows, profile, context, depths[context]);
    crn_rows_end(rows);
}

static bool was_sent(const crn_push_state *state, const crn_fleet_id *shape, uint32_t part)
{
    if (!state || part >= state->tables[CRN_PUSHED_SHAPES].count)
        return false;
    return memcmp(&state->tables[CRN_PUSHED_SHAPES].hashes[part], shape, sizeof *shape) == 0;
}

/* Returns true if the batch has the shape already. Remembers it. */
static bool is_in_batch(const crn_pushing *pushing, const crn_fleet_id *shape)
{
    crn_rows key = {0};
    crn_rows_id(&key, shape);
    crn_rows_text(&key, pushing->service);
    bool known = !crn_batch_is_new(pushing->batch, key.bytes, key.size);
    crn_rows_free(&key);
    return known;
}

/* Asks the server which shapes it has. If the user may only insert, or for more than PARTS_ASKED
 * parts, all shapes are sent. */
static void know_shapes(crn_pushing *pushing, parts *parts)
{
    uint32_t of = part_count(pushing), unknown = 0;
    crn_answer answer = {0};
    crn_sql sql = {0};
    for (uint32_t p = 0; p < of; p++) {
        parts->known[p] = was_sent(pushing->options->state, &parts->shapes[p], p) ||
                          is_in_batch(pushing, &parts->shapes[p]);
        unknown += !parts->known[p];
    }
    if (!unknown || of > PARTS_ASKED || pushing->batch->mute)
        return;
    crn_sql_add(&sql, "SELECT DISTINCT shape FROM shapes WHERE service = ");
    crn_sql_literal(&sql, pushing->service);
    for (uint32_t p = 0; p < of; p++) {
        crn_sql_add(&sql, p ? ", " : " AND shape IN (");
        crn_sql_id(&sql, &parts->shapes[p]);
    }
    crn_sql_add(&sql, ")");
    bool good = crn_database_query(pushing->batch->database, sql.text, &answer, NULL);
    pushing->batch->mute = !good;
    while (good && crn_answer_more(&answer)) {
        crn_fleet_id shape = crn_answer_id(&answer);
        for (uint32_t p = 0; p < of; p++)
            parts->known[p] |= memcmp(&shape, &parts->shapes[p], sizeof shape) == 0;
    }
    crn_answer_free(&answer);
    crn_sql_free(&sql);
}

static bool push_part_contexts(crn_pushing *pushing, const parts *parts, uint32_t part,
                               const uint32_t *depths)
{
    bool good = true;
    for (uint32_t i = parts->first[part]; good && i < parts->first[part + 1]; i++) {
        put_context(pushing, parts->order[i], depths);
        good = crn_pushing_send(pushing, CRN_BATCH_CONTEXTS);
    }
    return good;
}

static bool push_tree(crn_pushing *pushing, const parts *parts)
{
    uint32_t *depths = crn_depths(pushing->profile);
    bool good = true;
    for (uint32_t p = 0; good && p < part_count(pushing); p++) {
        if (!parts->known[p])
            good = push_part_contexts(pushing, parts, p, depths);
        crn_pushing_did(pushing, parts->first[p + 1] - parts->first[p]);
    }
    crn_free(depths);
    return good;
}

/* Sends the shapes, after the contexts: a shape in the database means that its contexts are
 * there. */
static bool push_shapes(crn_pushing *pushing, const parts *parts)
{
    crn_rows *rows = &pushing->batch->tables[CRN_BATCH_SHAPES];
    bool good = true;
    for (uint32_t p = 0; p < part_count(pushing) && good; p++) {
        if (parts->known[p])
            continue;
        crn_rows_text(rows, pushing->service);
        crn_rows_id(rows, &parts->shapes[p]);
        crn_rows_length(rows, parts->first[p + 1] - parts->first[p]);
        for (uint32_t i = parts->first[p]; i < parts->first[p + 1]; i++)
            crn_rows_id(rows, &pushing->ids.contexts[parts->order[i]]);
        crn_rows_end(rows);
        good = crn_pushing_send(pushing, CRN_BATCH_SHAPES);
    }
    return good;
}

/* ---- figures of this run ---- */

static bool push_part_figures(crn_pushing *pushing, const parts *parts, uint32_t part)
{
    const crn_profile *profile = pushing->profile;
    crn_rows *rows = &pushing->batch->tables[CRN_BATCH_FIGURES];
    bool good = true;
    for (uint32_t m = 0; good && m < profile->metric_count; m++) {
        if (!crn_pushing_has(profile, m))
            continue;
        size_t start = rows->size;
        crn_pushing_row(pushing, CRN_BATCH_FIGURES);
        crn_rows_text(rows, profile->metrics[m].name);
        crn_rows_number(rows, pushing->level, 1);
        crn_rows_number(rows, part, 2);
        crn_rows_id(rows, &parts->shapes[part]);
        crn_rows_length(rows, parts->first[part + 1] - parts->first[part]);
        for (uint32_t i = parts->first[part]; i < parts->first[part + 1]; i++)
            crn_rows_number(rows, crn_self(profile, m, parts->order[i]), 8);
        crn_pushing_end(pushing, rows, start, CRN_PUSHED_FIGURES, (size_t)part * CRN_METRIC_MAX + m,
                        true);
        good = crn_pushing_send(pushing, CRN_BATCH_FIGURES);
    }
    crn_pushing_did(pushing, parts->first[part + 1] - parts->first[part]);
    return good;
}

static bool push_figures(crn_pushing *pushing, const parts *parts)
{
    bool good = true;
    for (uint32_t p = 0; good && p < part_count(pushing); p++)
        good = push_part_figures(pushing, parts, p);
    return good;
}

/* Writes the edges of a part: those whose first context is in it. A row replaces the row of an
 * earlier push of a live capture. */
static void put_edges(crn_rows *rows, const crn_pushing *pushing, const uint32_t *edges,
                      uint32_t count)
{
    const crn_profile *profile = pushing->profile;
    const crn_fleet_id *ids = pushing->ids.contexts;
    crn_rows_length(rows, count);
    for (uint32_t i = 0; i < count; i++)
        crn_rows_id(rows, &ids[profile->edges[edges[i]].from]);
    crn_rows_length(rows, count);
    for (uint32_t i = 0; i < count; i++)
        crn_rows_id(rows, &ids[profile->edges[edges[i]].target]);
    crn_rows_length(rows, count);
    for (uint32_t i = 0; i < count; i++)
        crn_rows_number(rows, profile->edges[edges[i]].calls, 8);
    crn_rows_length(rows, count);
    for (uint32_t i = 0; i < count; i++)
        crn_rows_number(rows, profile->edges[edges[i]].folded, 1);
}

/* Returns the numbers of the edges, sorted by part; sets `first` to where each part begins. */
static uint32_t *edges_by_part(const crn_pushing *pushing, uint32_t *first)
{
    const crn_profile *profile = pushing->profile;
    uint32_t *sorted = crn_calloc(profile->edge_count, sizeof *sorted);
    uint32_t *at = crn_calloc(part_count(pushing), sizeof *at);
    for (uint32_t e = 0; e < profile->edge_count; e++)
        first[part_of(pushing, &pushing->ids.contexts[profile->edges[e].from]) + 1]++;
    for (uint32_t p = 0; p < part_count(pushing); p++) {
        first[p + 1] += first[p];
        at[p] = first[p];
    }
    for (uint32_t e = 0; e < profile->edge_count; e++)
        sorted[at[part_of(pushing, &pushing->ids.contexts[profile->edges[e].from])]++] = e;
    crn_free(at);
    return sorted;
}

static bool push_edges(crn_pushing *pushing)
{
    uint32_t *first = crn_calloc(part_count(pushing) + 1, sizeof *first);
    uint32_t *sorted = edges_by_part(pushing, first);
    crn_rows *rows = &pushing->batch->tables[CRN_BATCH_EDGES];
    bool good = true;
    for (uint32_t p = 0; good && p < part_count(pushing); p++) {
        size_t start = rows->size;
        crn_pushing_row(pushing, CRN_BATCH_EDGES);
        crn_rows_number(rows, pushing->level, 1);
        crn_rows_number(rows, p, 2);
        put_edges(rows, pushing, sorted + first[p], first[p + 1] - first[p]);
        crn_pushing_end(pushing, rows, start, CRN_PUSHED_EDGES, p, true);
        good = crn_pushing_send(pushing, CRN_BATCH_EDGES);
    }
    crn_free(sorted);
    crn_free(first);
    return good;
}

/* Sends costs by block. SQL cannot compute total cost from contexts, as recursion would count
 * twice. */
static bool push_block_figures(crn_pushing *pushing)
{
    const crn_profile *profile = pushing->profile;
    crn_rows *rows = &pushing->batch->tables[CRN_BATCH_BLOCK_FIGURES];
    bool good = true;
    for (uint32_t m = 0; good && m < profile->metric_count; m++) {
        if (!crn_pushing_has(profile, m))
            continue;
        crn_block_cost cost = crn_block_cost_make(profile, m, NULL);
        size_t start = rows->size;
        crn_pushing_row(pushing, CRN_BATCH_BLOCK_FIGURES);
        crn_rows_number(rows, pushing->at, 4);
        crn_rows_text(rows, profile->metrics[m].name);
        crn_rows_length(rows, profile->block_count);
        crn_rows_put(rows, pushing->ids.blocks, profile->block_count * sizeof(crn_fleet_id));
        crn_rows_length(rows, profile->block_count);
        crn_rows_put(rows, cost.self, profile->block_count * sizeof *cost.self);
        crn_rows_length(rows, profile->block_count);
        crn_rows_put(rows, cost.inclusive, profile->block_count * sizeof *cost.inclusive);
        crn_pushing_end(pushing, rows, start, CRN_PUSHED_BLOCK_FIGURES, m, true);
        crn_block_cost_free(&cost);
        good = crn_pushing_send(pushing, CRN_BATCH_BLOCK_FIGURES);
    }
    return good;
}

bool crn_push_contexts(crn_pushing *pushing)
{
    parts parts;
    parts_make(&parts, pushing);
    know_shapes(pushing, &parts);
    bool good = crn_push_blocks(pushing) && push_tree(pushing, &parts) &&
                push_shapes(pushing, &parts) && push_figures(pushing, &parts) &&
                push_edges(pushing) && push_block_figures(pushing);
    if (good && pushing->options->state)
        crn_push_state_keep_shapes(pushing->options->state, parts.shapes, part_count(pushing));
    parts_free(&parts);
    return good;
}
