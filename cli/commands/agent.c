/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/fleet/watch.h"
#include "commands.h"

enum { DAY_S = 86400 };

static struct {
    crn_list folders, labels;
    crn_fleet_given fleet;
    long every_s, delete_days, keep_mib, metrics_port;
    bool once;
} given = {.every_s = 10};

static const crn_option options[] = {
    CRN_FLEET_OPTIONS(given.fleet),
    CRN_FLEET_OPTION_LABEL(&given.labels),
    {"every", .argument = "SECONDS", .help = "Look for changes this often (10)",
     .number = &given.every_s, .least = 1, .most = DAY_S},
    {"once", .help = "Send what is there, and end", .flag = &given.once},
    {"delete-after", .argument = "DAYS",
     .help = "Delete captures that ended and were sent so long ago", .number = &given.delete_days,
     .least = 1, .most = 36500},
    {"keep", .argument = "MIB",
     .help = "Delete the oldest captures that were sent while all have more than MIB mebibytes",
     .number = &given.keep_mib, .least = 1},
    {"metrics", .argument = "PORT",
     .help = "Serve figures of the captures for Prometheus at http://127.0.0.1:PORT/metrics",
     .number = &given.metrics_port, .least = 1, .most = UINT16_MAX},
    {0},
};

static const char doc[] =
    "Send the captures of a folder to a fleet's database, and what is new in those that grow.\v"
    "Programs leave captures there with CAIRN_OUT=DIR/%p.cairn. While the server is away captures "
    "wait; nothing is deleted that was not sent. SIGTERM ends the agent after the capture at "
    "hand.\n\n  cairn agent /var/lib/cairn --to clickhouse://db.example/cairn --delete-after 7\n\n"
    "Exit status: 0, or 2 for bad input; with --once also if not everything was sent.";

static volatile sig_atomic_t ending;

static void end(int signal)
{
    (void)signal;
    ending = 1;
}

/* Sends what is new. Returns false if that failed. */
static bool send_news(crn_database *database, crn_fleet_labels *labels, const crn_watch *watch,
                      crn_watched *capture)
{
    crn_error error = {0};
    crn_fleet_sent sent = {.metrics = given.metrics_port ? &capture->metrics : NULL};
    char *path = crn_watched_path(watch, capture);
    if (!capture->state)
        capture->state = crn_push_state_new();
    bool good = crn_fleet_send(database, labels, path, capture->state, &sent, &error);
    if (!good) {
        crn_cli_fail("%s: %s", path, error.message);
        if (error.code == CRN_DATABASE_REFUSED && !sent.recording)
            crn_watch_refuse(watch, capture, error.message);
    } else if (sent.sum.rows)
        crn_fleet_print_sent(stdout, path, &sent);
    crn_watched_note(capture, good && sent.sum.rows);
    if (good && !sent.recording) {
        capture->finished = true;
        crn_push_state_free(capture->state);
        capture->state = NULL;
    }
    crn_free(path);
    return good;
}

static bool round_run(crn_database *database, crn_fleet_labels *labels, crn_watch *watch)
{
    bool good = crn_watch_scan(watch);
    for (size_t i = 0; i < watch->count && !ending; i++) {
        crn_watched *capture = &watch->captures[i];
        if (capture->finished)
            continue;
        if (capture->due)
            capture->due--;
        else
            good &= send_news(database, labels, watch, capture);
    }
    crn_watch_delete(watch, (uint64_t)given.delete_days * DAY_S, (uint64_t)given.keep_mib << 20);
    crn_watch_save(watch);
    fflush(stdout);
    return good;
}

static void publish(crn_metrics_server *server, const crn_watch *watch)
{
    const crn_metrics_lines **lines = crn_calloc(watch->count + 1, sizeof *lines);
    for (size_t i = 0; i < watch->count; i++)
        lines[i] = &watch->captures[i].metrics;
    crn_metrics_set(server, lines, watch->count);
    crn_free((void *)lines);
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = end}; /* no SA_RESTART: it ends the pause */
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
}

static int watch_folder(crn_database *database, crn_fleet_labels *labels)
{
    crn_watch watch;
    bool good = true;
    if (!crn_watch_open(&watch, given.folders.list[0]))
        return CRN_EXIT_BAD;
    crn_metrics_server *server =
        given.metrics_port ? crn_metrics_serve((unsigned)given.metrics_port) : NULL;
    if (given.metrics_port && !server) {
        crn_watch_close(&watch);
        return CRN_EXIT_BAD;
    }
    catch_signals();
    do {
        good = round_run(database, labels, &watch);
        if (server)
            publish(server, &watch);
        struct timespec pause = {given.every_s, 0};
        if (!given.once && !ending)
            nanosleep(&pause, NULL);
    } while (!given.once && !ending);
    crn_metrics_stop(server);
    crn_watch_close(&watch);
    return good || !given.once ? CRN_EXIT_OK : CRN_EXIT_BAD;
}

static int run(void)
{
    crn_fleet_labels labels = {.count = 0};
    crn_database *database =
        crn_fleet_labels_take(&labels, &given.labels) ? crn_fleet_open(&given.fleet) : NULL;
    int status = database ? watch_folder(database, &labels) : CRN_EXIT_BAD;
    crn_database_close(database);
    crn_free(labels.texts);
    return status;
}

static void check(struct argp_state *state)
{
    if (given.folders.count != 1)
        argp_error(state, "give one folder");
}

const crn_command crn_command_agent = {
    .name = "agent",
    .purpose = "send a folder's captures to a fleet's database",
    .arguments = "DIR",
    .doc = doc,
    .options = options,
    .words = &given.folders,
    .least = 1,
    .missing = "no folder given; write its path",
    .check = check,
    .run = run,
};
