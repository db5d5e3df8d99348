/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/fleet/fleet.h"
#include "cli/fleet/round.h"
#include "cli/fleet/spool.h"
#include "commands.h"

static struct {
    crn_list captures, labels;
    crn_fleet_given fleet;
    const char *spool;
    long keep_mib;
} given = {.fleet = {.retry_s = 60}};

static const crn_option options[] = {
    CRN_FLEET_OPTIONS(given.fleet),
    CRN_FLEET_OPTION_LABEL(&given.labels),
    {"retry", .argument = "SECONDS",
     .help = "While the server is away or overloaded, try again for this time (60)",
     .number = &given.fleet.retry_s, .most = 86400},
    {"spool", .argument = "DIR",
     .help = "Keep what cannot be sent in DIR; send what is there first, and delete it then",
     .text = &given.spool},
    {"keep", .argument = "MIB",
     .help =
         "While captures in DIR have more than MIB mebibytes, merge the oldest: totals survive, "
         "spans do not",
     .number = &given.keep_mib, .least = 1},
    {0},
};

static const char doc[] =
    "Send captures to a ClickHouse database, for cairn fleet.\vThe same capture counts once, "
    "however often it is sent: after an error or a broken connection send it again. Create the "
    "tables once with cairn fleet init. docs/FLEET.md describes them.\n\nWith --spool DIR captures "
    "that cannot be sent are copied to DIR, until another push with --spool, or cairn agent DIR, "
    "sends "
    "them.\n\nWith --to "
    "otlp://HOST:PORT spans and profiles go to a collector of OpenTelemetry, with --to "
    "pyroscope://HOST:PORT profiles to Pyroscope; otlps and pyroscopes with TLS.\n\n  export "
    "CAIRN_FLEET=clickhouse://db.example/cairn\n  cairn push build.cairn --label version=1.2\n\n"
    "Exit status: 0, or 2 if a capture was neither sent nor kept in the spool.";

static void note_result(void *data, const crn_round_result *result)
{
    int *status = data;
    if (!result->error) {
        crn_fleet_print_sent(stdout, result->path, result->sent);
        return;
    }
    crn_cli_fail("%s: not all of it was sent: %s; to send it again is safe", result->path,
                 result->error->message);
    bool refused = result->error->code == CRN_DATABASE_REFUSED;
    if (!given.spool || refused || !result->sent->read ||
        !crn_spool_put(given.spool, result->path, result->item))
        *status = CRN_EXIT_BAD;
}

/* Sends the spool's captures, then the given ones. With --spool, puts those into the spool that
 * come after the server took nothing. Returns an exit status. */
static int push_all(crn_database *database, crn_fleet_labels *labels)
{
    int status = CRN_EXIT_OK;
    bool takes = true;
    if (given.spool)
        crn_spool_send(given.spool, database, &takes);
    crn_round *round = crn_round_new(database, labels, note_result, &status);
    for (size_t i = 0; i < given.captures.count; i++)
        if (takes || !given.spool)
            takes = crn_round_add(round, given.captures.list[i], NULL, NULL, labels);
        else if (!crn_spool_put(given.spool, given.captures.list[i], labels))
            status = CRN_EXIT_BAD;
    crn_round_end(round, NULL);
    if (given.spool && given.keep_mib)
        crn_spool_limit(given.spool, (uint64_t)given.keep_mib << 20);
    return status;
}

static int collect_all(crn_collector *collector, crn_fleet_labels *labels)
{
    int status = CRN_EXIT_OK;
    for (size_t i = 0; i < given.captures.count; i++) {
        crn_error error = {0};
        const char *path = given.captures.list[i];
        if (!crn_collector_send(collector, labels, path, &error))
            status = crn_cli_fail("%s: not all of it was sent: %s", path, error.message);
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
    int status = database    ? push_all(database, &labels)
                 : collector ? collect_all(collector, &labels)
                             : CRN_EXIT_BAD;
    crn_collector_close(collector);
    crn_database_close(database);
    crn_free(labels.texts);
    return status;
}

static void check(struct argp_state *state)
{
    if (!given.captures.count && !given.spool)
        argp_error(state, "no capture given; write its path");
    if (given.keep_mib && !given.spool)
        argp_error(state, "--keep is for --spool");
}

const crn_command crn_command_push = {
    .name = "push",
    .purpose = "send captures to a fleet's database",
    .arguments = "[CAPTURE...]",
    .doc = doc,
    .options = options,
    .words = &given.captures,
    .check = check,
    .run = run,
};
