/* SPDX-License-Identifier: MIT
 *
 * Explains why a function's spans differ across runs: fetches the runs, gives these spans the
 * attributes version and host, and explains them as `cairn explain` does.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/common/progress.h"
#include "cli/explain/explain.h"
#include "fleet.h"

enum { RUNS_MAX = 50 };

typedef struct found_run {
    crn_fleet_id id;
    char *version, *host;
    char path[96];
} found_run;

/* Finds the newest runs with spans of the function. On an error prints a message and returns
 * false. */
static bool find_runs(crn_database *database, const crn_fleet_filter *filter, const char *function,
                      found_run *runs, size_t *count)
{
    crn_error error = {0};
    crn_answer answer = {0};
    crn_sql sql = {0};
    crn_sql_add(&sql, "SELECT run, version, host FROM runs FINAL WHERE ");
    crn_fleet_filter_sql(filter, &sql);
    crn_sql_add(&sql, " AND run GLOBAL IN (SELECT DISTINCT run FROM spans WHERE block GLOBAL IN "
                      "(SELECT block FROM blocks WHERE name = ");
    crn_sql_literal(&sql, function);
    crn_sql_add(&sql, ")) ORDER BY started DESC, run LIMIT %d", RUNS_MAX);
    bool good = crn_database_query(database, sql.text, &answer, &error);
    while (good && *count < RUNS_MAX && crn_answer_more(&answer)) {
        found_run *run = &runs[(*count)++];
        run->id = crn_answer_id(&answer);
        run->version = crn_answer_copy(&answer);
        run->host = crn_answer_copy(&answer);
    }
    if (good && answer.bad)
        good = crn_error_set(&error, 1, "the server's answer is cut short or damaged");
    crn_answer_free(&answer);
    crn_sql_free(&sql);
    if (!good)
        return crn_cli_fail("%s", error.message) == CRN_EXIT_OK;
    return *count || crn_cli_fail("no run that matches has spans of \"%s\"; cairn fleet spans "
                                  "lists functions with spans",
                                  function) == CRN_EXIT_OK;
}

static uint16_t key_add(crn_trace *trace, const char *name)
{
    for (uint32_t k = 0; k < trace->key_count; k++)
        if (strcmp(trace->keys[k], name) == 0)
            return (uint16_t)k;
    trace->keys =
        crn_realloc((void *)trace->keys, trace->key_count + (size_t)1, sizeof *trace->keys);
    trace->keys[trace->key_count] = crn_intern_text(trace->texts, name);
    return (uint16_t)trace->key_count++;
}

/* Adds the run's version and host to all spans of the function. */
static void label_spans(crn_trace *trace, const crn_profile *profile, const char *function,
                        const found_run *run)
{
    const char *values[] = {run->version, run->host};
    uint16_t keys[] = {key_add(trace, "version"), key_add(trace, "host")};
    crn_attribute *all =
        crn_calloc(trace->attribute_count + 2 * (size_t)trace->span_count + 1, sizeof *all);
    uint32_t count = 0, next = 0;
    for (uint32_t s = 0; s < trace->span_count; s++) {
        while (next < trace->attribute_count && trace->attributes[next].span == s)
            all[count++] = trace->attributes[next++];
        if (strcmp(profile->blocks[trace->spans[s].block].name, function) != 0)
            continue;
        for (int i = 0; i < 2; i++)
            all[count++] = (crn_attribute){.span = s,
                                           .kind = CRN_ATTRIBUTE_TEXT,
                                           .key = keys[i],
                                           .value.text = crn_intern_text(trace->texts, values[i])};
    }
    crn_free(trace->attributes);
    trace->attributes = all;
    trace->attribute_count = count;
}

/* Fetches a run's spans into a file. On an error sets `*error` and returns false. */
static bool fetch(crn_database *database, const char *function, const found_run *run,
                  crn_error *error)
{
    crn_trace *trace;
    crn_profile *profile = crn_fleet_fetch(database, &run->id, &trace, error);
    bool good = profile != NULL;
    if (trace) {
        label_spans(trace, profile, function, run);
        good = crn_trace_save(profile, trace, run->path, error);
    }
    crn_trace_free(trace);
    crn_profile_free(profile);
    return good;
}

/* Fetches the spans of all runs into files of the folder. On an error prints a message and returns
 * false. */
static bool fetch_all(crn_database *database, const char *function, const char *folder,
                      found_run *runs, size_t count)
{
    crn_error error = {0};
    bool good = true;
    crn_progress_begin("%s: fetching %zu run%s", crn_cli_name, count, count == 1 ? "" : "s");
    for (size_t i = 0; good && i < count; i++) {
        crn_progress_at(i, count);
        snprintf(runs[i].path, sizeof runs[i].path, "%s/%zu.cairn", folder, i);
        good = fetch(database, function, &runs[i], &error);
    }
    crn_progress_end();
    return good || crn_cli_fail("%s", error.message) == CRN_EXIT_OK;
}

static bool explain(const found_run *runs, size_t count, const char *function,
                    const crn_fleet_shown *shown)
{
    char *paths[RUNS_MAX];
    crn_span_source source;
    for (size_t i = 0; i < count; i++)
        paths[i] = (char *)runs[i].path;
    bool good = crn_span_source_open_all(&source, paths, count);
    uint8_t *named = good ? crn_span_source_named(&source, function) : NULL;
    if (named) {
        uint64_t *chosen = crn_bits_new(source.trace->span_count);
        for (uint32_t s = 0; s < source.trace->span_count; s++)
            if (named[s])
                crn_bits_set(chosen, s);
        crn_explain_report report = {.source = &source,
                                     .block = function,
                                     .top = shown->limit ? (uint32_t)shown->limit : UINT32_MAX};
        if (!shown->json)
            printf("%zu run%s%s\n", count, count == 1 ? "" : "s",
                   count == RUNS_MAX ? ", the newest that match" : "");
        crn_explain_run(stdout, &report, chosen, shown->json ? crn_explain_json : crn_explain_text);
        crn_free(chosen);
    }
    crn_free(named);
    crn_span_source_close(&source);
    return named != NULL;
}

bool crn_fleet_explain(crn_database *database, const crn_fleet_filter *filter, const char *function,
                       const crn_fleet_shown *shown)
{
    found_run *runs = crn_calloc(RUNS_MAX, sizeof *runs);
    const char *temporary = getenv("TMPDIR");
    char folder[40];
    size_t count = 0;
    snprintf(folder, sizeof folder, "%.20s/cairn-XXXXXX",
             temporary && strlen(temporary) <= 20 ? temporary : "/tmp");
    bool made = mkdtemp(folder) != NULL ||
                crn_cli_fail("%s: cannot be made: is TMPDIR writable?", folder) == CRN_EXIT_OK;
    bool good = made && find_runs(database, filter, function, runs, &count) &&
                fetch_all(database, function, folder, runs, count) &&
                explain(runs, count, function, shown);
    for (size_t i = 0; i < count; i++) {
        unlink(runs[i].path);
        crn_free(runs[i].version);
        crn_free(runs[i].host);
    }
    if (made)
        rmdir(folder);
    crn_free(runs);
    return good;
}
