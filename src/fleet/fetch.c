/* SPDX-License-Identifier: MIT */
#include "fleet/fleet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "fleet/fetching.h"

enum { CONTEXTS_MAX = 1 << 28 };

static const crn_fleet_id none;

static uint32_t context_of(const crn_fetching *fetching, const crn_fleet_id *id)
{
    return crn_fetching_number(fetching->context_numbers, fetching->raw.context_count, id);
}

/* ---- the run ---- */

static void take_notes(crn_fetching *fetching, crn_answer *answer)
{
    crn_profile *raw = &fetching->raw;
    raw->note_count = crn_answer_length(answer, 1);
    raw->notes = crn_calloc(raw->note_count, sizeof *raw->notes);
    for (size_t i = 0; i < raw->note_count; i++)
        raw->notes[i] = (crn_note){crn_answer_intern(answer, fetching->texts), ""};
    if (crn_answer_length(answer, 1) != raw->note_count)
        answer->bad = true;
    for (size_t i = 0; i < raw->note_count; i++)
        raw->notes[i].value = crn_answer_intern(answer, fetching->texts);
}

static void take_warnings(crn_fetching *fetching, crn_answer *answer)
{
    crn_profile *raw = &fetching->raw;
    raw->warning_count = crn_answer_length(answer, 1);
    raw->warnings = crn_calloc(raw->warning_count, sizeof *raw->warnings);
    for (size_t i = 0; i < raw->warning_count; i++)
        raw->warnings[i] = crn_answer_copy(answer);
}

static void take_metrics(crn_fetching *fetching, crn_answer *answer)
{
    crn_profile *raw = &fetching->raw;
    uint64_t count = crn_answer_length(answer, 1);
    if (count > CRN_METRIC_MAX)
        answer->bad = true;
    raw->metric_count = answer->bad ? 0 : (uint32_t)count;
    for (uint32_t m = 0; m < raw->metric_count; m++)
        raw->metrics[m].name = crn_answer_intern(answer, fetching->texts);
    if (crn_answer_length(answer, 1) != raw->metric_count)
        answer->bad = true;
    for (uint32_t m = 0; m < raw->metric_count; m++)
        raw->metrics[m].unit = crn_answer_intern(answer, fetching->texts);
}

static void take_lost(crn_fetching *fetching, crn_answer *answer)
{
    if (crn_answer_length(answer, 8) != CRN_LOST_COUNTS)
        answer->bad = true;
    for (size_t i = 0; i < CRN_LOST_COUNTS; i++)
        fetching->lost[i] = crn_answer_number(answer, 8);
    uint64_t lanes = crn_answer_length(answer, 8);
    if (lanes && lanes != fetching->lane_count)
        answer->bad = true;
    fetching->origins = crn_calloc(fetching->lane_count + (size_t)1, sizeof *fetching->origins);
    for (uint64_t i = 0; i < lanes && !answer->bad; i++)
        fetching->origins[i] = crn_answer_number(answer, 8);
    fetching->histograms = (uint32_t)crn_answer_number(answer, 4);
}

static bool fetch_run(crn_fetching *fetching)
{
    crn_answer answer = {0};
    crn_sql sql = {0};
    crn_sql_add(&sql,
                "SELECT service, level, folded, contexts, spans, length, span_lanes, "
                "notes.key, notes.value, warnings, metrics.name, metrics.unit, lost, origins, "
                "histograms "
                "FROM runs FINAL WHERE run = ");
    crn_sql_id(&sql, &fetching->run);
    crn_sql_add(&sql, " LIMIT 1");
    if (!crn_fetching_ask(fetching, &sql, &answer))
        return crn_answer_free(&answer), false;
    if (!crn_answer_more(&answer)) {
        crn_answer_free(&answer);
        return crn_error_set(fetching->error, ENOENT,
                             "the database has no such run; cairn fleet runs lists them");
    }
    fetching->service = crn_answer_copy(&answer);
    fetching->level = (uint8_t)crn_answer_number(&answer, 1);
    fetching->folded = crn_answer_id(&answer);
    fetching->contexts = (uint32_t)crn_answer_number(&answer, 4);
    fetching->spans = crn_answer_number(&answer, 8);
    fetching->length = crn_answer_number(&answer, 8);
    fetching->lane_count = (uint32_t)crn_answer_length(&answer, 1);
    fetching->lanes = crn_calloc(fetching->lane_count, sizeof *fetching->lanes);
    for (uint32_t i = 0; i < fetching->lane_count; i++)
        fetching->lanes[i] = crn_answer_copy(&answer);
    take_notes(fetching, &answer);
    take_warnings(fetching, &answer);
    take_metrics(fetching, &answer);
    take_lost(fetching, &answer);
    return crn_fetching_end(fetching, &answer, fetching->contexts <= CONTEXTS_MAX);
}

/* Adds the condition that rows have their run's present level. A capture that grew may have older
 * rows, divided into fewer parts. */
static void add_level(const crn_fetching *fetching, crn_sql *sql)
{
    crn_fetching_run(fetching, sql);
    if (!fetching->filter) {
        crn_sql_add(sql, " AND level = %u", fetching->level);
        return;
    }
    crn_sql_add(sql, " AND (run, level) GLOBAL IN (SELECT run, level FROM runs FINAL WHERE ");
    crn_fleet_filter_sql(fetching->filter, sql);
    crn_sql_add(sql, ")");
}

/* Reads the metrics of all runs to add up. Calls, ticks, wall and cpu keep their fixed numbers. */
static bool fetch_metrics(crn_fetching *fetching)
{
    crn_profile *raw = &fetching->raw;
    crn_answer answer = {0};
    crn_sql sql = {0};
    raw->metric_count = CRN_METRIC_FIXED;
    for (uint32_t m = 0; m < CRN_METRIC_FIXED; m++)
        raw->metrics[m] = crn_metrics_known[m];
    crn_question_metrics(&sql, fetching->filter);
    if (!crn_fetching_ask(fetching, &sql, &answer))
        return crn_answer_free(&answer), false;
    while (crn_answer_more(&answer)) {
        const char *name = crn_answer_intern(&answer, fetching->texts),
                   *unit = crn_answer_intern(&answer, fetching->texts);
        uint32_t m = 0;
        while (m < raw->metric_count && strcmp(raw->metrics[m].name, name) != 0)
            m++;
        if (m == raw->metric_count && m < CRN_METRIC_MAX) {
            raw->metrics[m].name = name;
            raw->metrics[m].unit = unit;
            raw->metric_count++;
        }
    }
    return crn_fetching_end(fetching, &answer, true);
}

/* ---- blocks ---- */

typedef struct fetched_blocks {
    crn_fleet_id *parents;
    uint32_t room;
} fetched_blocks;

static void add_block(crn_fetching *fetching, fetched_blocks *blocks, crn_answer *answer)
{
    crn_profile *raw = &fetching->raw;
    crn_fleet_id id = crn_answer_id(answer);
    uint32_t number =
        crn_intern_number(fetching->block_numbers, (const char *)id.bytes, sizeof id.bytes);
    if (number >= blocks->room) {
        blocks->room = blocks->room ? blocks->room * 2 : 256;
        raw->blocks = crn_realloc(raw->blocks, blocks->room, sizeof *raw->blocks);
        blocks->parents = crn_realloc(blocks->parents, blocks->room, sizeof *blocks->parents);
    }
    for (; raw->block_count <= number; raw->block_count++)
        raw->blocks[raw->block_count].name = NULL;
    raw->blocks[number].name = crn_answer_intern(answer, fetching->texts);
    raw->blocks[number].file = crn_answer_intern(answer, fetching->texts);
    raw->blocks[number].line = (uint32_t)crn_answer_number(answer, 4);
    raw->blocks[number].column = (uint32_t)crn_answer_number(answer, 4);
    raw->blocks[number].parent = 0;
    raw->blocks[number].flags = 0;
    blocks->parents[number] = crn_answer_id(answer);
}

/* Adds the id of the root context's block as number 0. */
static bool fetch_root(crn_fetching *fetching)
{
    crn_answer answer = {0};
    crn_sql sql = {0};
    crn_sql_add(&sql, "SELECT block FROM contexts WHERE ");
    crn_fetching_service(fetching, &sql);
    crn_sql_add(&sql, " AND depth = 0 LIMIT 1");
    if (!crn_fetching_ask(fetching, &sql, &answer))
        return crn_answer_free(&answer), false;
    crn_fleet_id root = crn_answer_id(&answer);
    crn_intern_number(fetching->block_numbers, (const char *)root.bytes, sizeof root.bytes);
    return crn_fetching_end(fetching, &answer, true);
}

static bool fetch_blocks(crn_fetching *fetching)
{
    crn_answer answer = {0};
    crn_sql sql = {0};
    fetched_blocks blocks = {0};
    crn_sql_add(&sql, "SELECT block, name, file, line, position, parent FROM blocks WHERE ");
    crn_fetching_service(fetching, &sql);
    crn_sql_add(&sql,
                " AND block GLOBAL IN (SELECT arrayJoin(blocks) FROM block_figures FINAL WHERE ");
    crn_fetching_run(fetching, &sql);
    crn_sql_add(&sql, " UNION ALL SELECT DISTINCT block FROM spans WHERE ");
    crn_fetching_run(fetching, &sql);
    crn_sql_add(&sql, " UNION ALL SELECT DISTINCT block FROM histograms WHERE ");
    crn_fetching_run(fetching, &sql);
    /* A lexical parent comes before its blocks. The root has number 0 already. */
    crn_sql_add(&sql, ") ORDER BY nesting, block LIMIT 1 BY block");
    if (!crn_fetching_ask(fetching, &sql, &answer))
        return crn_answer_free(&answer), false;
    while (crn_answer_more(&answer))
        add_block(fetching, &blocks, &answer);
    for (uint32_t b = 0; b < fetching->raw.block_count && !answer.bad; b++) {
        answer.bad = !fetching->raw.blocks[b].name;
        bool nested = memcmp(&blocks.parents[b], &none, sizeof none) != 0;
        uint32_t parent = nested ? crn_fetching_block(fetching, &blocks.parents[b]) : 0;
        fetching->raw.blocks[b].parent = parent == UINT32_MAX ? 0 : parent;
    }
    uint32_t folded = crn_fetching_block(fetching, &fetching->folded);
    fetching->raw.folded_block = folded == UINT32_MAX ? 0 : folded;
    crn_free(blocks.parents);
    return crn_fetching_end(fetching, &answer, fetching->raw.block_count > 0);
}

static bool fetch_flags(crn_fetching *fetching)
{
    crn_answer answer = {0};
    crn_sql sql = {0};
    crn_sql_add(&sql, "SELECT block, groupBitOr(flags) FROM runs FINAL ARRAY JOIN flagged.block AS "
                      "block, flagged.flags AS flags WHERE ");
    crn_fetching_run(fetching, &sql);
    crn_sql_add(&sql, " GROUP BY block");
    if (!crn_fetching_ask(fetching, &sql, &answer))
        return crn_answer_free(&answer), false;
    while (crn_answer_more(&answer)) {
        crn_fleet_id id = crn_answer_id(&answer);
        uint32_t block = crn_fetching_block(fetching, &id);
        uint32_t flags = (uint32_t)crn_answer_number(&answer, 4);
        if (block != UINT32_MAX)
            fetching->raw.blocks[block].flags = flags;
    }
    return crn_fetching_end(fetching, &answer, true);
}

/* ---- contexts ---- */

static void add_context(crn_fetching *fetching, crn_answer *answer)
{
    crn_profile *raw = &fetching->raw;
    crn_fleet_id id = crn_answer_id(answer), parent_id = crn_answer_id(answer);
    crn_fleet_id block_id = crn_answer_id(answer);
    uint32_t parent = raw->context_count ? context_of(fetching, &parent_id) : 0;
    uint32_t block = crn_fetching_block(fetching, &block_id);
    uint32_t number =
        crn_intern_number(fetching->context_numbers, (const char *)id.bytes, sizeof id.bytes);
    if (parent == UINT32_MAX || block == UINT32_MAX || number != raw->context_count ||
        number >= fetching->contexts) {
        answer->bad = true;
        return;
    }
    raw->parent[number] = parent;
    raw->block[number] = number ? block : 0;
    raw->context_count++;
}

static bool fetch_contexts(crn_fetching *fetching)
{
    crn_profile *raw = &fetching->raw;
    crn_answer answer = {0};
    crn_sql sql = {0};
    crn_sql_add(&sql, "SELECT context, parent, block FROM contexts WHERE ");
    crn_fetching_service(fetching, &sql);
    crn_sql_add(&sql, " AND context GLOBAL IN (SELECT arrayJoin(contexts) FROM shapes WHERE ");
    crn_fetching_service(fetching, &sql);
    crn_sql_add(&sql, " AND shape GLOBAL IN (SELECT shape FROM figures FINAL WHERE ");
    add_level(fetching, &sql);
    crn_sql_add(&sql, ")) ORDER BY depth, context LIMIT 1 BY context");
    if (!crn_fetching_ask(fetching, &sql, &answer))
        return crn_answer_free(&answer), false;
    if (fetching->filter)
        fetching->contexts = (uint32_t)(answer.size / (3 * sizeof(crn_fleet_id)));
    raw->parent = crn_calloc(fetching->contexts, sizeof *raw->parent);
    raw->block = crn_calloc(fetching->contexts, sizeof *raw->block);
    raw->calls_tree = crn_calloc(fetching->contexts, sizeof *raw->calls_tree);
    while (crn_answer_more(&answer))
        add_context(fetching, &answer);
    return crn_fetching_end(fetching, &answer,
                            raw->context_count == fetching->contexts && raw->context_count > 0);
}

/* ---- figures ---- */

static void take_values(crn_fetching *fetching, crn_answer *answer)
{
    crn_profile *raw = &fetching->raw;
    char *metric = crn_answer_copy(answer);
    uint32_t m = 0;
    while (m < raw->metric_count && strcmp(raw->metrics[m].name, metric) != 0)
        m++;
    crn_free(metric);
    uint64_t count = crn_answer_length(answer, sizeof(crn_fleet_id));
    uint32_t *contexts = crn_calloc(count, sizeof *contexts);
    for (uint64_t i = 0; i < count; i++) {
        crn_fleet_id id = crn_answer_id(answer);
        contexts[i] = context_of(fetching, &id);
        if (contexts[i] == UINT32_MAX)
            answer->bad = true;
    }
    if (crn_answer_length(answer, 8) != count || m == raw->metric_count)
        answer->bad = true;
    if (!answer->bad && !raw->values[m])
        raw->values[m] = crn_calloc(raw->context_count, sizeof **raw->values);
    for (uint64_t i = 0; i < count && !answer->bad; i++)
        raw->values[m][contexts[i]] += crn_answer_number(answer, 8);
    crn_free(contexts);
}

static bool fetch_figures(crn_fetching *fetching)
{
    crn_answer answer = {0};
    crn_sql sql = {0};
    crn_sql_add(&sql, "SELECT metric, contexts, sums FROM (SELECT metric, shape, "
                      "sumForEach(values) AS sums FROM (SELECT metric, shape, values FROM figures "
                      "FINAL WHERE ");
    add_level(fetching, &sql);
    crn_sql_add(&sql, ") GROUP BY metric, shape) ANY LEFT JOIN (SELECT shape, contexts FROM shapes "
                      "WHERE ");
    crn_fetching_service(fetching, &sql);
    crn_sql_add(&sql, ") USING shape");
    if (!crn_fetching_ask(fetching, &sql, &answer))
        return crn_answer_free(&answer), false;
    while (crn_answer_more(&answer))
        take_values(fetching, &answer);
    return crn_fetching_end(fetching, &answer, fetching->raw.values[CRN_METRIC_CALLS] != NULL);
}

static int by_from(const void *one, const void *other)
{
    const crn_profile_edge *a = one, *b = other;
    return CRN_ORDER(a->from, b->from);
}

/* Reads one column of a row's edges into the edges from `first` on. */
static void take_column(crn_fetching *fetching, crn_answer *answer, uint32_t first, int column)
{
    enum { SOURCE, TARGET, CALLS, FOLDED };
    static const size_t sizes[] = {16, 16, 8, 1};
    crn_profile *raw = &fetching->raw;
    uint64_t count = crn_answer_length(answer, sizes[column]);
    if (column == SOURCE && count < UINT32_MAX - first) {
        raw->edge_count = first + (uint32_t)count;
        raw->edges = crn_realloc(raw->edges, raw->edge_count + (size_t)1, sizeof *raw->edges);
        memset(raw->edges + first, 0, count * sizeof *raw->edges);
    }
    if (count != raw->edge_count - first)
        answer->bad = true;
    for (uint32_t e = first; e < raw->edge_count && !answer->bad; e++) {
        crn_fleet_id id = column <= TARGET ? crn_answer_id(answer) : none;
        uint32_t context = column <= TARGET ? context_of(fetching, &id) : 0;
        if (context == UINT32_MAX)
            answer->bad = true;
        else if (column == SOURCE)
            raw->edges[e].from = context;
        else if (column == TARGET)
            raw->edges[e].target = context;
        else if (column == CALLS)
            raw->edges[e].calls = crn_answer_number(answer, 8);
        else
            raw->edges[e].folded = crn_answer_number(answer, 1) != 0;
    }
}

static bool fetch_edges(crn_fetching *fetching)
{
    crn_profile *raw = &fetching->raw;
    crn_answer answer = {0};
    crn_sql sql = {0};
    crn_sql_add(
        &sql,
        "SELECT groupArray(s), groupArray(t), groupArray(sums), groupArray(folds) "
        "FROM (SELECT s, t, sum(c) AS sums, max(f) AS folds FROM (SELECT source, target, calls, "
        "folded FROM edges FINAL WHERE ");
    add_level(fetching, &sql);
    crn_sql_add(&sql, ") ARRAY JOIN source AS s, target AS t, calls AS c, folded AS f "
                      "GROUP BY s, t)");
    if (!crn_fetching_ask(fetching, &sql, &answer))
        return crn_answer_free(&answer), false;
    while (crn_answer_more(&answer))
        for (int column = 0, first = (int)raw->edge_count; column < 4; column++)
            take_column(fetching, &answer, (uint32_t)first, column);
    if (raw->edge_count)
        qsort(raw->edges, raw->edge_count, sizeof *raw->edges, by_from);
    /* A context's calls are those of its tree edge and of the aliases that lead to it. */
    for (uint32_t c = 0; c < raw->context_count; c++)
        raw->calls_tree[c] = raw->values[CRN_METRIC_CALLS][c];
    for (uint32_t e = 0; e < raw->edge_count && !answer.bad; e++) {
        uint64_t *calls = &raw->calls_tree[raw->edges[e].target];
        answer.bad = raw->edges[e].calls > *calls;
        *calls -= raw->edges[e].calls;
    }
    return crn_fetching_end(fetching, &answer, true);
}

/* ---- all of it ---- */

static crn_profile *profile_of(const crn_fetching *fetching)
{
    const crn_profile *raw = &fetching->raw;
    crn_profile_builder *builder = crn_profile_builder_new();
    for (uint32_t m = 0; m < raw->metric_count; m++)
        crn_profile_builder_metric(builder, raw->metrics[m].name, raw->metrics[m].unit);
    crn_profile_builder_add(builder, raw);
    for (size_t i = 0; i < raw->note_count; i++)
        crn_profile_builder_note(builder, raw->notes[i].key, raw->notes[i].value);
    return crn_profile_builder_end(builder);
}

static void free_fetching(crn_fetching *fetching)
{
    crn_profile *raw = &fetching->raw;
    for (uint32_t i = 0; i < fetching->lane_count; i++)
        crn_free(fetching->lanes[i]);
    for (size_t i = 0; i < raw->warning_count; i++)
        crn_free(raw->warnings[i]);
    for (uint32_t m = 0; m < CRN_METRIC_MAX; m++)
        crn_free(raw->values[m]);
    crn_free((void *)fetching->lanes);
    crn_free((void *)raw->warnings);
    crn_free(fetching->origins);
    crn_free(fetching->service);
    crn_free(raw->blocks);
    crn_free(raw->parent);
    crn_free(raw->block);
    crn_free(raw->calls_tree);
    crn_free(raw->edges);
    crn_free(raw->notes);
    crn_interning_free(fetching->block_numbers);
    crn_interning_free(fetching->context_numbers);
    crn_interning_free(fetching->texts);
}

static crn_fetching fetching_begin(crn_database *database, crn_error *error)
{
    return (crn_fetching){.database = database,
                          .error = error,
                          .block_numbers = crn_interning_new(),
                          .context_numbers = crn_interning_new(),
                          .texts = crn_interning_new()};
}

static bool fetch_graph(crn_fetching *fetching)
{
    return fetch_root(fetching) && fetch_blocks(fetching) && fetch_flags(fetching) &&
           fetch_contexts(fetching) && fetch_figures(fetching) && fetch_edges(fetching);
}

crn_profile *crn_fleet_fetch(crn_database *database, const crn_fleet_id *run, crn_trace **trace,
                             crn_error *error)
{
    crn_fetching fetching = fetching_begin(database, error);
    crn_profile *profile = NULL;
    *trace = NULL;
    fetching.run = *run;
    bool good = fetch_run(&fetching) && fetch_graph(&fetching);
    if (good && (fetching.spans || fetching.histograms)) {
        *trace = crn_fetch_spans(&fetching);
        good = *trace != NULL;
    }
    if (good) {
        profile = profile_of(&fetching);
        if (*trace) {
            uint32_t *blocks = crn_blocks_match(&fetching.raw, profile);
            crn_trace_rename_blocks(*trace, blocks, fetching.raw.block_count);
            crn_free(blocks);
        }
    }
    free_fetching(&fetching);
    return profile;
}

crn_profile *crn_fleet_fetch_sum(crn_database *database, const crn_fleet_filter *filter,
                                 crn_error *error)
{
    crn_fetching fetching = fetching_begin(database, error);
    fetching.filter = filter;
    crn_profile *profile =
        fetch_metrics(&fetching) && fetch_graph(&fetching) ? profile_of(&fetching) : NULL;
    free_fetching(&fetching);
    return profile;
}
