/* SPDX-License-Identifier: MIT
 *
 * Builds profiles for imports, merges and tests.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "profile/freeze.h"

/* Blocks: longer than any stack that tools record, but short enough for a cheap search for
 * cycles. */
enum { PATH_LIMIT = 65536 };

struct crn_profile_builder {
    crn_profile *profile; /* collects blocks, metrics, notes and warnings */
    crn_interning *keys;  /* of blocks; a key's interned number + 1 is its block */
    crn_graph graph;
    uint64_t *columns[CRN_METRIC_MAX]; /* by record; for CAIRN_METRIC_CPU and later metrics */
    uint32_t column_capacity;
};

crn_profile_builder *crn_profile_builder_new(void)
{
    crn_profile_builder *builder = crn_calloc(1, sizeof *builder);
    builder->profile = crn_profile_new();
    builder->keys = crn_interning_new();
    builder->graph = (crn_graph){.grow = crn_graph_grow_memory,
                                 .path_limit = PATH_LIMIT,
                                 .context_budget = UINT32_MAX,
                                 .alias_budget = UINT32_MAX};
    if (!crn_graph_open(&builder->graph))
        crn_realloc(NULL, SIZE_MAX, 2); /* exits the process: out of memory */
    return builder;
}

crn_profile_builder *crn_profile_builder_like(const crn_profile *profile)
{
    crn_profile_builder *builder = crn_profile_builder_new();
    for (uint32_t b = 1; b < profile->block_count; b++)
        crn_profile_put_block(builder->profile, &profile->blocks[b]);
    for (uint32_t m = 0; m < profile->metric_count; m++)
        crn_profile_builder_metric(builder, profile->metrics[m].name, profile->metrics[m].unit);
    for (size_t i = 0; i < profile->note_count; i++)
        crn_profile_builder_note(builder, profile->notes[i].key, profile->notes[i].value);
    for (size_t i = 0; i < profile->warning_count; i++)
        crn_profile_builder_warn(builder, "%s", profile->warnings[i]);
    return builder;
}

uint32_t crn_profile_builder_block(crn_profile_builder *builder, const crn_block_info *info)
{
    const char *file = info->file ? info->file : "";
    size_t name_size = strlen(info->name) + 1, file_size = strlen(file) + 1;
    uint32_t numbers[] = {info->line, info->column, info->parent};
    size_t size = name_size + file_size + sizeof numbers;
    char *key = crn_calloc(size, 1);
    memcpy(key, info->name, name_size);
    memcpy(key + name_size, file, file_size);
    memcpy(key + name_size + file_size, numbers, sizeof numbers);
    uint32_t block = crn_intern_number(builder->keys, key, size) + 1;
    crn_free(key);
    if (block == builder->profile->block_count)
        crn_profile_put_block(builder->profile, info);
    return block;
}

uint32_t crn_profile_builder_metric(crn_profile_builder *builder, const char *name,
                                    const char *unit)
{
    return crn_profile_put_metric(builder->profile, name, unit);
}

uint32_t crn_profile_builder_root(crn_profile_builder *builder)
{
    (void)builder;
    return CRN_RECORD_ROOT;
}

uint32_t crn_profile_builder_child(crn_profile_builder *builder, uint32_t context, uint32_t block,
                                   uint64_t calls)
{
    uint32_t record = crn_graph_append(&builder->graph, context, block);
    crn_graph_record(&builder->graph, record)->calls += calls;
    return crn_graph_target(&builder->graph, record);
}

uint32_t crn_profile_builder_graft(crn_profile_builder *builder, uint32_t context, uint32_t block,
                                   uint64_t calls)
{
    uint32_t record = crn_graph_graft(&builder->graph, context, block);
    crn_graph_record(&builder->graph, record)->calls += calls;
    return crn_graph_target(&builder->graph, record);
}

uint32_t crn_profile_builder_folded(crn_profile_builder *builder)
{
    (void)builder;
    return CAIRN_BLOCK_FOLDED;
}

void crn_profile_builder_blocks(crn_profile_builder *builder, const crn_profile *profile,
                                uint32_t *blocks)
{
    for (uint32_t b = 1; b < profile->block_count; b++) {
        crn_block_info info = profile->blocks[b];
        info.parent = info.parent < b ? blocks[info.parent] : 0;
        blocks[b] = b == profile->folded_block ? crn_profile_builder_folded(builder)
                                               : crn_profile_builder_block(builder, &info);
    }
}

void crn_profile_builder_edge(crn_profile_builder *builder, uint32_t from, uint32_t target,
                              uint64_t calls, bool folded)
{
    uint32_t record = crn_graph_alias(&builder->graph, from, target, folded);
    crn_graph_record(&builder->graph, record)->calls += calls;
}

static void charge_column(crn_profile_builder *builder, uint32_t metric, uint32_t record,
                          uint64_t amount)
{
    if (record >= builder->column_capacity) {
        uint32_t capacity = record + record / 2 + 64;
        for (int m = 0; m < CRN_METRIC_MAX; m++) {
            if (!builder->columns[m])
                continue;
            builder->columns[m] = crn_realloc(builder->columns[m], capacity, sizeof(uint64_t));
            memset(builder->columns[m] + builder->column_capacity, 0,
                   (capacity - builder->column_capacity) * sizeof(uint64_t));
        }
        builder->column_capacity = capacity;
    }
    if (!builder->columns[metric])
        builder->columns[metric] = crn_calloc(builder->column_capacity, sizeof(uint64_t));
    builder->columns[metric][record] += amount;
}

void crn_profile_builder_charge(crn_profile_builder *builder, uint32_t context, uint32_t metric,
                                uint64_t amount)
{
    if (metric == CRN_METRIC_CALLS)
        crn_graph_record(&builder->graph, context)->calls += amount;
    else if (metric == CRN_METRIC_TICKS)
        crn_graph_record(&builder->graph, context)->ticks += amount;
    else if (metric == CRN_METRIC_WALL)
        builder->graph.links[context].wall += amount;
    else if (metric < CRN_METRIC_MAX && amount)
        charge_column(builder, metric, context, amount);
}

void crn_profile_builder_note(crn_profile_builder *builder, const char *key, const char *value)
{
    crn_profile_put_note(builder->profile, key, value);
}

void crn_profile_builder_warn(crn_profile_builder *builder, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    crn_warn_of(builder->profile, format, arguments);
    va_end(arguments);
}

/* Maps the profile's blocks to the builder's. Sets `*apart` to false if two blocks map to the same
 * block. */
static uint32_t *map_blocks(crn_profile_builder *builder, const crn_profile *profile, bool *apart)
{
    uint32_t *map = crn_calloc(profile->block_count, sizeof *map);
    *apart = true;
    for (uint32_t b = 1; b < profile->block_count; b++) {
        crn_block_info info = profile->blocks[b];
        info.parent = info.parent < b ? map[info.parent] : 0;
        bool folded = b == profile->folded_block;
        map[b] = folded ? CAIRN_BLOCK_FOLDED : crn_profile_builder_block(builder, &info);
    }
    uint8_t *seen = crn_calloc(builder->profile->block_count, 1);
    for (uint32_t b = 1; b < profile->block_count; b++)
        if (map[b] != CAIRN_BLOCK_FOLDED && seen[map[b]]++)
            *apart = false;
    crn_free(seen);
    return map;
}

static void add_metrics(crn_profile_builder *builder, const crn_profile *profile,
                        const uint32_t *contexts)
{
    for (uint32_t m = CRN_METRIC_TICKS; m < profile->metric_count; m++) {
        uint32_t metric =
            crn_profile_builder_metric(builder, profile->metrics[m].name, profile->metrics[m].unit);
        for (uint32_t c = 0; profile->values[m] && c < profile->context_count; c++)
            crn_profile_builder_charge(builder, contexts[c], metric, profile->values[m][c]);
    }
}

void crn_profile_builder_add(crn_profile_builder *builder, const crn_profile *profile)
{
    crn_graph *graph = &builder->graph;
    bool apart; /* false: paths may contain new cycles */
    uint32_t *blocks = map_blocks(builder, profile, &apart);
    uint32_t *contexts = crn_calloc(profile->context_count, sizeof *contexts);
    for (uint32_t c = 0; c < profile->context_count; c++) {
        uint32_t record = CRN_RECORD_ROOT;
        if (c)
            record = (apart ? crn_graph_graft : crn_graph_append)(
                graph, contexts[profile->parent[c]], blocks[profile->block[c]]);
        crn_graph_record(graph, record)->calls += profile->calls_tree[c];
        contexts[c] = crn_graph_target(graph, record);
    }
    for (uint32_t e = 0; e < profile->edge_count; e++) {
        const crn_profile_edge *edge = &profile->edges[e];
        crn_profile_builder_edge(builder, contexts[edge->from], contexts[edge->target], edge->calls,
                                 edge->folded);
    }
    add_metrics(builder, profile, contexts);
    for (size_t i = 0; i < profile->warning_count; i++)
        crn_profile_builder_warn(builder, "%s", profile->warnings[i]);
    crn_free(contexts);
    crn_free(blocks);
}

crn_profile *crn_profile_builder_end(crn_profile_builder *builder)
{
    crn_profile *profile = builder->profile;
    crn_records records;
    const crn_graph *graph = &builder->graph;
    if (!crn_records_scan(&records, (cairn_priv_record *)graph->hot.base, graph->links,
                          graph->used))
        crn_realloc(NULL, SIZE_MAX, 2); /* exits the process: out of memory */
    crn_profile_put_records(profile, &records, 1);
    for (uint32_t m = CAIRN_METRIC_CPU; m < CRN_METRIC_MAX; m++) {
        if (!builder->columns[m])
            continue;
        uint64_t *values = crn_calloc(profile->context_count, sizeof *values);
        for (uint32_t r = CRN_RECORD_ROOT; r < records.used && r < builder->column_capacity; r++)
            values[records.numbers[r]] += builder->columns[m][r];
        crn_free(builder->columns[m]);
        crn_profile_put_column(profile, m, values);
    }
    crn_records_free(&records);
    crn_graph_free_memory(&builder->graph);
    crn_interning_free(builder->keys);
    crn_free(builder);
    return profile;
}
