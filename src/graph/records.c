/* SPDX-License-Identifier: MIT */
#include "graph/records.h"

#include "base/memory.h"

void crn_records_free(crn_records *records)
{
    crn_free(records->units);
    records->units = NULL;
}

/* Whether `unit` is the beginning of a context that was already seen. */
static bool is_known(const crn_records *records, uint32_t unit)
{
    if (unit < CRN_ROOT_UNIT || unit + (uint64_t)CRN_CONTEXT_UNITS > records->used)
        return false;
    uint32_t number = crn_records_number(records, unit);
    return number < records->context_count && records->units[number] == unit;
}

static bool check_context(const crn_records *records, uint32_t unit)
{
    const cairn_priv_context *context = crn_records_context(records, unit);
    if (context->number != records->context_count)
        return false;
    if (unit == CRN_ROOT_UNIT)
        return context->edge.from == 0 && context->depth == 1;
    return is_known(records, context->edge.from) &&
           context->depth == crn_records_context(records, context->edge.from)->depth + 1;
}

static bool append_unit(crn_records *records, uint32_t *capacity, uint32_t unit)
{
    if (records->context_count == *capacity) {
        uint32_t grown = *capacity ? *capacity + *capacity / 2 : 256;
        uint32_t *units = crn_try_realloc(records->units, grown, sizeof *units);
        if (!units)
            return false;
        records->units = units;
        *capacity = grown;
    }
    records->units[records->context_count++] = unit;
    return true;
}

bool crn_records_scan(crn_records *records, const char *base, uint32_t used)
{
    *records = (crn_records){.base = base, .used = CRN_ROOT_UNIT};
    uint32_t capacity = 0;
    while (records->used + (uint64_t)CRN_EDGE_UNITS <= used) {
        uint32_t unit = records->used;
        const cairn_priv_edge *edge = crn_records_edge(records, unit);
        if (edge->target == unit) {
            if (unit + (uint64_t)CRN_CONTEXT_UNITS > used || !check_context(records, unit))
                break;
            if (!append_unit(records, &capacity, unit)) {
                crn_records_free(records);
                return false;
            }
            records->used = unit + CRN_CONTEXT_UNITS;
        } else {
            if (!is_known(records, edge->from) || !is_known(records, edge->target))
                break;
            records->edge_count++;
            records->used = unit + CRN_EDGE_UNITS;
        }
    }
    records->whole = records->used == used && records->context_count;
    return true;
}

uint32_t crn_records_next(const crn_records *records, uint32_t unit)
{
    if (!unit)
        return records->context_count ? CRN_ROOT_UNIT : 0;
    unit += crn_records_is_context(records, unit) ? CRN_CONTEXT_UNITS : CRN_EDGE_UNITS;
    return unit < records->used ? unit : 0;
}

static cairn_block map_block(const cairn_block *blocks, uint32_t count, cairn_block block)
{
    return blocks && block < count ? blocks[block] : block;
}

static void merge_context(const crn_records *records, uint32_t unit, crn_graph *graph,
                          cairn_block block, uint32_t *map)
{
    const cairn_priv_context *source = crn_records_context(records, unit);
    uint32_t edge = CRN_ROOT_UNIT;
    if (unit != CRN_ROOT_UNIT)
        edge = crn_graph_graft(graph, map[crn_records_number(records, source->edge.from)], block);
    crn_graph_edge(graph, edge)->calls += source->edge.calls & CRN_CALLS_MASK;
    uint32_t target = crn_graph_edge(graph, edge)->target;
    crn_graph_context(graph, target)->ticks += source->ticks;
    crn_graph_context(graph, target)->wall += source->wall;
    map[source->number] = target;
}

void crn_records_merge(const crn_records *records, crn_graph *graph, const cairn_block *blocks,
                       uint32_t block_count, uint32_t *map)
{
    for (uint32_t unit = 0; (unit = crn_records_next(records, unit));) {
        if (crn_records_is_context(records, unit)) {
            cairn_block block = crn_records_context(records, unit)->block;
            merge_context(records, unit, graph, map_block(blocks, block_count, block), map);
            continue;
        }
        const cairn_priv_edge *edge = crn_records_edge(records, unit);
        uint32_t merged = crn_graph_link(graph, map[crn_records_number(records, edge->from)],
                                         map[crn_records_number(records, edge->target)],
                                         edge->calls & CRN_CALLS_FOLDED);
        crn_graph_edge(graph, merged)->calls += edge->calls & CRN_CALLS_MASK;
    }
}
