/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/report/arguments.h"
#include "commands.h"

enum {
    OPTION_FLAT = 256,
    OPTION_CALLERS,
    OPTION_CALLEES,
    OPTION_DROP,
    OPTION_NO_SUMMARY,
    OPTION_STACK,
    OPTION_GC,
    OPTION_COMPARE,
    OPTION_HTML,
    OPTION_ZERO,
    OPTION_DOT,
    OPTION_KEEP,
    OPTION_MERGE,
    OPTION_SPLIT,
    OUTPUT_SIZE = 65536
};

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
    {"stack", OPTION_STACK, 0, 0,
     "Blocks as in MLton's stack profiles: what they cost while they run, while they are on the "
     "stack, and what the collector cost meanwhile",
     0},
    {"gc", OPTION_GC, "NAME", 0, "The collector's blocks (<gc>), which --stack keeps apart", 0},
    {"compare", OPTION_COMPARE, "METRIC,METRIC", 0,
     "Where two clocks disagree, such as wall,cpu: a block with a larger share of wall than of "
     "cpu waits",
     0},
    {"zero", OPTION_ZERO, 0, 0, "Blocks that never ran: what the run did not cover", 0},
    {"dot", OPTION_DOT, 0, 0,
     "Who calls whom, for Graphviz; dashed where blocks that are not shown lie between", 0},
    {0, 0, 0, 0, "Narrowing:", 2},
    {"keep", OPTION_KEEP, "SET", 0,
     "Show these blocks only, such as 'from(\"parse\") and not file(\"lib\")'; with --flat, "
     "--stack, "
     "--zero and --dot",
     0},
    {"merge", OPTION_MERGE, "SET", OPTION_ARG_OPTIONAL,
     "Add up instances of templates and clones that were written in one place (of blocks in SET)",
     0},
    {"split", OPTION_SPLIT, "SET", 0, "As --merge, but not these", 0},
    {"drop", OPTION_DROP, "A[,B...]", 0, "Leave out what has this in its path; may be repeated", 0},
    {"top", 'n', "N", 0, "Show at most N rows (30); 0 is all", 0},
    {"threshold", 'T', "PERCENT", 0, "Hide what is below this share (tree: 0.5, dot: 1)", 0},
    {0, 0, 0, 0, "Figures:", 3},
    {"metric", 'm', "METRIC[,...]", 0,
     "wall, cpu, ticks, calls or another that was recorded, or \"all\" (the first of wall, ticks "
     "and cpu that holds something; in the flat view all clocks that do)",
     0},
    {"sort", 's', "COLUMN", 0, "self (default), inclusive, calls or name", 0},
    {0, 0, 0, 0, "Output:", 4},
    {"json", 'j', 0, 0, "As JSON, for programs", 0},
    {"html", OPTION_HTML, "OUT", 0,
     "Write OUT: the page of cairn view with all of this in it, one file that can be sent", 0},
    {"no-summary", OPTION_NO_SUMMARY, 0, 0, "Without what stands above the table", 0},
    {0},
};

static double parse_percent(struct argp_state *state, const char *text)
{
    char *end;
    double percent = strtod(text, &end);
    if (end == text || (*end && strcmp(end, "%") != 0) || !(percent >= 0 && percent <= 100))
        argp_error(state, "\"%s\" is no share; write a number from 0 to 100", text);
    return percent / 100;
}

static void set_focus(struct argp_state *state, crn_report_arguments *arguments, const char *text,
                      bool before, bool after)
{
    if (arguments->focus)
        argp_error(state, "only one of --focus, --callers and --callees can be given");
    arguments->focus = text;
    arguments->before = before;
    arguments->after = after;
}

static bool parse_flag(int key, crn_report_arguments *arguments)
{
    const struct {
        int key;
        bool *flag;
    } flags[] = {{OPTION_FLAT, &arguments->flat},
                 {'t', &arguments->tree},
                 {OPTION_STACK, &arguments->stack},
                 {OPTION_ZERO, &arguments->zero},
                 {OPTION_DOT, &arguments->dot},
                 {'j', &arguments->json},
                 {OPTION_NO_SUMMARY, &arguments->no_summary}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (flags[i].key == key)
            return *flags[i].flag = true;
    return false;
}

static void add_to(const char ***list, size_t *count, const char *text)
{
    *list = crn_realloc(*list, *count + 1, sizeof **list);
    (*list)[(*count)++] = text;
}

/* Checks for options that exclude each other. */
static void check(struct argp_state *state, const crn_report_arguments *arguments)
{
    int views = arguments->flat + arguments->tree + arguments->stack + arguments->zero +
                arguments->dot + (arguments->compare != NULL);
    if (!arguments->path_count)
        argp_error(state, "which capture? write its path");
    if (views > 1)
        argp_error(state,
                   "only one of --flat, --tree, --stack, --compare, --zero and --dot can be given");
    if (arguments->compare && arguments->metrics)
        argp_error(state, "--compare names its metrics itself");
    bool by_sequence = arguments->focus && !arguments->flat && !arguments->stack && !arguments->dot;
    if (arguments->keep && (arguments->tree || arguments->compare || by_sequence))
        argp_error(state, "--keep goes with --flat, --stack, --zero and --dot");
    if (arguments->zero && (arguments->focus || arguments->drop_count))
        argp_error(state, "--zero is about all that was run; --keep says which blocks it shows");
    if (arguments->dot && arguments->json)
        argp_error(state, "either --dot or --json");
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    crn_report_arguments *arguments = state->input;
    if (parse_flag(key, arguments))
        return 0;
    switch (key) {
    case OPTION_KEEP:
        arguments->keep = value;
        return 0;
    case OPTION_MERGE:
        arguments->merge = value ? value : "all";
        return 0;
    case OPTION_SPLIT:
        arguments->split = value;
        return 0;
    case OPTION_HTML:
        arguments->html = value;
        return 0;
    case OPTION_GC:
        arguments->collector = value;
        return 0;
    case OPTION_COMPARE:
        arguments->compare = value;
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
        add_to(&arguments->drops, &arguments->drop_count, value);
        return 0;
    case 'n':
        arguments->top = crn_cli_rows(state, value);
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
    case ARGP_KEY_ARG:
        add_to((const char ***)&arguments->paths, &arguments->path_count, value);
        return 0;
    case ARGP_KEY_END:
        check(state, arguments);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char doc[] =
    "Show where the calls and the time of a capture went; of several, added up.\v"
    "BLOCK is a name, NAME@FILE:LINE, a name inside others (outer.inner), #ID, or the beginning "
    "of a name.\n"
    "self is the cost of a block alone, inclusive also of what it calls, however it recurs.\n\n"
    "  cairn report a.cairn\n"
    "  cairn report a.cairn --tree --threshold 2\n"
    "  cairn report a.cairn --focus parse,token --drop '[gc]'\n"
    "  cairn report a.cairn --tree --callers malloc\n"
    "  cairn report a.cairn --compare wall,cpu\n"
    "  cairn report a.cairn --dot --keep 'to(\"malloc\") and thresh-stack(2)' | dot -Tsvg\n"
    "  cairn report a.cairn a.*.cairn    with what its forked children wrote\n\n"
    "SET is \"REGULAR EXPRESSION\", file(\"RE\"), is(\"BLOCK\"), all, pred(SET), succ(SET), "
    "to(SET), "
    "from(SET), thresh(PERCENT), thresh-stack(PERCENT), thresh-gc(PERCENT), joined by and, or, not "
    "and brackets.\n\n"
    "likely: 95 % interval, shown below 100 samples.";

static int report_print(crn_report *report, const crn_report_arguments *arguments)
{
    int status = crn_report_choose(report, arguments);
    if (status != CRN_EXIT_OK)
        return status;
    if (arguments->html)
        return crn_report_html(report, arguments->html);
    if (arguments->json) {
        crn_report_json(report);
        return CRN_EXIT_OK;
    }
    if (!arguments->no_summary && report->view != CRN_VIEW_DOT)
        crn_report_summary(report);
    static void (*const views[])(const crn_report *) = {
        crn_report_flat,    crn_report_tree, crn_report_sequence, crn_report_stack,
        crn_report_compare, crn_report_zero, crn_report_dot};
    views[report->view](report);
    return CRN_EXIT_OK;
}

/* Joins paths: "a, b, c"; of many the first and the number of others. Free it. */
static char *join(char *const *paths, size_t count)
{
    enum { FEW = 4, MORE = 32 };
    size_t shown = count > FEW ? 1 : count, size = MORE;
    for (size_t i = 0; i < shown; i++)
        size += strlen(paths[i]) + 2;
    char *all = crn_calloc(size, 1);
    for (size_t i = 0; i < shown; i++)
        strcat(strcat(all, i ? ", " : ""), paths[i]);
    if (shown < count)
        snprintf(all + strlen(all), MORE, " and %zu more", count - shown);
    return all;
}

/* Reads the captures and prints the report. */
static int report_all(const crn_report_arguments *arguments)
{
    crn_report report = {0};
    int status = crn_report_choose_sort(&report, arguments);
    if (status != CRN_EXIT_OK)
        return status;
    crn_profile *profile = crn_cli_load_all(arguments->paths, arguments->path_count);
    if (profile && (arguments->merge || arguments->split))
        profile = crn_report_merge_instances(profile, arguments);
    if (!profile)
        return CRN_EXIT_BAD;
    char *all = join(arguments->paths, arguments->path_count);
    report.profile = profile;
    report.path = all;
    status = report_print(&report, arguments);

    for (size_t i = 0; i < report.drop_count; i++)
        crn_sequence_free(&report.drops[i]);
    crn_free(report.drops);
    crn_free(report.shown);
    crn_free(all);
    crn_sequence_free(&report.focus);
    crn_profile_free(profile);
    return status;
}

int crn_cmd_report(int argc, char **argv)
{
    static const struct argp argp = {options, parse, "CAPTURE...", doc, NULL, NULL, NULL};
    static char buffer[OUTPUT_SIZE];
    crn_report_arguments arguments = {.threshold = -1, .top = -1};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    if (!isatty(STDOUT_FILENO)) /* a tree can be half a gigabyte */
        setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    int status = report_all(&arguments);
    crn_free(arguments.drops);
    crn_free(arguments.paths);
    return status;
}
