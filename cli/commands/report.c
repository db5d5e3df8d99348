/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/report/arguments.h"
#include "commands.h"

enum { OUTPUT_SIZE = 65536 };

static crn_report_arguments given = {.threshold = -1, .top = -1};

static void set_focus(struct argp_state *state, const char *text, bool before, bool after)
{
    if (given.focus)
        argp_error(state, "only one of --focus, --callers and --callees can be given");
    given.focus = text;
    given.before = before;
    given.after = after;
}

static void focus_callers(struct argp_state *state, const crn_option *option, char *value)
{
    (void)option;
    set_focus(state, value, true, false);
}

static void focus_callees(struct argp_state *state, const crn_option *option, char *value)
{
    (void)option;
    set_focus(state, value, false, true);
}

static void focus_both(struct argp_state *state, const crn_option *option, char *value)
{
    (void)option;
    set_focus(state, value, true, true);
}

static void set_merge(struct argp_state *state, const crn_option *option, char *value)
{
    (void)state;
    (void)option;
    given.merge = value ? value : "all";
}

/* Refuses options that exclude each other. */
static void check(struct argp_state *state)
{
    int views =
        given.flat + given.tree + given.stack + given.zero + given.dot + (given.compare != NULL);
    if (views > 1)
        argp_error(state,
                   "only one of --flat, --tree, --stack, --compare, --zero and --dot can be given");
    if (given.compare && given.metrics)
        argp_error(state, "--compare names its metrics itself");
    if (given.compare && given.sort > CRN_SORT_INCLUSIVE) /* it has an order of its own */
        argp_error(state, "--compare goes with --sort self and --sort inclusive");
    bool by_sequence = given.focus && !given.flat && !given.stack && !given.dot;
    if (given.keep && (given.tree || given.compare || by_sequence))
        argp_error(state, "--keep goes with --flat, --stack, --zero and --dot");
    if (given.zero && (given.focus || given.drops.count))
        argp_error(state, "--zero is about all that was run; --keep says which blocks it shows");
    if (given.dot && given.json)
        argp_error(state, "either --dot or --json");
    if (given.threshold > 1)
        argp_error(state, "--threshold is at most 100");
}

static const crn_option options[] = {
    {.help = "Views:"},
    {"flat", .help = "Blocks, wherever they were called from (the default)", .flag = &given.flat},
    {"tree", 't',
     .help = "Contexts as a tree; with --focus or --callees, of what lies below; with --callers, "
             "of what leads into the block, upside down",
     .more = "A child without siblings stands below its parent behind an arrow and is not "
             "indented. \"\xe2\x86\xba 99\" says that 99 calls came back to the context along a "
             "cycle: recursion.",
     .flag = &given.tree},
    {"callers", .argument = "BLOCK", .help = "What calls a block", .set = focus_callers},
    {"callees", .argument = "BLOCK", .help = "What a block calls", .set = focus_callees},
    {"focus", 'f', .argument = "A[,B...]",
     .help = "A block, or a run of blocks that call each other: what leads into it and what it "
             "leads to",
     .more = "On a terminal the last line says how to go on from there. With --flat it is the "
             "flat view of the contexts whose path holds the sequence.",
     .set = focus_both},
    {"stack",
     .help = "Blocks as in MLton's stack profiles: what they cost while they run, while they are "
             "on the stack, and what the collector cost meanwhile",
     .more = "The column stack leaves the collector's work out, and stack/GC has it: what runs in "
             "the collector's blocks and below them. A block counts once, however often it is on "
             "the stack. Stack and stack/GC together are the inclusive cost.",
     .flag = &given.stack},
    {"gc", .argument = "NAME", .help = "The collector's blocks (<gc>), which --stack keeps apart",
     .more = "They are also those of thresh-gc and of the summary's line on the collector.",
     .text = &given.collector},
    {"compare", .argument = "METRIC,METRIC",
     .words = CRN_WORDS("wall,cpu", "wall,ticks", "cpu,ticks"),
     .help = "Where two clocks disagree, such as wall,cpu: a block with a larger share of wall "
             "than of cpu waits",
     .more = "The block that is most surely apart comes first. The column apart is the share of "
             "the first metric less the share of the second, in points of per cent. A block with "
             "much of cpu and few ticks is slow for what it does. With --sort inclusive blocks "
             "are compared with all that they call.",
     .text = &given.compare},
    {"zero", .help = "Blocks that never ran: what the run did not cover",
     .more = "They are sorted by where they were written. A capture knows the blocks that its "
             "program has told it of: of programs that cairn-cc(1) compiled all of them, with "
             "--branch each branch, too. Below them stands how many of each file's blocks ran, "
             "where that was not all.",
     .flag = &given.zero},
    {"dot",
     .help = "Who calls whom, for Graphviz; dashed where blocks that are not shown lie between",
     .more = "A block is the darker the longer it was on the stack; an arrow has the number of "
             "calls. Blocks below the threshold are left out.",
     .flag = &given.dot},
    {.help = "Narrowing:"},
    {"keep", .argument = "SET",
     .help = "Show these blocks only, such as 'from(\"parse\") and not file(\"lib\")'; with "
             "--flat, --stack, --zero and --dot",
     .more = "See SETS OF BLOCKS. Figures and percentages stay those of the whole, and the last "
             "line says how much has no row.",
     .text = &given.keep},
    {"merge", .argument = "SET", .optional = true,
     .help = "Add up instances of templates and clones that were written in one place (of blocks "
             "in SET)",
     .more = "The block has the name without template arguments and parameters.", .set = set_merge},
    {"split", .argument = "SET", .help = "As --merge, but not these",
     .more = "Programs of cairn-cc(1) have clones as one block with their function, unless they "
             "were compiled with --clones.",
     .text = &given.split},
    {"drop", .argument = "A[,B...]", .help = "Leave out what has this in its path; may be repeated",
     .list = &given.drops},
    {"top", 'n', .argument = "N", .help = "Show at most N rows (30); 0 is all",
     .more = "12 on each side of a sequence, any number in a tree.", .number = &given.top},
    {"threshold", 'T', .argument = "PERCENT",
     .help = "Hide what is below this share (tree: 0.5, dot: 1)",
     .more = "It is a share of the first metric.", .share = &given.threshold},
    {.help = "Figures:"},
    CRN_OPTION_METRIC(
        &given.metrics, "METRIC[,...]",
        "wall, cpu, ticks, calls or another that was recorded, or \"all\" (the first of wall, "
        "ticks and cpu that holds something; in the flat view all clocks that do)",
        "Others are alloc bytes and live bytes (what was allocated and not freed). Only the flat "
        "view shows several; the first sorts."),
    {"sort", 's', .argument = "COLUMN", .words = crn_report_sort_names,
     .help = "self (default), inclusive, calls or name", .choice = &given.sort},
    {.help = "Output:"},
    CRN_OPTION_JSON(&given.json),
    {"html", .argument = "OUT",
     .help = "Write OUT: the page of cairn view with all of this in it, one file that can be sent",
     .more = "It needs no network. It has the spans of the capture, if it is one that has any, as "
             "finely as a file that can be mailed has room for, and of the sources those that lie "
             "below the current folder: run it in another folder to send none.",
     .text = &given.html},
    {"no-summary", .help = "Without what stands above the table", .flag = &given.no_summary},
    {0},
};

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

static int report_print(crn_report *report)
{
    int status = crn_report_choose(report, &given);
    if (status != CRN_EXIT_OK)
        return status;
    if (given.html)
        return crn_report_html(report, given.html);
    if (given.json) {
        crn_report_json(stdout, report);
        return CRN_EXIT_OK;
    }
    if (!given.no_summary && report->view != CRN_VIEW_DOT)
        crn_report_summary(stdout, report);
    static void (*const views[])(FILE *, const crn_report *) = {
        crn_report_flat,    crn_report_tree, crn_report_sequence, crn_report_stack,
        crn_report_compare, crn_report_zero, crn_report_dot};
    views[report->view](stdout, report);
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

static int run(void)
{
    static char buffer[OUTPUT_SIZE];
    if (!isatty(STDOUT_FILENO)) /* a tree can be half a gigabyte */
        setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    crn_profile *profile = crn_cli_load_all(given.captures.list, given.captures.count);
    if (profile && (given.merge || given.split))
        profile = crn_report_merge_instances(profile, &given);
    if (!profile)
        return CRN_EXIT_BAD;
    char *all = join(given.captures.list, given.captures.count);
    crn_report report = {.profile = profile, .path = all};
    int status = report_print(&report);

    for (size_t i = 0; i < report.drop_count; i++)
        crn_sequence_free(&report.drops[i]);
    crn_free(report.drops);
    crn_free(report.shown);
    crn_free(all);
    crn_sequence_free(&report.focus);
    crn_profile_free(profile);
    return status;
}

const crn_command crn_command_report = {
    .name = "report",
    .purpose = "show where calls and time went",
    .arguments = "CAPTURE...",
    .doc = doc,
    .options = options,
    .words = &given.captures,
    .least = 1,
    .check = check,
    .run = run,
};
