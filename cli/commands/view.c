/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/common/newest.h"
#include "cli/fleet/fleet.h"
#include "cli/view/view.h"
#include "commands.h"

static struct {
    crn_list files, sources;
    crn_fleet_given fleet;
    long port;
    bool api;
} given;

static const crn_option options[] = {
    {"port", 'p', .argument = "NUMBER", .help = "Listen at this port; default: any free one",
     .number = &given.port, .most = UINT16_MAX},
    {"source", 's', .argument = "FOLDER",
     .help = "Show sources below this folder; may be repeated (default: the current folder)",
     .more = "A capture can name any file, so files elsewhere are not opened.",
     .list = &given.sources},
    {"fleet", .argument = "URL",
     .help = "Show the runs in a fleet's database: clickhouse://[USER@]HOST[:PORT]/DATABASE",
     .text = &given.fleet.url},
    {"password-file", .argument = "FILE",
     .help = "Of the database: read the password from FILE; default: $CAIRN_FLEET_PASSWORD",
     .text = &given.fleet.password_file},
    {"api", .help = "Serve only the JSON interface, without the page",
     .more = "docs/VIEW.md describes it.", .flag = &given.api},
    {0},
};

static const char doc[] =
    "Show captures in a browser: flame graph, callers and callees, sources, spans over time, "
    "iterations, and the difference between two captures.\vFILE is a capture (complete or still "
    "written), a pprof profile, the output of `perf script`, or folded stacks. Of two files, the "
    "first is the old one.\n\nPrints the address of the page, which works only on this machine and "
    "contains a secret. Ctrl-C ends the server.\n\n  cairn view a.cairn\n  cairn view before.cairn "
    "after.cairn\n  cairn view --fleet clickhouse://db.example/cairn\n\ncairn report --html writes "
    "the page to a single file.";

/* ---- server ---- */

static bool choose_token(crn_view *view)
{
    unsigned char random[CRN_VIEW_TOKEN / 2];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
        crn_cli_fail("cannot get random numbers: %s", strerror(errno));
        return false;
    }
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(view->token + 2 * i, 3, "%02x", random[i]);
    return true;
}

static bool choose_sources(crn_view *view)
{
    static char here[] = ".";
    if (!given.sources.count)
        crn_list_add(&given.sources, here);
    view->sources = crn_calloc(given.sources.count, sizeof *view->sources);
    for (size_t i = 0; i < given.sources.count; i++) {
        char *folder = realpath(given.sources.list[i], NULL);
        if (!folder) {
            crn_cli_fail("%s: %s", given.sources.list[i], strerror(errno));
            return false;
        }
        view->sources[view->source_count++] = folder;
    }
    return true;
}

static bool read_files(crn_view *view)
{
    for (size_t i = 0; i < given.files.count; i++) {
        crn_view_file *file = &view->files[view->file_count++];
        file->path = given.files.list[i];
        if (!crn_view_file_read(file))
            return false;
    }
    return true;
}

/* Blocks the signals that end the server, so that only the main thread waits for them: later
 * threads inherit the mask. Called after files are read: until then a signal ends the process. */
static sigset_t signals_block(void)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    return ends;
}

/* Waits for one of the signals `ends`. A second one ends the process at once. */
static void wait_for_end(const sigset_t *ends)
{
    int which;
    while (sigwait(ends, &which) != 0)
        continue;
    pthread_sigmask(SIG_UNBLOCK, ends, NULL);
}

/* Makes malloc return freed memory to the system. By default it keeps much, for each thread. */
static void keep_little(void)
{
    mallopt(M_MMAP_THRESHOLD, 1 << 18);
    mallopt(M_TRIM_THRESHOLD, 1 << 20);
    mallopt(M_ARENA_MAX, 1);
}

/* Lets malloc keep the memory of one or two arrays by context. Answers allocate such arrays again
 * and again, and returning their pages would take half of the time. */
static void keep_for_answers(const crn_view *view)
{
    enum { LEAST = 1 << 18, MOST = 20 << 20 };
    uint64_t column = LEAST;
    for (size_t i = 0; i < view->file_count; i++) {
        uint64_t its = view->files[i].profile->context_count * sizeof(uint64_t) + 4096;
        column = its > column ? its : column;
    }
    if (column > MOST)
        column = MOST;
    mallopt(M_MMAP_THRESHOLD, (int)column);
    mallopt(M_TRIM_THRESHOLD, (int)(column > LEAST ? 2 * column : 4 * LEAST));
}

/* Starts the server and a thread that reads spans, and prints the address. The caller holds
 * view->lock. On an error prints why and returns NULL. */
static struct MHD_Daemon *begin(crn_view *view)
{
    struct MHD_Daemon *daemon = crn_view_listen(view, (unsigned)given.port);
    int problem = daemon ? crn_view_files_look(view, 0) : 0;
    if (problem) {
        crn_cli_fail("cannot start a thread: %s", strerror(problem));
        crn_view_stop(daemon);
        return NULL;
    }
    if (daemon) {
        printf("http://127.0.0.1:%u/%s/\n", view->port, view->token);
        fflush(stdout);
    }
    return daemon;
}

static int serve(crn_view *view)
{
    if (given.fleet.url && !(view->fleet = crn_fleet_open(&given.fleet)))
        return CRN_EXIT_BAD;
    if (!read_files(view) || (view->fleet && !view->file_count && !crn_view_fleet_begin(view)))
        return CRN_EXIT_BAD;
    keep_for_answers(view);
    view->serving = true;
    sigset_t ends = signals_block();
    pthread_mutex_lock(&view->lock); /* answers, which hold it, may add files */
    struct MHD_Daemon *daemon = begin(view);
    pthread_mutex_unlock(&view->lock);
    if (!daemon)
        return CRN_EXIT_BAD;
    wait_for_end(&ends);
    if (atomic_load(&view->readers)) {
        crn_view_uploads_remove(view);
        _exit(CRN_EXIT_OK); /* does not wait for threads that read spans */
    }
    crn_view_stop(daemon);
    return CRN_EXIT_OK;
}

static void end(crn_view *view)
{
    crn_view_uploads_remove(view);
    for (size_t i = 0; i < view->file_count; i++)
        crn_view_file_close(&view->files[i]);
    crn_view_part_clear(&view->both);
    crn_view_kept_clear(view);
    for (size_t i = 0; i < view->source_count; i++)
        free(view->sources[i]);
    crn_free(view->sources);
    crn_free(view->uploads);
    crn_database_close(view->fleet);
}

static void check(struct argp_state *state)
{
    if (!given.files.count && !given.fleet.url && !crn_newest_capture(&given.files))
        argp_error(state, "no file given; write its path");
}

static int run(void)
{
    static crn_view view = {.lock = PTHREAD_MUTEX_INITIALIZER, .looked = PTHREAD_COND_INITIALIZER};
    view.page = !given.api;
    keep_little();
    if (view.page && !crn_page_built.script_size)
        return crn_cli_fail("this cairn was built without the page: install nodejs and npm, and "
                            "rebuild it with -Dviewer=enabled; --api serves JSON without the page");
    int status = CRN_EXIT_BAD;
    if (choose_token(&view) && choose_sources(&view))
        status = serve(&view);
    end(&view);
    return status;
}

const crn_command crn_command_view = {
    .name = "view",
    .purpose = "show captures in a browser",
    .arguments = "[FILE...]",
    .doc = doc,
    .options = options,
    .words = &given.files,
    .most = CRN_VIEW_FILES_MAX,
    .check = check,
    .run = run,
};
