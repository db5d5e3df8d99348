/* SPDX-License-Identifier: MIT */
#include "graph/records.h"

#include "base/memory.h"

void crn_records_free(crn_records *records)
{
    crn_free(records->contexts);
    crn_free(records->numbers);
    records->contexts = records->numbers = NULL;
}

/* Returns true if `record` is a context and was found valid. */
static bool is_known(const crn_records *records, uint32_t record)
{
    return record >= CRN_RECORD_ROOT && record < records->used &&
           crn_records_is_context(records, record);
}

/* Returns true if the record is valid. All smaller records have been checked. */
static bool is_valid(const crn_records *records, uint32_t record)
{
    const crn_link *link = &records->links[record];
    if (record == CRN_RECORD_ROOT)
        return link->from == 0 && link->target == record && link->depth == 1 &&
               link->block == CAIRN_BLOCK_ROOT;
    if (!is_known(records, link->from))
        return false;
    if (link->target == record)
        return link->depth == records->links[link->from].depth + 1;
    return is_known(records, link->target) && link->block == records->links[link->target].block;
}

bool crn_records_scan(crn_records *records, const cairn_priv_record *hot, const crn_link *links,
                      uint32_t used)
{
    *records = (crn_records){.hot = hot, .links = links, .used = CRN_RECORD_ROOT};
    records->contexts = crn_try_calloc(used, sizeof *records->contexts);
    records->numbers = crn_try_calloc(used, sizeof *records->numbers);
    if (!records->contexts || !records->numbers) {
        crn_records_free(records);
        return false;
    }
    for (uint32_t record = CRN_RECORD_ROOT; record < used && is_valid(records, record); record++) {
        if (crn_records_is_context(records, record)) {
            records->numbers[record] = records->context_count;
            records->contexts[records->context_count++] = record;
        } else {
            records->numbers[record] = records->numbers[links[record].target];
            records->alias_count++;
        }
        records->used = record + 1;
    }
    records->whole = records->used == used && records->context_count;
    return true;
}

void crn_records_merge(const crn_records *records, crn_graph *graph, uint32_t *map)
{
    for (uint32_t record = CRN_RECORD_ROOT; record < records->used; record++) {
        const crn_link *link = &records->links[record];
        uint32_t from = record == CRN_RECORD_ROOT ? 0 : map[records->numbers[link->from]];
        uint32_t merged = CRN_RECORD_ROOT;
        if (link->target != record)
            merged = crn_graph_alias(graph, from, map[records->numbers[record]],
                                     link->depth == CRN_ALIAS_FOLDED);
        else if (record != CRN_RECORD_ROOT)
            merged = crn_graph_graft(graph, from, link->block);
        crn_graph_record(graph, merged)->calls += records->hot[record].calls;
        crn_graph_record(graph, merged)->ticks += records->hot[record].ticks;
        graph->links[merged].wall += link->wall;
        if (link->target == record)
            map[records->numbers[record]] = crn_graph_target(graph, merged);
    }
}
