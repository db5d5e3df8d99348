/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/common/figure.h"
#include "cli/common/progress.h"
#include "cli/common/terminal.h"
#include "cli/fleet/fleet.h"
#include "commands.h"
#include "spans/spans.h"
#include "symbols/symbols.h"

enum { LABELS_MAX = 64 };

static struct {
    crn_list captures, labels;
    crn_fleet_given fleet;
} given = {.fleet = {.retry_s = 60}};

static const crn_option options[] = {
    CRN_FLEET_OPTIONS(given.fleet),
    {"label", 'l', .argument = "KEY=VALUE",
     .help = "Label the runs; may be repeated. service, version and host have columns of their own",
     .more =
         "The service is otherwise the program's name, and the host this machine's. More labels "
         "are taken from the environment variable CAIRN_LABELS, separated by commas.",
     .list = &given.labels},
    {"retry", .argument = "SECONDS",
     .help = "Try again for so long while the server is away or overloaded (60)",
     .number = &given.fleet.retry_s, .most = 86400},
    {0},
};

static const char doc[] =
    "Send captures to a ClickHouse database, for cairn fleet.\vThe same capture counts once, "
    "however often it is sent: after an error or a broken connection send it again. Create the "
    "tables once with cairn fleet init. docs/FLEET.md describes them.\n\n  export "
    "CAIRN_FLEET=clickhouse://db.example/cairn\n  cairn push build.cairn --label version=1.2\n\n"
    "Exit status: 0, or 2 if a capture was not sent.";

/* ---- labels ---- */

typedef struct labels {
    crn_push_label list[LABELS_MAX];
    size_t count;
    char *texts; /* owns those of the environment */
    char host[256], service[256];
} labels;

static bool label_add(labels *labels, char *text)
{
    char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return crn_cli_fail("label \"%s\": write KEY=VALUE", text) == CRN_EXIT_OK;
    if (labels->count == LABELS_MAX)
        return crn_cli_fail("more than %d labels", LABELS_MAX) == CRN_EXIT_OK;
    *equals = '\0';
    labels->list[labels->count++] = (crn_push_label){text, equals + 1};
    return true;
}

/* Labels of the command line first: of two for one key the first counts. */
static bool labels_take(labels *labels)
{
    const char *environment = getenv("CAIRN_LABELS");
    char *rest = NULL;
    for (size_t i = 0; i < given.labels.count; i++)
        if (!label_add(labels, given.labels.list[i]))
            return false;
    labels->texts = crn_strdup(environment ? environment : "");
    for (char *text = strtok_r(labels->texts, ",", &rest); text; text = strtok_r(NULL, ",", &rest))
        if (!label_add(labels, text))
            return false;
    gethostname(labels->host, sizeof labels->host - 1);
    if (labels->count + 2 > LABELS_MAX)
        return crn_cli_fail("more than %d labels", LABELS_MAX - 2) == CRN_EXIT_OK;
    return true;
}

/* The program's name: the first word of its command, without folders. */
static const char *service_of(labels *labels, const crn_profile *profile)
{
    const char *command = crn_profile_note(profile, "command", "unknown");
    size_t length = strcspn(command, " ");
    const char *slash = memrchr(command, '/', length);
    const char *name = slash ? slash + 1 : command;
    snprintf(labels->service, sizeof labels->service, "%.*s",
             (int)(length - (size_t)(name - command)), name);
    return labels->service;
}

/* ---- captures ---- */

typedef struct loaded {
    crn_profile *recorded, *shown; /* may be the same */
    crn_span_store *spans;
} loaded;

static void unload(loaded *loaded)
{
    if (loaded->shown != loaded->recorded)
        crn_profile_free(loaded->shown);
    crn_profile_free(loaded->recorded);
    crn_store_close(loaded->spans);
}

static bool load(loaded *loaded, const char *path, crn_error *error)
{
    *loaded = (struct loaded){.recorded = crn_profile_load(path, error)};
    loaded->shown = loaded->recorded;
    if (!loaded->recorded)
        return false;
    loaded->spans = crn_store_open(path, error);
    if (loaded->spans && crn_symbols_wanted(loaded->recorded))
        loaded->shown = crn_symbols_resolve(loaded->recorded, NULL, NULL);
    return loaded->spans != NULL;
}

static int push(crn_database *database, labels *labels, const char *path)
{
    crn_error error = {0};
    loaded loaded;
    crn_push_sum sum;
    char run[33], figure[CRN_FIGURE_SIZE];
    size_t own = labels->count;
    if (!load(&loaded, path, &error)) {
        unload(&loaded);
        return crn_cli_fail("%s", error.message);
    }
    labels->list[labels->count++] = (crn_push_label){"service", service_of(labels, loaded.shown)};
    labels->list[labels->count++] = (crn_push_label){"host", labels->host};
    crn_push_options options = {labels->list, labels->count, crn_progress_at};
    crn_progress_begin("%s: sending %s", crn_cli_name, path);
    bool good =
        crn_push(database, loaded.shown, loaded.recorded, loaded.spans, &options, &sum, &error);
    crn_progress_end();
    if (good)
        crn_terminal_format(stdout, "%s: run %s of %s, %" PRIu64 " rows, %s\n", path,
                            crn_fleet_id_text(run, &sum.run),
                            crn_push_label_of(&options, "service", ""), sum.rows,
                            crn_figure_alone(figure, CRN_UNIT_BYTES, sum.bytes));
    labels->count = own;
    unload(&loaded);
    return good ? CRN_EXIT_OK
                : crn_cli_fail("%s: not all of it was sent: %s; to send it again is safe", path,
                               error.message);
}

static int run(void)
{
    labels labels = {.count = 0};
    int status = labels_take(&labels) ? CRN_EXIT_OK : CRN_EXIT_BAD;
    crn_database *database = status == CRN_EXIT_OK ? crn_fleet_open(&given.fleet) : NULL;
    if (!database)
        status = CRN_EXIT_BAD;
    for (size_t i = 0; database && i < given.captures.count; i++)
        if (push(database, &labels, given.captures.list[i]) != CRN_EXIT_OK)
            status = CRN_EXIT_BAD;
    crn_database_close(database);
    crn_free(labels.texts);
    return status;
}

const crn_command crn_command_push = {
    .name = "push",
    .purpose = "send captures to a fleet's database",
    .arguments = "CAPTURE...",
    .doc = doc,
    .options = options,
    .words = &given.captures,
    .least = 1,
    .run = run,
};
