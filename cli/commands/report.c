/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
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
    if (given.compare && given.sort > CRN_SORT_INCLUSIVE) /* rows are sorted by the difference */
        argp_error(state, "--compare takes only --sort self and --sort total");
    bool by_sequence = given.focus && !given.flat && !given.stack && !given.dot;
    if (given.keep && (given.compare || (by_sequence && !given.tree)))
        argp_error(state, "--keep needs --flat, --tree, --stack, --zero or --dot");
    if (given.keep && given.tree && (given.drops.count || given.focus))
        argp_error(state, "with --tree, --keep takes no --drop, --focus, --callers or --callees");
    if (given.chains && !given.tree)
        argp_error(state, "--chains is for --tree");
    if (given.zero && (given.focus || given.drops.count))
        argp_error(state, "--zero covers the whole run; --keep selects the blocks that it shows");
    if (!given.dot && (given.title || given.gray))
        argp_error(state, "--title and --gray are for --dot");
    if (given.dot && given.json)
        argp_error(state, "--dot and --json exclude each other");
    if (given.threshold > 1)
        argp_error(state, "--threshold is at most 100");
}

/* Refuses --html CAPTURE, which lacks the name of the page. */
static void refuse_capture(struct argp_state *state, const crn_option *option, char *value)
{
    if (crn_path_ends(value, ".cairn"))
        argp_error(state, "--%s needs a file name before the capture, as in --%s=page.html %s",
                   option->name, option->name, value);
}

static const crn_option options[] = {
    {.help = "Views:"},
    {"flat", .help = "Functions, summed over all callers (the default)", .flag = &given.flat},
    {"tree", 't',
     .help = "Contexts as a tree; with --focus or --callees, the part below; with --callers, the "
             "callers, bottom-up",
     .more = "A child without siblings stands below its parent behind an arrow and is not "
             "indented. \"\xe2\x86\xba 99\" says that 99 calls came back to the context along a "
             "cycle: recursion.",
     .flag = &given.tree},
    {"chains", .help = "Show every context of a chain in the tree",
     .more = "A chain is a row of contexts of which each has one callee in the table, and none but "
             "the last has a cost of its own. Without this option three or more contexts between "
             "its ends are counted, not shown, if they have as many calls as its first and no "
             "recursion. Trees with --keep or --callers, and JSON, show all.",
     .flag = &given.chains},
    {"callers", .argument = "BLOCK", .help = "Callers of a function", .set = focus_callers},
    {"callees", .argument = "BLOCK", .help = "Callees of a function", .set = focus_callees},
    {"focus", 'f', .argument = "A[,B...]",
     .help = "A function, or functions that call each other, with callers and callees",
     .more = "On a terminal the last line suggests the next command. With --flat, shows the flat "
             "view of the contexts whose path contains the sequence.",
     .set = focus_both},
    {"stack",
     .help = "Blocks as in MLton's stack profiles: cost while they run, cost while they are on the "
             "stack, and the garbage collector's cost meanwhile",
     .more = "The column stack is without the collector's work, which is in stack/GC: the cost of "
             "the collector's blocks and their descendants. A block counts once, however often it "
             "is on the stack. Stack and stack/GC together are the total cost.",
     .flag = &given.stack},
    {"gc", .argument = "NAME", .help = "The garbage collector's blocks (<gc>), for --stack",
     .more = "Also used by thresh-gc and by the summary's line on the collector.",
     .text = &given.collector},
    {"compare", .argument = "METRIC,METRIC",
     .words = CRN_WORDS("wall,cpu", "wall,ticks", "cpu,ticks"),
     .help = "Functions by the difference of their shares in two metrics, such as wall,cpu: one "
             "with a larger share of wall than of cpu waits",
     .more = "The surest difference comes first. The column apart is the share of the first metric "
             "minus the share of the second, in percentage points. A block with much cpu and few "
             "ticks is slow for its work. With --sort total, compares total costs.",
     .text = &given.compare},
    {"zero", .help = "Blocks that never ran: a coverage report",
     .more = "Sorted by file and line. A capture has the blocks that the program added: all "
             "functions with cairn-cc(1) --zero, with --branch also all branches. Files with "
             "blocks that never ran are listed below, with the number of blocks that ran.",
     .flag = &given.zero},
    {"dot", .help = "The call graph, for Graphviz; dashed arrows lead through hidden blocks",
     .more = "Darker blocks were on the stack for longer; arrows have the number of calls. Blocks "
             "below the threshold are hidden.",
     .flag = &given.dot},
    {"title", .argument = "TEXT", .help = "The title of the graph, for --dot",
     .text = &given.title},
    {"gray", .help = "Shade the graph in levels of gray, for --dot", .flag = &given.gray},
    {.help = "Narrowing:"},
    {"keep", .argument = "SET",
     .help = "Show these blocks only, such as 'from(\"parse\") and not file(\"lib\")'; with "
             "--flat, --tree, --stack, --zero and --dot",
     .more = "See SETS OF BLOCKS. Percentages are still of the whole, and the last line has the "
             "cost of the hidden blocks. With --tree it counts as their callers' own.",
     .text = &given.keep},
    {"merge", .argument = "SET", .optional = true,
     .help = "Add up template instances and clones with one source location (of blocks in SET)",
     .more = "The block has the name without template arguments and parameters.", .set = set_merge},
    {"split", .argument = "SET", .help = "As --merge, without the blocks in SET",
     .more = "cairn-cc(1) makes clones one block with their function, except with --clones.",
     .text = &given.split},
    {"drop", .argument = "A[,B...]",
     .help = "Leave out contexts with this block or sequence in their path; may be repeated",
     .list = &given.drops},
    {"transform", .argument = "KIND:BLOCK",
     .help = "Simplify paths first: merge, collapse, merge-file, collapse-file or focus-file; may "
             "be repeated",
     .more = "\"merge:malloc\" takes malloc out of all paths: its cost counts for its callers. "
             "\"collapse:parse\" makes all that parse calls a part of it. \"merge-file:util.c\" "
             "takes all blocks of the file out; \"collapse-file:util.c\" makes calls within the "
             "file a part of the block that was called from outside; \"focus-file:util.c\" begins "
             "each path at its first block of the file, and drops other paths.",
     .list = &given.transforms},
    {"top", 'n', .argument = "N", .help = "Show at most N rows (30); 0 is all",
     .more = "Default for a sequence: 12 on each side; for a tree: all.", .number = &given.top},
    {"threshold", 'T', .argument = "PERCENT",
     .help = "Hide rows below this share (tree: 0.5, dot: 1)",
     .more = "It is a share of the first metric.", .share = &given.threshold},
    {.help = "Figures:"},
    CRN_OPTION_METRIC(
        &given.metrics, "METRIC[,...]",
        "wall, cpu, ticks, calls or another that was recorded, or \"all\" (default: the first of "
        "wall, ticks and cpu that is not 0; in the flat view all of these)",
        "Others are alloc bytes and live bytes (what was allocated and not freed). Only the flat "
        "view shows several; the first sorts."),
    {"short-names",
     .help =
         "Leave parameters, template arguments, namespaces and enclosing functions out of names",
     .more =
         "\"ns::f<int>(int)\" and \"Outer.f\" become \"f\". Functions of one place in the source "
         "that then have the same name are added up.",
     .flag = &given.short_names},
    {"sort", 's', .argument = "COLUMN", .words = crn_report_sort_names,
     .help = "self (default), total, calls or name", .choice = &given.sort},
    {.help = "Output:"},
    CRN_OPTION_JSON(&given.json),
    {"html", .argument = "OUT",
     .help = "Write the page of cairn view with the profile in it to OUT, a single file",
     .more = "It needs no network. It includes spans at a limited level of detail, and the sources "
             "below the current folder: run it in another folder to include none.",
     .text = &given.html, .set = refuse_capture},
    {"no-summary", .help = "Without the summary above the table", .flag = &given.no_summary},
    {"strict",
     .help = "End with status 1 if the capture has warnings, such as misuse or lost calls",
     .flag = &given.strict},
    {0},
};

static const char doc[] =
    "Show the calls and the time in a capture; several captures are added up.\vBLOCK is a name, "
    "NAME@FILE:LINE, a name inside others (outer.inner), #ID, or the beginning of a name.\nself is "
    "the cost without callees, total the cost with callees; recursion counts once.\n\n  cairn "
    "report a.cairn\n  cairn report a.cairn --tree --threshold 2\n  cairn report a.cairn --focus "
    "parse,token --drop '[gc]'\n  cairn report a.cairn --tree --callers malloc\n  cairn report "
    "a.cairn --compare wall,cpu\n  cairn report a.cairn --dot --keep 'to(\"malloc\") and "
    "thresh-stack(2)' | dot -Tsvg\n  cairn report a.cairn a.*.cairn    with the captures of forked "
    "children\n\nSET is \"REGULAR EXPRESSION\", file(\"RE\"), is(\"BLOCK\"), all, pred(SET), "
    "succ(SET), to(SET), from(SET), thresh(PERCENT), thresh-stack(PERCENT), thresh-gc(PERCENT), "
    "joined by and, or, not and brackets.\n\nlikely: 95 % interval, shown below 100 samples.";

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

/* Joins paths: "a, b, c"; of many, "a and 9 more". Free the result with crn_free. */
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
    if (profile && given.short_names)
        profile = crn_report_shorten(profile);
    if (profile && given.transforms.count)
        profile = crn_report_transform(profile, &given);
    if (!profile)
        return CRN_EXIT_BAD;
    char *all = join(given.captures.list, given.captures.count);
    crn_report report = {.profile = profile, .path = all};
    int status = report_print(&report);
    if (status == CRN_EXIT_OK && given.strict && profile->warning_count)
        status = CRN_EXIT_NO;

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
    .purpose = "show calls and time by block or context",
    .arguments = "[CAPTURE...]",
    .doc = doc,
    .options = options,
    .words = &given.captures,
    .least = 1,
    .reads_newest = true,
    .check = check,
    .run = run,
};
