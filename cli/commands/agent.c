/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/fleet/merge_unsent.h"
#include "cli/fleet/round.h"
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
     .help = "Delete captures that were sent and have not grown for DAYS",
     .number = &given.delete_days, .least = 1, .most = 36500},
    {"keep", .argument = "MIB",
     .help =
         "While all captures together have more than MIB mebibytes, delete the oldest that were "
         "sent, then merge the oldest that were not: totals survive, spans do not",
     .number = &given.keep_mib, .least = 1},
    {"metrics", .argument = "PORT",
     .help = "Serve figures of the captures for Prometheus at http://127.0.0.1:PORT/metrics",
     .number = &given.metrics_port, .least = 1, .most = UINT16_MAX},
    {0},
};

static const char doc[] =
    "Send the captures of a folder to a fleet's database, and what is new in those that grow.\v"
    "Programs leave captures there with CAIRN_OUT=DIR/%p.cairn. While the server is away captures "
    "wait; nothing is deleted that was not sent, or with --keep merged. A file CAPTURE.labels, "
    "with a line KEY=VALUE for each label, labels that capture in place of --label. SIGTERM ends "
    "the agent after the capture at hand.\n\n  cairn agent /var/lib/cairn --to "
    "clickhouse://db.example/cairn --delete-after 7\n\n"
    "Exit status: 0, or 2 for bad input; with --once also if not everything was sent.";

static volatile sig_atomic_t ending;

static void end(int signal)
{
    (void)signal;
    ending = 1;
}

/* Notes the result of sending a capture. */
static void note_result(void *data, const crn_round_result *result)
{
    crn_watched *capture = result->item;
    const crn_fleet_sent *sent = result->sent;
    bool good = !result->error, ended = sent->read && !sent->recording;
    capture->begun |= result->reached;
    if (!good) {
        crn_cli_fail("%s: %s", result->path, result->error->message);
        if (result->error->code == CRN_DATABASE_REFUSED && ended)
            crn_watch_refuse(data, capture, result->error->message);
    } else if (sent->sum.rows)
        crn_fleet_print_sent(stdout, result->path, sent);
    if (good || !sent->read)
        crn_watched_note(capture, good && sent->sum.rows);
    if (good && ended) {
        capture->finished = true;
        crn_push_state_free(capture->state);
        capture->state = NULL;
    }
}

/* Adds what is new in a capture to the round. Returns false if the server takes nothing. */
static bool add_news(crn_round *round, const crn_watch *watch, crn_watched *capture)
{
    char *path = crn_watched_path(watch, capture);
    if (!capture->state)
        capture->state = crn_push_state_new();
    bool takes = crn_round_add(round, path, capture->state,
                               given.metrics_port ? &capture->metrics : NULL, capture);
    crn_free(path);
    return takes;
}

/* Sends what is new in all captures, then deletes and merges captures as --delete-after and --keep
 * say. Returns false if something was not sent. Sets `*takes` to false if the server takes nothing,
 * otherwise to true. */
static bool round_run(crn_database *database, crn_fleet_labels *labels, crn_watch *watch,
                      bool *takes)
{
    bool good = crn_watch_scan(watch);
    crn_round *round = crn_round_new(database, labels, note_result, watch);
    *takes = true;
    for (size_t i = 0; i < watch->count && *takes && !ending; i++) {
        crn_watched *capture = &watch->captures[i];
        if (capture->finished)
            continue;
        if (capture->due)
            capture->due--;
        else
            *takes = add_news(round, watch, capture);
    }
    good &= crn_round_end(round, takes);
    uint64_t keep = (uint64_t)given.keep_mib << 20;
    crn_watch_delete(watch, (uint64_t)given.delete_days * DAY_S, keep);
    if (keep)
        crn_watch_merge(watch, keep);
    crn_watch_save(watch);
    fflush(stdout);
    return good;
}

/* Waits for the next round; a signal ends the wait. `failures` is the number of rounds in a row in
 * which the server took nothing: each after the first doubles the time, up to five minutes, unless
 * --every is longer. Then adds up to half of the time at random, so that many agents do not come
 * back at once. */
static void pause_for(unsigned failures)
{
    enum { LONGEST_MS = 300 * 1000 };
    uint64_t ms = (uint64_t)given.every_s * 1000;
    for (unsigned f = 1; f < failures && ms < LONGEST_MS; f++)
        ms = 2 * ms < LONGEST_MS ? 2 * ms : LONGEST_MS;
    if (failures)
        ms += (uint64_t)random() % (ms / 2);
    struct timespec pause = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    nanosleep(&pause, NULL);
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
    struct sigaction action = {.sa_handler = end}; /* a signal ends nanosleep */
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
}

static int watch_folder(crn_database *database, crn_fleet_labels *labels)
{
    crn_watch watch;
    bool good = true;
    if (!crn_watch_open(&watch, given.folders.list[0]))
        return CRN_EXIT_BAD;
    crn_watch_recover(&watch);
    crn_metrics_server *server =
        given.metrics_port ? crn_metrics_serve((unsigned)given.metrics_port) : NULL;
    if (given.metrics_port && !server) {
        crn_watch_close(&watch);
        return CRN_EXIT_BAD;
    }
    unsigned failures = 0;
    bool takes = true;
    catch_signals();
    srandom((unsigned)time(NULL) ^ (unsigned)getpid());
    do {
        good = round_run(database, labels, &watch, &takes);
        failures = takes ? 0 : failures + 1;
        if (server)
            publish(server, &watch);
        if (!given.once && !ending)
            pause_for(failures);
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
