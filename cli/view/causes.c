/* SPDX-License-Identifier: MIT
 *
 * The page's answers of cairn explain and cairn whatif.
 */
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

enum { EFFECTS_TOP = 12, THREADS_MAX = 4096 };

/* ---- explain ---- */

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
        crn_view_explanation_write(out, view, file, (uint32_t)block, choice);
    return true;
}

/* ---- what if ---- */

/* Parses "12:2.5", a block and a number above 0. On an error prints a message and returns false. */
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
