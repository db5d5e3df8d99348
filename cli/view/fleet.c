/* SPDX-License-Identifier: MIT
 *
 * The page on a fleet's database. To look closer, it fetches a run, or the sum of several, as a
 * file of the view, like one dropped onto the page.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/common/json.h"
#include "cli/fleet/fleet.h"
#include "view.h"

static bool has_fleet(const crn_view *view)
{
    return view->fleet ||
           crn_cli_fail("there is no database; start cairn view with --fleet URL") == CRN_EXIT_OK;
}

/* Parses the conditions `service` and `where`, which may repeat. On an error prints a message and
 * returns false. */
static bool filter_of(crn_fleet_filter *filter, const crn_view_query *query)
{
    crn_error error = {0};
    const char *service = crn_view_text(query, "service");
    *filter = (crn_fleet_filter){.service = service && *service ? service : NULL};
    for (size_t i = 0; i < query->count; i++)
        if (strcmp(query->items[i].key, "where") == 0 && *query->items[i].value &&
            !crn_fleet_filter_add(filter, query->items[i].value, &error))
            return crn_cli_fail("%s", error.message) == CRN_EXIT_OK;
    return true;
}

static const crn_question *question_of(const char *name)
{
    for (size_t i = 0; name && i < crn_question_count; i++)
        if (strcmp(crn_questions[i].name, name) == 0)
            return &crn_questions[i];
    crn_cli_fail("\"%s\" is not a question of cairn fleet", name ? name : "");
    return NULL;
}

bool crn_view_fleet_ask(FILE *out, crn_view *view, const crn_view_query *query)
{
    crn_fleet_filter filter;
    const crn_question *question = question_of(crn_view_text(query, "question"));
    crn_question_about about = {.filter = &filter,
                                .metric = crn_view_some_text(query, "metric"),
                                .block = crn_view_some_text(query, "block"),
                                .by = crn_view_some_text(query, "by"),
                                .by_total = crn_view_some_text(query, "total") != NULL};
    return has_fleet(view) && question && filter_of(&filter, query) &&
           crn_view_number(query, "top", 20, 10000, &about.limit) &&
           crn_view_number(query, "step", 0, UINT32_MAX, &about.step) &&
           crn_fleet_ask(out, view->fleet, question, &about, true);
}

bool crn_view_fleet_diff(FILE *out, crn_view *view, const crn_view_query *query)
{
    crn_error error = {0};
    crn_fleet_filter filters[2];
    const char *sides[] = {crn_view_some_text(query, "before"), crn_view_some_text(query, "after")};
    bool above;
    if (!has_fleet(view))
        return false;
    for (int i = 0; i < 2; i++) {
        if (!filter_of(&filters[i], query))
            return false;
        if (!sides[i] || !crn_fleet_filter_add(&filters[i], sides[i], &error))
            return crn_cli_fail("%s", sides[i] ? error.message : "two groups of runs are needed") ==
                   CRN_EXIT_OK;
    }
    crn_fleet_shown shown = {
        .metric = crn_view_some_text(query, "metric"), .limit = 30, .fail_above = -1, .json = true};
    return crn_fleet_ask_compare(out, view->fleet, filters, &shown, &above);
}

/* Queries the services that have runs, the one with the newest run first. */
static bool services_ask(crn_view *view, crn_answer *answer)
{
    crn_error error = {0};
    return crn_database_query(view->fleet,
                              "SELECT service, toUInt64(count()), toUInt32(max(started)) AS last "
                              "FROM runs FINAL GROUP BY service ORDER BY last DESC, service "
                              "LIMIT 1000",
                              answer, &error) ||
           crn_cli_fail("%s", error.message) == CRN_EXIT_OK;
}

/* Adds the metrics of a service, the most useful first. */
static bool add_metrics(json_t *json, crn_view *view, const crn_view_query *query)
{
    crn_error error = {0};
    crn_fleet_filter filter;
    crn_answer answer = {0};
    crn_sql sql = {0};
    json_t *metrics = json_array();
    if (!filter_of(&filter, query))
        return false;
    crn_question_metrics(&sql, &filter);
    bool good = crn_database_query(view->fleet, sql.text, &answer, &error);
    while (good && crn_answer_more(&answer)) {
        json_t *metric = json_object();
        char *name = crn_answer_copy(&answer), *unit = crn_answer_copy(&answer);
        json_object_set_new(metric, "name", crn_json_text(name));
        json_object_set_new(metric, "unit", crn_json_text(unit));
        json_array_append_new(metrics, metric);
        crn_free(name);
        crn_free(unit);
    }
    crn_answer_free(&answer);
    crn_sql_free(&sql);
    json_object_set_new(json, "metrics", metrics);
    return good || crn_cli_fail("%s", error.message) == CRN_EXIT_OK;
}

bool crn_view_fleet(FILE *out, crn_view *view, const crn_view_query *query)
{
    crn_answer answer = {0};
    json_t *json = json_object(), *services = json_array();
    json_object_set_new(json, "database",
                        view->fleet ? crn_json_text(crn_database_name(view->fleet)) : json_null());
    bool good = !view->fleet || services_ask(view, &answer);
    while (good && crn_answer_more(&answer)) {
        json_t *service = json_object();
        char *name = crn_answer_copy(&answer);
        json_object_set_new(service, "name", crn_json_text(name));
        json_object_set_new(service, "runs", crn_json_number(crn_answer_number(&answer, 8)));
        json_object_set_new(service, "newest", crn_json_number(crn_answer_number(&answer, 4)));
        json_array_append_new(services, service);
        crn_free(name);
    }
    crn_answer_free(&answer);
    json_object_set_new(json, "services", services);
    good = good && (!view->fleet || add_metrics(json, view, query));
    crn_json_write(out, json);
    return good;
}

/* ---- runs as files ---- */

/* Writes a profile and spans into a new file of the view, and opens it. Frees profile and trace. */
static bool open_as(crn_view *view, crn_profile *profile, crn_trace *trace, const char *name)
{
    char *path = crn_view_upload_path(view, name);
    bool good = path && crn_cli_save_spans(profile, trace, path) == CRN_EXIT_OK &&
                crn_view_upload_open(view, path);
    if (!path)
        crn_cli_fail("no folder for fetched runs: %s", strerror(errno));
    crn_free(path);
    crn_trace_free(trace);
    crn_profile_free(profile);
    return good;
}

static bool open_sum(crn_view *view, const crn_fleet_filter *filter)
{
    crn_error error = {0};
    char name[100];
    crn_profile *profile = crn_fleet_fetch_sum(view->fleet, filter, &error);
    int length = snprintf(name, sizeof name, "%.40s", filter->service ? filter->service : "all");
    for (size_t i = 0; i < filter->count && length < 60; i++)
        length += snprintf(name + length, sizeof name - (size_t)length, " %.30s", filter->terms[i]);
    return profile ? open_as(view, profile, NULL, name)
                   : crn_cli_fail("%s", error.message) == CRN_EXIT_OK;
}

static bool open_run(crn_view *view, const char *text)
{
    crn_error error = {0};
    crn_fleet_id id;
    crn_trace *trace;
    if (!crn_fleet_id_parse(&id, text))
        return crn_cli_fail("\"%s\" is no run; it has 32 hexadecimal digits", text) == CRN_EXIT_OK;
    crn_profile *profile = crn_fleet_fetch(view->fleet, &id, &trace, &error);
    char name[50];
    snprintf(name, sizeof name, "run-%.8s.cairn", text);
    return profile ? open_as(view, profile, trace, name)
                   : crn_cli_fail("%s", error.message) == CRN_EXIT_OK;
}

bool crn_view_fleet_open(FILE *out, crn_view *view, const crn_view_query *query)
{
    crn_fleet_filter filter;
    const char *run = crn_view_some_text(query, "run");
    if (!has_fleet(view) || !filter_of(&filter, query) ||
        !(run ? open_run(view, run) : open_sum(view, &filter)))
        return false;
    fprintf(out, "{\"file\":%zu}\n", view->file_count - 1);
    crn_view_files_look(view, view->file_count - 1);
    return true;
}

bool crn_view_fleet_begin(crn_view *view)
{
    crn_answer answer = {0};
    if (!services_ask(view, &answer))
        return false;
    bool any = crn_answer_more(&answer);
    char *service = crn_answer_copy(&answer);
    crn_fleet_filter filter = {.service = service};
    bool good = any ? open_sum(view, &filter)
                    : crn_cli_fail("the database has no runs; send captures with cairn push") ==
                          CRN_EXIT_OK;
    crn_answer_free(&answer);
    crn_free(service);
    return good;
}
