/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>

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
    "tables once with cairn fleet init. docs/FLEET.md describes them.\n\nWith --to "
    "otlp://HOST:PORT spans and profiles go to a collector of OpenTelemetry, with --to "
    "pyroscope://HOST:PORT profiles to Pyroscope; otlps and pyroscopes with TLS.\n\n  export "
    "CAIRN_FLEET=clickhouse://db.example/cairn\n  cairn push build.cairn --label version=1.2\n\n"
    "Exit status: 0, or 2 if a capture was not sent.";

static bool push(crn_database *database, crn_fleet_labels *labels, const char *path,
                 crn_error *error)
{
    crn_fleet_sent sent = {.metrics = NULL};
    crn_progress_begin("%s: sending %s", crn_cli_name, path);
    bool good = crn_fleet_send(database, labels, path, NULL, &sent, error);
    crn_progress_end();
    if (good)
        crn_fleet_print_sent(stdout, path, &sent);
    return good;
}

static int push_all(crn_database *database, crn_collector *collector, crn_fleet_labels *labels)
{
    int status = CRN_EXIT_OK;
    for (size_t i = 0; i < given.captures.count; i++) {
        crn_error error = {0};
        const char *path = given.captures.list[i];
        if (collector ? crn_collector_send(collector, labels, path, &error)
                      : push(database, labels, path, &error))
            continue;
        status = crn_cli_fail("%s: not all of it was sent: %s%s", path, error.message,
                              collector ? "" : "; to send it again is safe");
    }
    return status;
}

static int run(void)
{
    crn_fleet_labels labels = {.count = 0};
    const char *url = given.fleet.url ? given.fleet.url : getenv("CAIRN_FLEET");
    crn_collector *collector = NULL;
    crn_database *database = NULL;
    bool good = crn_fleet_labels_take(&labels, &given.labels);
    if (good && crn_collector_is(url)) {
        given.fleet.url = url;
        collector = crn_collector_open(&given.fleet);
    } else if (good) {
        database = crn_fleet_open(&given.fleet);
    }
    int status = database || collector ? push_all(database, collector, &labels) : CRN_EXIT_BAD;
    crn_collector_close(collector);
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
