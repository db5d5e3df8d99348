/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "cli/common/cli.h"
#include "cli/common/newest.h"
#include "cli/common/progress.h"
#include "cli/query/query.h"
#include "commands.h"
#include "profile/profile.h"
#include "symbols/symbols.h"

enum { SQL_MAX = 1 << 20 };

static struct {
    crn_list words; /* captures, then the query */
    const char *sql, *file;
    bool csv, json, schema;
} given;

/* Returns true if the last argument is a query: it contains white space, or is empty. If the last
 * path contains some, the query must come from --file. A lone argument is also a path if it ends as
 * one, or is that of a file. */
static bool is_query(const crn_list *words)
{
    const char *word = words->list[words->count - 1];
    if (words->count == 1 && (crn_path_ends(word, ".cairn") || access(word, F_OK) == 0))
        return false;
    return !*word || strpbrk(word, " \t\n");
}

/* Takes the query and "-" off the words. */
static void check(struct argp_state *state)
{
    crn_list *words = &given.words;
    if (words->count && is_query(words))
        given.sql = words->list[--words->count];
    if (words->count && strcmp(words->list[words->count - 1], "-") == 0)
        given.file = words->list[--words->count];
    if (given.csv && given.json)
        argp_error(state, "--csv and --json exclude each other");
    if (given.file && given.sql)
        argp_error(state, "two queries given: \"%s\", and the file %s", given.sql, given.file);
    if (!words->count && !given.schema && !crn_newest_capture(words))
        argp_error(state, "no capture given; write its path");
}

static const crn_option options[] = {
    {"csv", .help = "As CSV, with a line of names first",
     .more =
         "NULL is an empty field, an empty text is \"\". A text that begins like a formula of a "
         "spreadsheet (=, +, -, @) has an apostrophe before it.",
     .flag = &given.csv},
    CRN_OPTION_JSON(&given.json),
    {"file", 'f', .argument = "FILE", .help = "Read the query from a file; \"-\" is standard input",
     .more = "\"-\" may also be given instead of the query.", .text = &given.file},
    {"schema", .help = "Print all tables, views and functions", .flag = &given.schema},
    {0},
};

static const char doc[] =
    "Query captures in SQL: spans, blocks, contexts, edges, attributes.\vSQLite reads the captures "
    "in place; there is no import, and nothing can be written. Without a query it lists the "
    "tables. Times are in nanoseconds.\n\n  cairn query app.cairn 'select * from summary'\n  cairn "
    "query app.cairn 'select ancestry(id), ms(duration) from spans\n      where name = \"render\" "
    "and iteration > 100 order by duration desc limit 5'\n\nExit status: 0, or 2 for bad input.";

/* ---- loading ---- */

typedef struct loaded {
    crn_query_file *files;
    crn_profile **recorded, **shown;
    uint32_t count;
} loaded;

static void unload(loaded *loaded)
{
    for (uint32_t i = 0; i < loaded->count; i++) {
        if (loaded->shown[i] != loaded->recorded[i])
            crn_profile_free(loaded->shown[i]);
        crn_profile_free(loaded->recorded[i]);
        crn_store_close(loaded->files[i].store);
    }
    crn_free(loaded->files);
    crn_free((void *)loaded->recorded);
    crn_free((void *)loaded->shown);
}

/* Loads the spans, and then the profiles: as recorded, which spans refer to, and as shown, with
 * functions for addresses. Both are the same profile if it has no addresses. */
static bool load(loaded *loaded, crn_error *error)
{
    *loaded = (struct loaded){.files = crn_calloc(given.words.count, sizeof *loaded->files),
                              .recorded = crn_calloc(given.words.count, sizeof *loaded->recorded),
                              .shown = crn_calloc(given.words.count, sizeof *loaded->shown)};
    for (uint32_t i = 0; i < given.words.count; i++) {
        const char *path = given.words.list[i];
        crn_span_store *store = crn_store_open(path, error);
        crn_profile *profile = store ? crn_profile_load(path, error) : NULL;
        if (!profile) {
            crn_store_close(store);
            return false;
        }
        loaded->recorded[i] = loaded->shown[i] = profile;
        loaded->count++;
        if (crn_symbols_wanted(profile))
            loaded->shown[i] = crn_symbols_resolve(profile, NULL, NULL);
        crn_live_derive(loaded->shown[i]);
        loaded->files[i] = (crn_query_file){.path = path,
                                            .profile = loaded->shown[i],
                                            .recorded = loaded->recorded[i],
                                            .store = store};
    }
    return true;
}

static char *read_file(const char *path)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (!file) {
        crn_cli_fail("%s: %s; check the path", path, strerror(errno));
        return NULL;
    }
    char *text = crn_calloc(SQL_MAX + 1, 1);
    size_t size = fread(text, 1, SQL_MAX + 1, file);
    bool good = !ferror(file);
    if (file != stdin)
        fclose(file);
    if (good && size <= SQL_MAX && !memchr(text, 0, size))
        return text;
    crn_cli_fail(!good            ? "%s: cannot be read"
                 : size > SQL_MAX ? "%s: is larger than 1 MiB, the limit for queries"
                                  : "%s: is not text",
                 path);
    crn_free(text);
    return NULL;
}

/* ---- schema ---- */

static int64_t count_rows(crn_query *query, const char *table)
{
    char sql[128];
    const char *rest;
    crn_error error;
    snprintf(sql, sizeof sql, "select count(*) from %s", table);
    crn_statement *statement = crn_statement_new(query, sql, &rest, &error);
    int64_t rows = statement && crn_statement_step(statement, &error) > 0
                       ? crn_statement_value(statement, 0).integer
                       : 0;
    crn_statement_free(statement);
    return rows;
}

static int list(crn_query *query, const char *path)
{
    puts("tables            rows");
    for (const crn_schema_table *table = crn_schema; table->name; table++)
        if (strcmp(table->kind, "table") == 0)
            printf("  %-13s %6lld  %s\n", table->name, (long long)count_rows(query, table->name),
                   table->says);
    puts("views");
    for (const crn_schema_table *table = crn_schema; table->name; table++)
        if (strcmp(table->kind, "view") == 0)
            printf("  %-20s  %s\n", table->name, table->says);
    puts("functions");
    for (const crn_schema_table *table = crn_schema; table->name; table++)
        if (strcmp(table->kind, "function") == 0)
            printf("  %-20s  %s\n", table->name, table->says);
    printf("\ncairn query --schema prints their columns. For example:\n  cairn query %s 'select * "
           "from summary'\n  cairn query %s 'select * from slowest limit 10'\n  cairn query %s "
           "'select name, iteration / 100 * 100 as part, median(duration)\n      from spans group "
           "by 1, 2'\n  cairn query %s 'select path(id), calls, ms(wall) from contexts\n      "
           "order by wall desc limit 10'\n",
           path, path, path, path);
    return CRN_EXIT_OK;
}

/* ---- queries ---- */

static crn_query *asked;

static void stop(int number)
{
    (void)number;
    crn_query_stop(asked);
}

/* Runs each statement; with JSON or CSV only one is allowed. */
static int answer(crn_query *query, const char *sql)
{
    crn_query_form form = given.csv ? CRN_QUERY_CSV : given.json ? CRN_QUERY_JSON : CRN_QUERY_TABLE;
    crn_error error;
    bool any = false;
    while (*sql) {
        crn_statement *statement = crn_statement_new(query, sql, &sql, &error);
        if (!statement && error.code)
            return crn_cli_fail("%s", error.message);
        if (!statement)
            continue;
        if (any && form != CRN_QUERY_TABLE) {
            crn_statement_free(statement);
            return crn_cli_fail("one statement at a time with --csv and --json");
        }
        if (any)
            putchar('\n');
        any = true;
        bool good = crn_query_print(stdout, statement, form, (const char *const *)given.words.list,
                                    (uint32_t)given.words.count, &error);
        crn_statement_free(statement);
        if (!good)
            return crn_cli_fail("%s", error.message);
    }
    return any ? CRN_EXIT_OK : crn_cli_fail("the query is empty; write a SELECT");
}

static int ask(const char *sql)
{
    loaded loaded;
    crn_error error = {0};
    crn_progress_begin("%s: reading %s", crn_cli_name, given.words.list[0]);
    bool good = load(&loaded, &error);
    crn_query *query = good ? crn_query_open(loaded.files, loaded.count, &error) : NULL;
    crn_progress_end();
    int status;
    if (!query) {
        status = crn_cli_fail("%s", error.message);
    } else if (!sql) {
        status = list(query, given.words.list[0]);
    } else {
        struct sigaction action = {.sa_handler = stop, .sa_flags = (int)SA_RESETHAND};
        asked = query;
        sigaction(SIGINT, &action, NULL);
        status = answer(query, sql);
        signal(SIGINT, SIG_DFL);
    }
    crn_query_close(query);
    unload(&loaded);
    return status;
}

static int run(void)
{
    int status = CRN_EXIT_BAD;
    char *text = NULL;
    if (given.schema) {
        text = crn_schema_text();
        fputs(text, stdout);
        status = CRN_EXIT_OK;
    } else if (!given.file || (text = read_file(given.file))) {
        status = ask(text ? text : given.sql);
    }
    crn_free(text);
    return status;
}

const crn_command crn_command_query = {
    .name = "query",
    .purpose = "query captures in SQL",
    .arguments = "[CAPTURE...] [SQL]",
    .doc = doc,
    .options = options,
    .words = &given.words,
    .check = check,
    .run = run,
};
