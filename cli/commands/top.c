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
#include "cli/common/cli.h"
#include "cli/top/top.h"
#include "commands.h"

enum { OPTION_ONCE = 256, OPTION_TOP, OPTION_TOTAL, TOP_DEFAULT = 30 };

static const struct argp_option options[] = {
    {0, 0, 0, 0, "What is watched:", 1},
    {"pid", 'p', "PID", 0, "The capture that this process writes, instead of a file", 0},
    {0, 0, 0, 0, "What is shown at first (keys change it):", 2},
    {"view", 'v', "VIEW", 0, "self (the default), inclusive, tree, callers, lanes or focus", 0},
    {"metric", 'm', "METRIC", 0, "wall, cpu, ticks, calls or another that is recorded", 0},
    {"sort", 's', "COLUMN", 0, "self, inclusive, calls or name", 0},
    {"focus", 'f', "BLOCK", 0,
     "What leads into a block and on from it; with --view=callers, who "
     "calls it",
     0},
    {"filter", 'F', "TEXT", 0, "Only what has this in its name or file", 0},
    {"total", OPTION_TOTAL, 0, 0, "Since the start, instead of since the last look", 0},
    {0, 0, 0, 0, "How often:", 3},
    {"delay", 'd', "SECONDS", 0, "From look to look (1)", 0},
    {"count", 'n', "COUNT", 0, "Look so often, and end", 0},
    {0, 0, 0, 0, "Output:", 4},
    {"batch", 'b', 0, 0, "As text, one table below the other; so too without a terminal", 0},
    {"once", OPTION_ONCE, 0, 0, "One table of everything since the start: --batch --count=1", 0},
    {"top", OPTION_TOP, "N", 0, "With --batch: show at most N rows (30); 0 is all", 0},
    {0},
};

typedef struct arguments {
    crn_top_options options;
    crn_top_choice choice;
    long pid, top;
    bool batch, view;
} arguments;

static int index_of(const char *name, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return i;
    return -1;
}

static long whole(struct argp_state *state, const char *text, const char *what, long least)
{
    char *end;
    long number = strtol(text, &end, 10);
    if (end == text || *end || number < least || number > INT32_MAX)
        argp_error(state, "\"%s\" is no %s", text, what);
    return number;
}

static void set_delay(struct argp_state *state, arguments *arguments, const char *text)
{
    char *end;
    double delay = strtod(text, &end);
    if (end == text || *end || !(delay >= 0.05 && delay <= 86400))
        argp_error(state, "\"%s\" is no delay; write seconds from 0.05 to 86400", text);
    arguments->choice.delay = delay;
}

static void set_text(char *to, size_t size, const char *text)
{
    snprintf(to, size, "%s", text);
}

static error_t parse_choice(int key, char *value, struct argp_state *state, arguments *arguments)
{
    crn_top_choice *choice = &arguments->choice;
    int found;
    switch (key) {
    case 'v':
        found = index_of(value, crn_top_view_names, CRN_TOP_VIEWS);
        if (found < 0)
            argp_error(state,
                       "there is no view \"%s\"; write self, inclusive, tree, callers, "
                       "lanes or focus",
                       value);
        choice->view = (crn_top_view)found;
        arguments->view = true;
        return 0;
    case 's':
        found = index_of(value, crn_top_sort_names, CRN_TOP_SORTS);
        if (found < 0)
            argp_error(state, "cannot sort by \"%s\"; write self, inclusive, calls or name", value);
        choice->sort = (crn_top_sort)found;
        return 0;
    case 'm':
        set_text(choice->metric, sizeof choice->metric, value);
        return 0;
    case 'f':
        set_text(choice->focus, sizeof choice->focus, value);
        return 0;
    case 'F':
        set_text(choice->filter, sizeof choice->filter, value);
        return 0;
    case OPTION_TOTAL:
        choice->total = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *arguments = state->input;
    switch (key) {
    case 'p':
        arguments->pid = whole(state, value, "process", 1);
        return 0;
    case 'd':
        set_delay(state, arguments, value);
        return 0;
    case 'n':
        arguments->options.count = (uint64_t)whole(state, value, "number of looks", 1);
        return 0;
    case 'b':
        arguments->batch = true;
        return 0;
    case OPTION_ONCE:
        arguments->batch = true;
        arguments->options.count = 1;
        return 0;
    case OPTION_TOP:
        arguments->top = whole(state, value, "number of rows; write 0 for all", 0);
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->options.path)
            argp_error(state, "one capture at a time");
        arguments->options.path = value;
        return 0;
    case ARGP_KEY_END:
        if (!arguments->options.path == !arguments->pid)
            argp_error(state, arguments->pid ? "either a capture or --pid, not both"
                                             : "which capture? write its path, or --pid");
        return 0;
    default:
        return parse_choice(key, value, state, arguments);
    }
}

static const char doc[] =
    "Watch a program that is being profiled, from the capture that it is writing.\v"
    "On a terminal h lists the keys. The program does not notice: its file is read.\n"
    "Wall time is in threads: 2.50 threads are in a block when in a second 2.5 s of wall time "
    "pass there.\n\n"
    "  cairn run -o a.cairn ./program & cairn top a.cairn\n"
    "  cairn top --pid 1234 --view tree\n"
    "  cairn top --once a.cairn";

static void choose(arguments *arguments)
{
    crn_top_choice *choice = &arguments->choice;
    if (*choice->focus && !arguments->view)
        choice->view = CRN_TOP_FOCUS;
    if (choice->sort == CRN_TOP_SORTS)
        choice->sort = choice->view == CRN_TOP_SELF || choice->view == CRN_TOP_LANES
                           ? CRN_TOP_BY_SELF
                           : CRN_TOP_BY_INCLUSIVE;
    const char *term = getenv("TERM");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !term || !*term ||
        strcmp(term, "dumb") == 0)
        arguments->batch = true;
    if (arguments->batch)
        choice->most = (uint32_t)arguments->top;
}

int crn_cmd_top(int argc, char **argv)
{
    static const struct argp argp = {options, parse, "[CAPTURE]", doc, NULL, NULL, NULL};
    arguments arguments = {.choice = {.delay = 1, .sort = CRN_TOP_SORTS}, .top = TOP_DEFAULT};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    choose(&arguments);
    char *found = NULL;
    if (arguments.pid) {
        crn_error error = {0};
        found = crn_capture_of(arguments.pid, &error);
        if (!found)
            return crn_cli_fail("%s", error.message);
        arguments.options.path = found;
    }
    int status = arguments.batch ? crn_top_batch(&arguments.options, &arguments.choice)
                                 : crn_top_screen(&arguments.options, &arguments.choice);
    crn_free(arguments.choice.folds);
    crn_free(found);
    return status;
}
