/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/reference.h"
#include "base/memory.h"
#include "cli.h"
#include "report.h"

enum {
    OPTION_FLAT = 256,
    OPTION_CALLERS,
    OPTION_CALLEES,
    OPTION_DROP,
    OPTION_NO_SUMMARY,
    TOP_DEFAULT = 30,
    TOP_SEQUENCE_DEFAULT = 12
};
#define THRESHOLD_TREE_DEFAULT 0.005

static const struct argp_option options[] = {
    {0, 0, 0, 0, "Views:", 1},
    {"flat", OPTION_FLAT, 0, 0, "Blocks, wherever they were called from (the default)", 0},
    {"tree", 't', 0, 0,
     "Contexts as a tree; with --focus or --callees, of what lies below; with --callers, of what "
     "leads into the block, upside down",
     0},
    {"callers", OPTION_CALLERS, "BLOCK", 0, "What calls a block", 0},
    {"callees", OPTION_CALLEES, "BLOCK", 0, "What a block calls", 0},
    {"focus", 'f', "A[,B...]", 0,
     "A block, or a run of blocks that call each other: what leads into it and what it leads to",
     0},
    {0, 0, 0, 0, "Narrowing:", 2},
    {"drop", OPTION_DROP, "A[,B...]", 0, "Leave out what has this in its path; may be repeated", 0},
    {"top", 'n', "N", 0, "Show at most N rows (30); 0 is all", 0},
    {"threshold", 'T', "PERCENT", 0, "Hide what is below this share (tree: 0.5)", 0},
    {0, 0, 0, 0, "Figures:", 3},
    {"metric", 'm', "METRIC[,...]", 0,
     "wall, ticks, calls or another that was recorded, or \"all\" (the first of wall and ticks "
     "that holds something)",
     0},
    {"sort", 's', "COLUMN", 0, "self (default), inclusive, calls or name", 0},
    {0, 0, 0, 0, "Output:", 4},
    {"json", 'j', 0, 0, "As JSON, for programs", 0},
    {"no-summary", OPTION_NO_SUMMARY, 0, 0, "Without what stands above the table", 0},
    {0},
};

/* Options as they were written; blocks can be looked up only once the capture is read. */
typedef struct arguments {
    const char *path, *metrics, *focus, *sort, **drops;
    size_t drop_count;
    double threshold; /* below 0: not given */
    long top;         /* below 0: not given */
    bool flat, tree, before, after, json, no_summary;
} arguments;

static double parse_percent(struct argp_state *state, const char *text)
{
    char *end;
    double percent = strtod(text, &end);
    if (end == text || (*end && strcmp(end, "%") != 0) || !(percent >= 0 && percent <= 100))
        argp_error(state, "\"%s\" is no share; write a number from 0 to 100", text);
    return percent / 100;
}

static void set_focus(struct argp_state *state, arguments *arguments, const char *text, bool before,
                      bool after)
{
    if (arguments->focus)
        argp_error(state, "only one of --focus, --callers and --callees can be given");
    arguments->focus = text;
    arguments->before = before;
    arguments->after = after;
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *arguments = state->input;
    char *end;
    switch (key) {
    case OPTION_FLAT:
        arguments->flat = true;
        return 0;
    case 't':
        arguments->tree = true;
        return 0;
    case OPTION_CALLERS:
        set_focus(state, arguments, value, true, false);
        return 0;
    case OPTION_CALLEES:
        set_focus(state, arguments, value, false, true);
        return 0;
    case 'f':
        set_focus(state, arguments, value, true, true);
        return 0;
    case OPTION_DROP:
        arguments->drops =
            crn_realloc(arguments->drops, arguments->drop_count + 1, sizeof *arguments->drops);
        arguments->drops[arguments->drop_count++] = value;
        return 0;
    case 'n':
        arguments->top = strtol(value, &end, 10);
        if (end == value || *end || arguments->top < 0 || arguments->top > INT32_MAX)
            argp_error(state, "\"%s\" is no number of rows; write 0 for all", value);
        return 0;
    case 'T':
        arguments->threshold = parse_percent(state, value);
        return 0;
    case 'm':
        arguments->metrics = value;
        return 0;
    case 's':
        arguments->sort = value;
        return 0;
    case 'j':
        arguments->json = true;
        return 0;
    case OPTION_NO_SUMMARY:
        arguments->no_summary = true;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->path)
            argp_error(state, "one capture at a time; cairn merge adds several up");
        arguments->path = value;
        return 0;
    case ARGP_KEY_END:
        if (!arguments->path)
            argp_error(state, "which capture? write its path");
        if (arguments->flat && arguments->tree)
            argp_error(state, "only one of --flat and --tree can be given");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char doc[] =
    "Show where the calls and the time of a capture went.\v"
    "BLOCK is a name, NAME@FILE:LINE, a name inside others (outer.inner), #ID, or the beginning "
    "of a name.\n"
    "self is the cost of a block alone, inclusive also of what it calls, however it recurs.\n\n"
    "  cairn report a.cairn\n"
    "  cairn report a.cairn --tree --threshold 2\n"
    "  cairn report a.cairn --focus parse,token --drop '[gc]'\n"
    "  cairn report a.cairn --tree --callers malloc";

static bool choose_sort(crn_report *report, const char *name)
{
    static const char *const names[] = {"self", "inclusive", "calls", "name"};
    for (int i = 0; name && i < 4; i++) {
        if (strcmp(name, names[i]) == 0) {
            report->sort = (crn_sort)i;
            return true;
        }
    }
    return !name;
}

static bool choose_metric(crn_report *report, const char *name, size_t length)
{
    for (uint32_t m = 0; m < report->profile->metric_count; m++) {
        const char *other = report->profile->metrics[m].name;
        if (strlen(other) == length && memcmp(other, name, length) == 0) {
            for (uint32_t i = 0; i < report->metric_count; i++)
                if (report->metrics[i] == m)
                    return true;
            report->metrics[report->metric_count++] = m;
            return true;
        }
    }
    return false;
}

static void choose_all_metrics(crn_report *report)
{
    uint32_t first = crn_metric_default(report->profile);
    report->metrics[report->metric_count++] = first;
    for (uint32_t m = CRN_METRIC_TICKS; m < report->profile->metric_count; m++)
        if (m != first && !crn_metric_empty(report->profile, m))
            report->metrics[report->metric_count++] = m;
}

static int choose_metrics(crn_report *report, const char *names)
{
    if (!names) {
        report->metrics[report->metric_count++] = crn_metric_default(report->profile);
        return CRN_EXIT_OK;
    }
    if (strcmp(names, "all") == 0) {
        choose_all_metrics(report);
        return CRN_EXIT_OK;
    }
    for (;;) {
        size_t length = strcspn(names, ",");
        if (!choose_metric(report, names, length)) {
            char list[256] = "";
            for (uint32_t m = 0; m < report->profile->metric_count; m++)
                if (!crn_metric_empty(report->profile, m))
                    snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s",
                             *list ? ", " : "", report->profile->metrics[m].name);
            return crn_cli_fail("%s: there is no metric \"%.*s\"; it holds %s", report->path,
                                (int)length, names, list);
        }
        if (!names[length])
            return CRN_EXIT_OK;
        names += length + 1;
    }
}

static int choose_sequences(crn_report *report, const arguments *arguments)
{
    crn_error error;
    if (arguments->focus) {
        if (!crn_reference_sequence(report->profile, arguments->focus, &report->focus, &error))
            return crn_cli_fail("%s: %s", report->path, error.message);
        report->focused = true;
        report->given = arguments->focus;
    }
    report->drops = crn_calloc(arguments->drop_count + 1, sizeof *report->drops);
    for (size_t i = 0; i < arguments->drop_count; i++) {
        if (!crn_reference_sequence(report->profile, arguments->drops[i], &report->drops[i],
                                    &error))
            return crn_cli_fail("%s: %s", report->path, error.message);
        report->drop_count++;
    }
    return CRN_EXIT_OK;
}

static void choose_view(crn_report *report, const arguments *arguments)
{
    report->view = arguments->tree                       ? CRN_VIEW_TREE
                   : report->focused && !arguments->flat ? CRN_VIEW_SEQUENCE
                                                         : CRN_VIEW_FLAT;
    report->before = arguments->before;
    report->after = arguments->after;
    static const uint32_t tops[] = {TOP_DEFAULT, 0, TOP_SEQUENCE_DEFAULT};
    bool tree = report->view == CRN_VIEW_TREE;
    report->top = arguments->top >= 0 ? (uint32_t)arguments->top : tops[report->view];
    report->threshold = arguments->threshold >= 0 ? arguments->threshold
                        : tree                    ? THRESHOLD_TREE_DEFAULT
                                                  : 0;
}

static int report_print(crn_report *report, const arguments *arguments)
{
    int status = choose_metrics(report, arguments->metrics);
    report->calls = report->metrics[0] != CRN_METRIC_CALLS && crn_calls_counted(report->profile);
    if (status == CRN_EXIT_OK)
        status = choose_sequences(report, arguments);
    if (status != CRN_EXIT_OK)
        return status;
    choose_view(report, arguments);
    if (arguments->json) {
        crn_report_json(report);
        return CRN_EXIT_OK;
    }
    if (!arguments->no_summary)
        crn_report_summary(report);
    static void (*const views[])(const crn_report *) = {crn_report_flat, crn_report_tree,
                                                        crn_report_sequence};
    views[report->view](report);
    return CRN_EXIT_OK;
}

int crn_cmd_report(int argc, char **argv)
{
    static const struct argp argp = {options, parse, "CAPTURE", doc, NULL, NULL, NULL};
    arguments arguments = {.threshold = -1, .top = -1};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    crn_report report = {.path = arguments.path};
    if (!choose_sort(&report, arguments.sort))
        return crn_cli_fail("cannot sort by \"%s\"; write self, inclusive, calls or name",
                            arguments.sort);
    crn_profile *profile = crn_cli_load(arguments.path);
    if (!profile)
        return CRN_EXIT_BAD;
    report.profile = profile;
    int status = report_print(&report, &arguments);

    for (size_t i = 0; i < report.drop_count; i++)
        crn_sequence_free(&report.drops[i]);
    crn_free(report.drops);
    crn_free(arguments.drops);
    crn_sequence_free(&report.focus);
    crn_profile_free(profile);
    return status;
}
