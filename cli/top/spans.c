/* SPDX-License-Identifier: MIT
 *
 * The view of spans: durations of ended spans by block, and missed deadlines.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "spans/spans.h"
#include "top.h"

static uint64_t deadline_of(const crn_top_deadlines *deadlines, const char *name)
{
    for (uint32_t i = 0; deadlines && i < deadlines->count; i++)
        if (strcmp(deadlines->all[i].name, name) == 0)
            return deadlines->all[i].time;
    return 0;
}

static void count_missed(crn_top_span_table *table, const crn_spans *spans,
                         const crn_top_spans *made)
{
    table->missed = crn_calloc(made->block_count, sizeof *table->missed);
    for (uint32_t s = 0; s < spans->trace->span_count; s++) {
        uint32_t block = crn_span_block(spans, s);
        table->missed[block] += spans->chosen[s] && made->deadlines[block] &&
                                crn_span_duration(spans, s) > made->deadlines[block];
    }
}

/* Measures the spans that ended after `since` (0: all ended spans). */
static crn_top_span_table measure(crn_spans *spans, const crn_top_spans *made, uint64_t since)
{
    const crn_trace *trace = spans->trace;
    crn_top_span_table table = {0};
    uint8_t *ended = crn_calloc(trace->span_count + (size_t)1, 1);
    for (uint32_t s = 0; s < trace->span_count; s++)
        ended[s] = !trace->spans[s].open && (!since || trace->spans[s].end > since);
    spans->chosen = ended;
    table.table = crn_span_table_make(spans, NULL, CRN_SPANS_BY_TOTAL);
    table.row = crn_calloc(made->block_count, sizeof *table.row);
    for (uint32_t i = 0; i < table.table.count; i++)
        table.row[table.table.rows[i].block] = i + 1;
    count_missed(&table, spans, made);
    spans->chosen = NULL;
    crn_free(ended);
    return table;
}

crn_top_spans *crn_top_spans_make(const crn_trace *trace, const crn_profile *profile,
                                  const crn_top_spans *before, const crn_top_deadlines *deadlines)
{
    uint32_t blocks = profile->block_count ? profile->block_count : 1;
    crn_top_spans *made = crn_calloc(1, sizeof *made);
    *made = (crn_top_spans){.block_count = blocks,
                            .deadlines = crn_calloc(blocks, sizeof *made->deadlines),
                            .length = trace->length,
                            .compared = before && before->length};
    for (uint32_t b = 0; b < profile->block_count; b++)
        made->deadlines[b] = deadline_of(deadlines, profile->blocks[b].name);
    crn_spans *spans = crn_spans_make(trace, blocks);
    made->all = measure(spans, made, 0);
    if (made->compared)
        made->since = measure(spans, made, before->length);
    crn_spans_free(spans);
    return made;
}

void crn_top_spans_free(crn_top_spans *spans)
{
    if (!spans)
        return;
    crn_span_table_free(&spans->all.table);
    crn_span_table_free(&spans->since.table);
    crn_free(spans->all.missed);
    crn_free(spans->since.missed);
    crn_free(spans->all.row);
    crn_free(spans->since.row);
    crn_free(spans->deadlines);
    crn_free(spans);
}

static void add_row(crn_top_rows *rows, const crn_top_spans *spans, const crn_block_info *block,
                    const crn_span_row *all)
{
    static const crn_span_row none;
    const crn_top_span_table *table = rows->seconds > 0 ? &spans->since : &spans->all;
    uint32_t at = table->row[all->block];
    const crn_span_row *its = at ? &table->table.rows[at - 1] : &none;
    crn_top_row *row = crn_top_rows_add(rows);
    row->identity = crn_top_identity(0, block);
    row->block = block;
    row->span = (crn_top_span_figures){.median = its->median,
                                       .most = its->max,
                                       .missed = table->missed[all->block],
                                       .deadline = spans->deadlines[all->block]};
    row->self = its->p99;
    row->inclusive = its->total;
    row->calls = its->count;
    row->calls_total = all->count;
}

void crn_top_span_rows(crn_top_rows *rows, const crn_top_look *look, const crn_top_choice *choice)
{
    const crn_top_spans *spans = look->spans;
    const crn_profile *profile = look->read ? look->read : look->profile;
    const crn_top_span_table *shown =
        spans ? (rows->seconds > 0 ? &spans->since : &spans->all) : NULL;
    rows->whole = 0;
    for (uint32_t i = 0; shown && i < shown->table.count; i++)
        rows->whole += shown->table.rows[i].count;
    for (uint32_t i = 0; spans && i < spans->all.table.count; i++) {
        const crn_span_row *all = &spans->all.table.rows[i];
        const crn_block_info *block = &profile->blocks[all->block];
        if (crn_top_matches(choice, block))
            add_row(rows, spans, block, all);
    }
}
