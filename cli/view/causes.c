/* SPDX-License-Identifier: MIT
 *
 * Answers of cairn explain and cairn whatif, for the page.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/common/json.h"
#include "cli/explain/explain.h"
#include "cli/explain/whatif.h"
#include "profile/profile.h"
#include "view.h"

enum { EXPLAIN_TOP = 12, EFFECTS_TOP = 12, THREADS_MAX = 4096 };

/* ---- explain ---- */

/* Returns a bitmap of the spans of the block; other blocks may have the same name. */
static uint64_t *spans_of(const crn_span_source *source, uint32_t block, uint32_t *count)
{
    uint64_t *chosen = crn_bits_new(source->trace->span_count);
    for (uint32_t s = 0; s < source->trace->span_count; s++)
        if (crn_span_block(source->spans, s) == block) {
            crn_bits_set(chosen, s);
            ++*count;
        }
    return chosen;
}

/* Frees the replay before explaining very many spans: both at once would need too much memory. */
static void make_room(crn_view *view, crn_view_file *file, uint32_t count)
{
    enum { FEW = 1 << 22, PART = 4 };
    if (file->trace->span_count <= FEW || count <= file->trace->span_count / PART)
        return;
    file->no_replay = true; /* in case it has not begun yet */
    while (file->preparing)
        pthread_cond_wait(&view->looked, &view->lock);
    crn_view_replay_clear(file);
    malloc_trim(0);
}

/* Prints the explanation of a block's spans; makes room for it if there is a view. */
static void write_explanation(FILE *out, crn_view *view, crn_view_file *file, uint32_t block,
                              const crn_view_choice *choice)
{
    crn_span_source source = {.path = file->path,
                              .profile = file->plain,
                              .trace = choice ? choice->trace : file->trace,
                              .spans = choice ? choice->spans : file->spans};
    uint32_t count = 0;
    uint64_t *chosen = spans_of(&source, block, &count);
    if (view)
        make_room(view, file, count);
    crn_explain_run(out, &source, chosen, file->plain->blocks[block].name, NULL, EXPLAIN_TOP,
                    crn_explain_json);
    crn_free(chosen);
}

/* Returns the explanation of all spans of a block; free it with free. NULL without memory. */
static char *explanation_of(crn_view_file *file, uint32_t block)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    write_explanation(out, NULL, file, block, NULL);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

void crn_view_explain_ahead(crn_view *view, crn_view_file *file)
{
    enum { MANY = 1 << 15 }; /* spans: fewer are explained in some hundredths of a second */
    crn_view_sums *sums = file->sums;
    char **explained = crn_calloc(file->plain->block_count, sizeof *explained);
    pthread_mutex_lock(&view->lock);
    sums->explained = explained;
    sums->explained_count = file->plain->block_count;
    for (uint32_t i = 0; i < sums->table.count && view->serving && !file->replay_wanted; i++) {
        uint32_t block = sums->table.rows[i].block;
        if (sums->table.rows[i].count <= MANY)
            continue;
        pthread_mutex_unlock(&view->lock);
        char *text = explanation_of(file, block);
        pthread_mutex_lock(&view->lock);
        explained[block] = text;
    }
    pthread_mutex_unlock(&view->lock);
}

bool crn_view_explain(FILE *out, crn_view *view, const crn_view_query *query)
{
    crn_view_file *file = crn_view_file_of(view, query);
    uint64_t block;
    if (!file || !crn_view_file_spans(view, file) ||
        !crn_view_number(query, "block", crn_view_sums_of(view, file, CRN_SUM_FIRST)->first,
                         UINT32_MAX, &block))
        return false;
    if (block >= file->plain->block_count) {
        crn_cli_fail("there is no block %llu", (unsigned long long)block);
        return false;
    }
    const crn_view_choice *choice;
    if (!crn_view_choice_of(file, query, &choice))
        return false;
    char **explained = choice ? NULL : file->sums->explained;
    if (explained && explained[block])
        fputs(explained[block], out);
    else
        write_explanation(out, view, file, (uint32_t)block, choice);
    return true;
}

/* ---- what if ---- */

/* Parses "12:2.5": a block and a number above 0. Returns false after printing an error. */
static bool read_change(const crn_view_file *file, const char *text, uint32_t *block, double *value)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    bool good = end != text && *end == ':' && number < file->plain->block_count;
    char *last = end;
    *block = (uint32_t)number;
    *value = good ? strtod(end + 1, &last) : 0;
    good = good && last > end + 1 && !*last && *value >= 1e-6 && *value <= 1e6;
    if (!good)
        crn_cli_fail("\"%.40s\" is not a change; write a block's number, a colon and a number",
                     text);
    return good;
}

typedef struct changes {
    double *factor;
    uint32_t *threads, *capacity;
    crn_whatif_change *speedups;
    size_t count;
    uint64_t cores;
    bool threaded;
} changes;

static changes changes_new(const crn_view_file *file)
{
    uint32_t blocks = file->plain->block_count;
    crn_replay_setup setup = crn_replay_setup_read(file->plain);
    changes all = {.factor = crn_calloc(blocks, sizeof *all.factor),
                   .threads = crn_calloc(blocks, sizeof *all.threads),
                   .capacity = crn_calloc(blocks, sizeof *all.capacity),
                   .speedups = crn_calloc(CRN_VIEW_ITEMS_MAX, sizeof *all.speedups)};
    for (uint32_t b = 0; b < blocks; b++)
        all.factor[b] = 1;
    memcpy(all.capacity, setup.capacity, blocks * sizeof *all.capacity);
    crn_replay_setup_free(&setup);
    return all;
}

static void changes_free(changes *all)
{
    crn_free(all->factor);
    crn_free(all->threads);
    crn_free(all->capacity);
    crn_free(all->speedups);
}

static bool changes_read(changes *all, const crn_view_file *file, const crn_view_query *query)
{
    if (!crn_view_number(query, "cores", 0, THREADS_MAX, &all->cores))
        return false;
    for (size_t i = 0; i < query->count; i++) {
        const crn_view_item *item = &query->items[i];
        bool speed = strcmp(item->key, "speed") == 0, threads = strcmp(item->key, "threads") == 0;
        uint32_t block;
        double value;
        if (!speed && !threads)
            continue;
        if (!read_change(file, item->value, &block, &value))
            return false;
        if (speed) {
            all->factor[block] /= value;
            all->speedups[all->count++] =
                (crn_whatif_change){file->plain->blocks[block].name, value};
        } else {
            all->threads[block] = value < THREADS_MAX ? (uint32_t)value : THREADS_MAX;
            all->threaded = true;
        }
    }
    return true;
}

static crn_effects effects_of(const crn_whatif_report *report)
{
    crn_effects effects = crn_effects_make(report->replay, report->scenario, EFFECTS_TOP);
    effects.length = report->outcome->length;
    crn_whatif_fill(&effects);
    return effects;
}

static void write_whatif(FILE *out, crn_view *view, crn_view_file *file, const changes *all,
                         bool table)
{
    crn_scenario scenario = {.factor = all->factor,
                             .cores = (unsigned)all->cores,
                             .threads = all->threads,
                             .capacity = all->capacity};
    crn_whatif_report report = {.path = file->path,
                                .profile = file->plain,
                                .trace = file->trace,
                                .replay = crn_view_replay_of(view, file),
                                .scenario = &scenario,
                                .changed = all->count || all->threaded || all->cores,
                                .block = UINT32_MAX,
                                .speedup_count = all->count,
                                .speedups = all->speedups};
    crn_outcome outcome = {.begins = NULL};
    crn_replay_run(report.replay, &scenario, &outcome);
    report.outcome = &outcome;
    report.recorded = crn_replay_latency(report.replay, NULL);
    report.predicted = crn_replay_latency(report.replay, &outcome);
    report.reasons = crn_whatif_reasons(&report);
    crn_effects effects = {.count = 0};
    if (table) {
        effects = effects_of(&report);
        report.effects = &effects;
    }
    crn_whatif_json(out, &report);
    crn_effects_free(&effects);
    crn_outcome_free(&outcome);
    crn_free(report.reasons);
}

bool crn_view_whatif(FILE *out, crn_view *view, const crn_view_query *query)
{
    crn_view_file *file = crn_view_file_of(view, query);
    uint64_t table;
    if (!file || !crn_view_file_spans(view, file) || !crn_view_number(query, "table", 0, 1, &table))
        return false;
    changes all = changes_new(file);
    bool good = changes_read(&all, file, query);
    if (good)
        write_whatif(out, view, file, &all, table);
    changes_free(&all);
    return good;
}
