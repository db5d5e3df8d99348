/* SPDX-License-Identifier: MIT */
#include "fleet/batch.h"

#include "base/memory.h"
#include "fleet/push_state.h"

enum { INSERT_BYTES = 8 << 20, PENDING_BYTES = 24 << 20 };

static const char *const into[CRN_BATCH_TABLES] = {
    [CRN_BATCH_BLOCKS] = "blocks (service, block, name, file, line, position, parent, nesting)",
    [CRN_BATCH_CONTEXTS] = "contexts (service, context, parent, block, depth, path)",
    [CRN_BATCH_SHAPES] = "shapes (service, shape, contexts)",
    [CRN_BATCH_FIGURES] =
        "figures (service, day, run, metric, level, part, shape, values, recorded)",
    [CRN_BATCH_EDGES] =
        "edges (service, day, run, level, part, source, target, calls, folded, recorded)",
    [CRN_BATCH_BLOCK_FIGURES] =
        "block_figures (service, day, run, at, metric, blocks, self, total, recorded)",
    [CRN_BATCH_SPANS] =
        "spans (service, day, run, lane, span, start, duration, open, cpu, block, parent_lane, "
        "parent, handed_off, taken, adoption, iteration, weight, attributes.key, attributes.kind, "
        "attributes.integer, attributes.number, attributes.text)",
    [CRN_BATCH_SPAN_EDGES] =
        "span_edges (service, day, run, lane, span, to_lane, to_span, kind, at)",
    [CRN_BATCH_HISTOGRAMS] =
        "histograms (service, day, run, lane, number, kind, block, key, value, text, unit, total, "
        "self, shortest, longest, cpu, cpu_spans, cpu_wall, buckets, counts, recorded)",
    [CRN_BATCH_PROCESSES] =
        "processes (service, day, run, process, name, number, first_lane, unix_time, monotonic, "
        "boot, start, clock_shift, trace, span_key, length, dangling, recorded)",
    [CRN_BATCH_REMOTE_PARENTS] =
        "remote_parents (service, day, run, lane, span, flags, trace, parent)",
    [CRN_BATCH_COUNTERS] = "counters (service, day, run, lane, span, number, name, at, value)",
    [CRN_BATCH_EVENTS] = "events (service, day, run, lane, span, number, level, at, text)",
    [CRN_BATCH_OFF_CORE] = "off_core (service, day, run, lane, number, begin, end, waiting, ready, "
                           "woken_by, recorded)",
    [CRN_BATCH_RUNS] =
        "runs (service, version, host, run, day, started, elapsed, level, folded, contexts, spans, "
        "length, span_lanes, notes.key, notes.value, labels.key, labels.value, warnings, "
        "metrics.name, metrics.unit, metrics.total, lost, origins, histograms, flagged.block, "
        "flagged.flags, recorded)",
};

crn_push_batch *crn_push_batch_new(crn_database *database)
{
    crn_push_batch *batch = crn_calloc(1, sizeof *batch);
    batch->database = database;
    batch->known = crn_interning_new();
    return batch;
}

void crn_push_batch_free(crn_push_batch *batch)
{
    if (!batch)
        return;
    crn_interning_free(batch->known);
    for (size_t t = 0; t < CRN_BATCH_TABLES; t++)
        crn_rows_free(&batch->tables[t]);
    crn_free((void *)batch->states);
    crn_free(batch);
}

bool crn_batch_is_new(crn_push_batch *batch, const void *bytes, size_t size)
{
    if (crn_intern_number(batch->known, bytes, size) < batch->known_count)
        return false;
    batch->known_count++;
    return true;
}

static bool flush(crn_push_batch *batch, crn_batch_table table, crn_error *error)
{
    crn_rows *rows = &batch->tables[table];
    if (!crn_database_insert(batch->database, into[table], rows, error))
        return false;
    batch->rows += rows->count;
    batch->bytes += rows->size;
    crn_rows_clear(rows);
    return true;
}

/* Sends all tables before `end`. */
static bool flush_until(crn_push_batch *batch, crn_batch_table end, crn_error *error)
{
    for (crn_batch_table t = 0; t < end; t++)
        if (!flush(batch, t, error))
            return false;
    return true;
}

bool crn_batch_grew(crn_push_batch *batch, crn_batch_table table, crn_error *error)
{
    uint64_t pending = 0;
    for (size_t t = 0; t < CRN_BATCH_TABLES; t++)
        pending += batch->tables[t].size;
    if (pending >= PENDING_BYTES)
        return flush_until(batch, CRN_BATCH_RUNS, error);
    if (batch->tables[table].size < INSERT_BYTES)
        return true;
    if (table == CRN_BATCH_SHAPES && !flush(batch, CRN_BATCH_CONTEXTS, error))
        return false;
    return flush(batch, table, error);
}

void crn_batch_count(const crn_push_batch *batch, uint64_t *rows, uint64_t *bytes)
{
    *rows = batch->rows;
    *bytes = batch->bytes;
    for (size_t t = 0; t < CRN_BATCH_TABLES; t++) {
        *rows += batch->tables[t].count;
        *bytes += batch->tables[t].size;
    }
}

void crn_batch_add_state(crn_push_batch *batch, crn_push_state *state)
{
    if (!state)
        return;
    CRN_GROW(batch->states, batch->state_count, batch->state_room);
    batch->states[batch->state_count++] = state;
}

/* Forgets the captures of the batch. */
static void begin(crn_push_batch *batch)
{
    crn_interning_free(batch->known);
    batch->known = crn_interning_new();
    batch->known_count = 0;
    batch->state_count = 0;
    batch->mute = false;
}

void crn_batch_drop(crn_push_batch *batch)
{
    for (size_t t = 0; t < CRN_BATCH_TABLES; t++)
        crn_rows_clear(&batch->tables[t]);
    for (size_t s = 0; s < batch->state_count; s++)
        crn_push_state_forget(batch->states[s]);
    begin(batch);
}

size_t crn_push_batch_waiting(const crn_push_batch *batch)
{
    size_t rows = 0;
    for (size_t t = 0; t < CRN_BATCH_TABLES; t++)
        rows += batch->tables[t].count;
    return rows;
}

bool crn_push_batch_send(crn_push_batch *batch, bool *reached, crn_error *error)
{
    bool good = flush_until(batch, CRN_BATCH_RUNS, error);
    if (reached)
        *reached = good && batch->tables[CRN_BATCH_RUNS].count;
    good = good && flush(batch, CRN_BATCH_RUNS, error);
    if (good)
        begin(batch);
    else
        crn_batch_drop(batch);
    return good;
}
