/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/common/progress.h"
#include "cli/fleet/fleet.h"
#include "commands.h"
#include "spans/spans.h"

static struct {
    crn_list words; /* the question, then its arguments */
    crn_fleet_given fleet;
    crn_list where;
    const char *service, *metric, *output, *cluster, *by, *since;
    long top, keep_days;
    double fail_above;
    bool total, json;
} given = {.fleet = {.retry_s = 0}, .top = 20, .fail_above = -1};

static const crn_option options[] = {
    CRN_FLEET_OPTIONS(given.fleet),
    {"service", 's', .argument = "NAME", .help = "Only runs of this service",
     .text = &given.service},
    {"where", 'w', .argument = "KEY=VALUE",
     .help = "Only runs with this version, host, label; or since=7d, until=2026-11-01; may be "
             "repeated",
     .list = &given.where},
    CRN_OPTION_METRIC(&given.metric, "METRIC",
                      "The metric; default: wall if present, else ticks, another, calls", NULL),
    {"total", .help = "Sort by total cost in place of self cost", .flag = &given.total},
    CRN_OPTION_TOP(&given.top, " (20)"),
    {"fail-above", .argument = "PERCENT",
     .help = "For diff and regressions: exit with status 1 if a function or the total grew by more "
             "than this, beyond noise",
     .share = &given.fail_above},
    CRN_OPTION_OUTPUT(&given.output, "OUT", "For get: write the capture to OUT", NULL),
    {"keep", .argument = "DAYS",
     .help = "For init: delete runs after DAYS (servers from version 20 on)",
     .number = &given.keep_days, .least = 1},
    {"cluster", .argument = "NAME",
     .help = "For init: distribute the rows over the shards of this cluster; run it once for each "
             "server",
     .text = &given.cluster},
    {"by", .argument = "KEY",
     .help = "For top: a row for each version, host, service, or value of this label",
     .text = &given.by},
    {"since", .argument = "AGE", .help = "Only runs of the last AGE: 12h, 7d, 4w",
     .text = &given.since},
    CRN_OPTION_JSON(&given.json),
    {0},
};

static const char doc[] =
    "Ask about the runs of many machines in a ClickHouse database.\vQuestions:\n\n"
    "  init                  create the tables that are missing\n"
    "  schema                print their SQL\n"
    "  runs                  list the runs, newest first\n"
    "  top                   functions by cost over all runs\n"
    "  diff BEFORE AFTER     what changed beyond noise, as from version=1.1 to version=1.2\n"
    "  regressions           what changed from one period to the next, the last --since (7d)\n"
    "  trend [FUNCTION]      mean cost a run, by version\n"
    "  history [FUNCTION]    cost of each run\n"
    "  hours [FUNCTION]      cost by hour, also of runs that have not ended\n"
    "  spans [FUNCTION]      durations of spans by name\n"
    "  heat [FUNCTION]       number of spans by hour and duration, and the longest spans\n"
    "  slowest [FUNCTION]    the longest single spans, with their runs\n"
    "  explain FUNCTION      why its spans differ in duration; also by version and host\n"
    "  get RUN -o OUT        fetch a run back as a capture\n\n"
    "  cairn fleet top --service parser --where since=7d\n"
    "  cairn fleet regressions --since 7d --service parser --fail-above 3%\n\n"
    "Exit status: 0; 1 if --fail-above found a growth; 2 for bad input or an error.";

/* ---- shared by the questions ---- */

static bool filter_take(crn_fleet_filter *filter)
{
    crn_error error = {0};
    static char since[64];
    *filter = (crn_fleet_filter){.service = given.service};
    if (given.since && strcmp(given.words.list[0], "regressions") != 0) {
        snprintf(since, sizeof since, "since=%s", given.since);
        if (!crn_fleet_filter_add(filter, since, &error))
            return crn_cli_fail("%s", error.message) == CRN_EXIT_OK;
    }
    for (size_t i = 0; i < given.where.count; i++)
        if (!crn_fleet_filter_add(filter, given.where.list[i], &error))
            return crn_cli_fail("%s", error.message) == CRN_EXIT_OK;
    return true;
}

/* ---- questions with one table as the answer ---- */

static int ask(crn_database *database, const crn_question *question)
{
    crn_fleet_filter filter;
    if (!filter_take(&filter))
        return CRN_EXIT_BAD;
    crn_question_about about = {.filter = &filter,
                                .metric = given.metric,
                                .block = given.words.count > 1 ? given.words.list[1] : NULL,
                                .by = given.by,
                                .by_total = given.total,
                                .limit = given.top ? (uint64_t)given.top : INT32_MAX};
    return crn_fleet_ask(stdout, database, question, &about, given.json) ? CRN_EXIT_OK
                                                                         : CRN_EXIT_BAD;
}

/* ---- comparisons ---- */

static int compare(crn_database *database, const crn_fleet_filter filters[2])
{
    bool above = false;
    crn_fleet_shown shown = {.metric = given.metric,
                             .limit = (size_t)given.top,
                             .fail_above = given.fail_above,
                             .json = given.json};
    if (!crn_fleet_ask_compare(stdout, database, filters, &shown, &above))
        return CRN_EXIT_BAD;
    return above ? CRN_EXIT_NO : CRN_EXIT_OK;
}

static int diff(crn_database *database)
{
    crn_error error = {0};
    crn_fleet_filter filters[2];
    for (size_t i = 0; i < 2; i++) {
        if (!filter_take(&filters[i]))
            return CRN_EXIT_BAD;
        if (!crn_fleet_filter_add(&filters[i], given.words.list[i + 1], &error))
            return crn_cli_fail("%s", error.message);
    }
    return compare(database, filters);
}

/* Compares the runs of the last --since, such as 7d, with those of as long a time before. Doubles
 * the number to get the begin of that time: 14d. */
static int regressions(crn_database *database)
{
    crn_error error = {0};
    crn_fleet_filter filters[2];
    const char *age = given.since ? given.since : "7d";
    char since[64], until[64], before[64];
    char *unit;
    long count = strtol(age, &unit, 10);
    snprintf(since, sizeof since, "since=%s", age);
    snprintf(until, sizeof until, "until=%s", age);
    snprintf(before, sizeof before, "since=%ld%s", count * 2, unit);
    if (!filter_take(&filters[0]) || !filter_take(&filters[1]))
        return CRN_EXIT_BAD;
    if (count <= 0 || !crn_fleet_filter_add(&filters[1], since, &error) ||
        !crn_fleet_filter_add(&filters[0], until, &error) ||
        !crn_fleet_filter_add(&filters[0], before, &error))
        return crn_cli_fail("\"%s\" is no age; write 12h, 7d or 4w", age);
    return compare(database, filters);
}

/* ---- the rest ---- */

static int explain(crn_database *database)
{
    crn_fleet_filter filter;
    crn_fleet_shown shown = {.limit = (size_t)given.top, .json = given.json};
    if (!filter_take(&filter))
        return CRN_EXIT_BAD;
    return crn_fleet_explain(database, &filter, given.words.list[1], &shown) ? CRN_EXIT_OK
                                                                             : CRN_EXIT_BAD;
}

static bool print_statement(void *data, const char *sql, crn_error *error)
{
    (void)error;
    fprintf(data, "%s;\n", sql);
    return true;
}

static int schema(crn_database *database)
{
    crn_error error = {0};
    crn_schema_options options = {
        .server = 20, .keep_days = (unsigned)given.keep_days, .cluster = given.cluster};
    bool good =
        crn_schema_each(crn_database_name(database), &options, print_statement, stdout, &error);
    return good ? CRN_EXIT_OK : crn_cli_fail("%s", error.message);
}

static int init(crn_database *database)
{
    crn_error error = {0};
    crn_schema_options options = {.keep_days = (unsigned)given.keep_days, .cluster = given.cluster};
    if (!crn_schema_create(database, options, &error))
        return crn_cli_fail("%s", error.message);
    printf("the tables are there; send captures with: cairn push\n");
    return CRN_EXIT_OK;
}

static int get(crn_database *database)
{
    crn_error error = {0};
    crn_fleet_id id;
    crn_trace *trace;
    if (!given.output)
        return crn_cli_fail("no output given; write -o OUT.cairn");
    if (!crn_fleet_id_parse(&id, given.words.list[1]))
        return crn_cli_fail("\"%s\" is no run; it has 32 hexadecimal digits, as cairn fleet runs "
                            "prints them",
                            given.words.list[1]);
    crn_progress_begin("%s: fetching the run", crn_cli_name);
    crn_profile *profile = crn_fleet_fetch(database, &id, &trace, &error);
    crn_progress_end();
    if (!profile)
        return crn_cli_fail("%s", error.message);
    for (size_t i = 0; i < profile->warning_count; i++)
        crn_cli_fail("about the capture that was sent: %s", profile->warnings[i]);
    int status = crn_cli_save_spans(profile, trace, given.output);
    crn_trace_free(trace);
    crn_profile_free(profile);
    return status;
}

typedef struct verb {
    const char *name;
    size_t arguments;
    int (*run)(crn_database *database);
} verb;

static const verb verbs[] = {{"init", 0, init},       {"schema", 0, schema},
                             {"diff", 2, diff},       {"regressions", 0, regressions},
                             {"explain", 1, explain}, {"get", 1, get}};

static void check(struct argp_state *state)
{
    const crn_list *words = &given.words;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(words->list[0], verbs[i].name) == 0) {
            if (words->count - 1 != verbs[i].arguments)
                argp_error(state, "%s takes %zu arguments, not %zu", words->list[0],
                           verbs[i].arguments, words->count - 1);
            return;
        }
    for (size_t i = 0; i < crn_question_count; i++)
        if (strcmp(words->list[0], crn_questions[i].name) == 0) {
            if (words->count > 1 + (size_t)crn_questions[i].by_block)
                argp_error(state, "\"%s\": %s takes %s; select runs with --where",
                           words->list[words->count - 1], words->list[0],
                           crn_questions[i].by_block ? "one function" : "no arguments");
            return;
        }
    argp_error(state, "\"%s\" is not a subcommand; see cairn fleet --help", words->list[0]);
}

static int run(void)
{
    int status = CRN_EXIT_BAD;
    crn_database *database = crn_fleet_open(&given.fleet);
    if (!database)
        return status;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(given.words.list[0], verbs[i].name) == 0)
            status = verbs[i].run(database);
    for (size_t i = 0; i < crn_question_count; i++)
        if (strcmp(given.words.list[0], crn_questions[i].name) == 0)
            status = ask(database, &crn_questions[i]);
    crn_database_close(database);
    return status;
}

const crn_command crn_command_fleet = {
    .name = "fleet",
    .purpose = "ask about the runs of many machines",
    .arguments = "QUESTION [ARGUMENT...]",
    .doc = doc,
    .options = options,
    .words = &given.words,
    .least = 1,
    .missing = "no question given; see cairn fleet --help",
    .check = check,
    .run = run,
};
