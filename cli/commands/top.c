/* SPDX-License-Identifier: MIT
 *
 * cairn top: shows what a program does now, from its live capture.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/sampled_path.h"
#include "cli/common/cli.h"
#include "cli/common/newest.h"
#include "cli/top/top.h"
#include "commands.h"

enum { TOP_DEFAULT = 30 };

static struct {
    crn_list captures;
    crn_top_options options;
    crn_top_choice choice;
    const char *metric, *focus, *filter;
    long pid, top, count;
    int view, sort; /* crn_top_view, crn_top_sort; below 0: not given */
    bool batch, once;
} given = {.choice = {.delay = 1}, .top = TOP_DEFAULT, .view = -1, .sort = -1};

static void set_delay(struct argp_state *state, const crn_option *option, char *value)
{
    char *end;
    double delay = strtod(value, &end);
    if (end == value || *end || !(delay >= 0.05 && delay <= 86400))
        argp_error(state, "--%s needs seconds from 0.05 to 86400, not \"%s\"", option->name, value);
    given.choice.delay = delay;
}

/* Adds a deadline from "frame=16.7ms"; the last "=" ends the name. */
static void set_deadline(struct argp_state *state, const crn_option *option, char *value)
{
    crn_top_deadlines *deadlines = &given.options.deadlines;
    char *equals = strrchr(value, '=');
    if (!equals || equals == value ||
        !crn_cli_time(equals + 1, 1, 1e18, &deadlines->all[deadlines->count].time)) {
        argp_error(state, "--%s needs a name and a time such as frame=16.7ms, not \"%s\"",
                   option->name, value);
        return; /* not reached */
    }
    if (deadlines->count + 1 == CRN_TOP_DEADLINES)
        argp_error(state, "--%s: at most %d such options", option->name, CRN_TOP_DEADLINES - 1);
    *equals = 0;
    deadlines->all[deadlines->count++].name = value;
}

static void check(struct argp_state *state)
{
    if (given.captures.count && given.pid)
        argp_error(state, "a capture and --pid exclude each other");
    if (!given.captures.count && !given.pid && !crn_newest_capture(&given.captures))
        argp_error(state, "no capture given; write its path, or --pid");
}

static const crn_option options[] = {
    {.help = "What to watch:"},
    {"pid", 'p', .argument = "PID",
     .help = "The capture that this process writes, instead of a file", .number = &given.pid,
     .least = 1},
    {.help = "What to show at first (keys change it):"},
    {"view", 'v', .argument = "VIEW", .words = crn_top_view_names,
     .help = "self (the default), total, tree, callers, lanes, source, spans or focus",
     .choice = &given.view},
    CRN_OPTION_METRIC(&given.metric, "METRIC",
                      "wall, cpu, ticks, calls or another that is recorded",
                      "Default: wall if present, else ticks, another, calls."),
    {"sort", 's', .argument = "COLUMN", .words = crn_top_sort_names,
     .help = "self, total, calls or name", .more = "Trees are sorted by total cost.",
     .choice = &given.sort},
    {"focus", 'f', .argument = "BLOCK",
     .help = "Callers and callees of a block; with --view=callers, its tree of callers",
     .more = "Blocks are written as for cairn-report(1).", .text = &given.focus},
    {"filter", 'F', .argument = "TEXT", .help = "Only blocks whose name or file contains this",
     .more = "Case is ignored.", .text = &given.filter},
    {"deadline", 'D', .argument = "NAME=TIME",
     .help = "Count spans of this name that took longer: frame=16.7ms",
     .more = "In the view of spans. May be given several times.", .set = set_deadline},
    {"total", .help = "Figures since the start, not since the last refresh",
     .flag = &given.choice.total},
    {.help = "How often:"},
    {"delay", 'd', .argument = "SECONDS", .help = "Time between refreshes in seconds (1)",
     .more = "At least 0.05. A large capture is read less often, so that cairn top takes at most a "
             "twentieth of a processor; the screen shows this.",
     .set = set_delay},
    {"count", 'n', .argument = "COUNT", .help = "Refresh N times, then end", .number = &given.count,
     .least = 1},
    {.help = "Output:"},
    {"batch", 'b', .help = "Print tables one after another; the default without a terminal",
     .flag = &given.batch},
    {"once", .help = "One table of everything since the start: --batch --count=1",
     .flag = &given.once},
    {"top", .argument = "N", .help = "With --batch: show at most N rows (30); 0 is all",
     .number = &given.top},
    {0},
};

static const char doc[] =
    "Watch a running program by reading the capture that it writes.\vOn a terminal h lists the "
    "keys. The program is not disturbed: only its file is read.\nWall time is shown in threads: "
    "2.50 means 2.5 s of wall time per second.\n\n  cairn run -o a.cairn ./program & cairn top "
    "a.cairn\n  cairn top --pid 1234 --view tree\n  cairn top --once a.cairn";

static void set_text(char *to, size_t size, const char *text)
{
    snprintf(to, size, "%s", text ? text : "");
}

static void choose(void)
{
    crn_top_choice *choice = &given.choice;
    set_text(choice->metric, sizeof choice->metric, given.metric);
    set_text(choice->focus, sizeof choice->focus, given.focus);
    set_text(choice->filter, sizeof choice->filter, given.filter);
    choice->view = given.view >= 0 ? (crn_top_view)given.view
                   : given.focus   ? CRN_TOP_FOCUS
                                   : CRN_TOP_SELF;
    bool by_self = choice->view == CRN_TOP_SELF || choice->view == CRN_TOP_LANES;
    choice->sort = given.sort >= 0 ? (crn_top_sort)given.sort
                   : by_self       ? CRN_TOP_BY_SELF
                                   : CRN_TOP_BY_INCLUSIVE;
    const char *term = getenv("TERM");
    if (given.once || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !term || !*term ||
        strcmp(term, "dumb") == 0)
        given.batch = true;
    if (given.batch)
        choice->most = (uint32_t)given.top;
    given.options.count = given.once ? 1 : (uint64_t)given.count;
}

static int run(void)
{
    choose();
    char *found = NULL;
    if (given.pid) {
        crn_error error = {0};
        found = crn_capture_of(given.pid, &error);
        if (!found)
            return crn_cli_fail("%s", error.message);
    } else {
        found = crn_sampled_path_instead(given.captures.list[0]);
    }
    given.options.path = found ? found : given.captures.list[0];
    int status = given.batch ? crn_top_batch(stdout, &given.options, &given.choice)
                             : crn_top_screen(&given.options, &given.choice);
    crn_free(given.choice.folds);
    crn_free(found);
    return status;
}

const crn_command crn_command_top = {
    .name = "top",
    .purpose = "watch a running program",
    .arguments = "[CAPTURE]",
    .doc = doc,
    .options = options,
    .words = &given.captures,
    .most = 1,
    .check = check,
    .run = run,
};
