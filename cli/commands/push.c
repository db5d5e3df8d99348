/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <stdio.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/common/progress.h"
#include "cli/fleet/fleet.h"
#include "commands.h"

static struct {
    crn_list captures, labels;
    crn_fleet_given fleet;
} given = {.fleet = {.retry_s = 60}};

static const crn_option options[] = {
    CRN_FLEET_OPTIONS(given.fleet),
    CRN_FLEET_OPTION_LABEL(&given.labels),
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

static int push(crn_database *database, crn_fleet_labels *labels, const char *path)
{
    crn_error error = {0};
    crn_fleet_sent sent;
    crn_progress_begin("%s: sending %s", crn_cli_name, path);
    bool good = crn_fleet_send(database, labels, path, NULL, &sent, &error);
    crn_progress_end();
    if (!good)
        return crn_cli_fail("%s: not all of it was sent: %s; to send it again is safe", path,
                            error.message);
    crn_fleet_print_sent(stdout, path, &sent);
    return CRN_EXIT_OK;
}

static int run(void)
{
    crn_fleet_labels labels = {.count = 0};
    int status = CRN_EXIT_OK;
    crn_database *database =
        crn_fleet_labels_take(&labels, &given.labels) ? crn_fleet_open(&given.fleet) : NULL;
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
