/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/diff/diff.h"
#include "commands.h"
#include "profile/profile.h"

enum { OPTION_FAIL_ABOVE = 256, OPTION_FAIL_ABOVE_BLOCK, OPTION_SHARE, TOP_DEFAULT = 30 };
#define SHARE_DEFAULT 0.01

static const struct argp_option options[] = {
    {"contexts", 'c', 0, 0, "Compare contexts instead of blocks", 0},
    {"metric", 'm', "METRIC", 0,
     "ticks, wall, calls or another (the first of these that both captures hold)", 0},
    {"sort", 's', "COLUMN", 0, "By the change of self (default), inclusive or calls", 0},
    {"top", 'n', "N", 0, "Show at most N rows (30); 0 is all", 0},
    {"fail-above", OPTION_FAIL_ABOVE, "PERCENT", 0,
     "End with status 1 when the metric's total grew by more than this", 0},
    {"fail-above-block", OPTION_FAIL_ABOVE_BLOCK, "PERCENT", 0,
     "End with status 1 when the self cost of any block that matters grew by more than this", 0},
    {"share", OPTION_SHARE, "PERCENT", 0,
     "Which blocks matter: those with this share of the total, before or after (1)", 0},
    {"json", 'j', 0, 0, "As JSON, for programs", 0},
    {0},
};

typedef struct arguments {
    const char *paths[CRN_SIDES], *metric, *sort;
    int path_count;
    long top;
    double fail_total, fail_block, share; /* shares of 1; below 0: not requested */
    bool contexts, json;
} arguments;

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *arguments = state->input;
    switch (key) {
    case 'c':
        arguments->contexts = true;
        return 0;
    case 'm':
        arguments->metric = value;
        return 0;
    case 's':
        arguments->sort = value;
        return 0;
    case 'n':
        arguments->top = crn_cli_rows(state, value);
        return 0;
    case OPTION_FAIL_ABOVE:
        arguments->fail_total = crn_cli_percent(state, value);
        return 0;
    case OPTION_FAIL_ABOVE_BLOCK:
        arguments->fail_block = crn_cli_percent(state, value);
        return 0;
    case OPTION_SHARE:
        arguments->share = crn_cli_percent(state, value);
        return 0;
    case 'j':
        arguments->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->path_count == CRN_SIDES)
            argp_error(state, "two captures are compared; \"%s\" is one too many", value);
        arguments->paths[arguments->path_count++] = value;
        return 0;
    case ARGP_KEY_END:
        if (arguments->path_count < CRN_SIDES)
            argp_error(state, "which captures? write the path of the one before, then of the one "
                              "after");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char doc[] =
    "Show what changed from one capture to another.\v"
    "Blocks are the same when name, file and the block around them are, wherever their lines "
    "are now. A total of ticks has no noise (a block's has none, either, where each tick was "
    "charged: cairn run --ticks 1), so a gate against regressions is:\n\n"
    "  cairn diff before.cairn after.cairn --metric ticks --fail-above 1%\n\n"
    "Where time or ticks were sampled, \"~\" marks changes that the samples of two equal runs may "
    "show as well; --fail-above-block does not count them.\n\n"
    "Exit status: 0, 1 when a --fail-above was exceeded, 2 for bad input.";

static bool choose_sort(const char *name, crn_diff_sort *sort)
{
    static const char *const names[] = {"self", "inclusive", "calls"};
    for (int i = 0; name && i < 3; i++)
        if (strcmp(name, names[i]) == 0)
            *sort = (crn_diff_sort)i;
    return !name || strcmp(name, names[*sort]) == 0;
}

static bool both_hold(const crn_diff_input *input, const uint32_t metric[CRN_SIDES])
{
    return !crn_metric_empty(input->profile[CRN_BEFORE], metric[CRN_BEFORE]) &&
           !crn_metric_empty(input->profile[CRN_AFTER], metric[CRN_AFTER]);
}

static bool find_metric(crn_diff_input *input, const char *name)
{
    for (int side = 0; side < CRN_SIDES; side++) {
        int metric = crn_profile_metric(input->profile[side], name);
        if (metric < 0)
            return false;
        input->metric[side] = (uint32_t)metric;
    }
    return true;
}

/* Ticks first: they have no noise. */
static void choose_default(crn_diff_input *input)
{
    static const char *const names[] = {"ticks", "wall"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (find_metric(input, names[i]) && both_hold(input, input->metric))
            return;
    const crn_profile *before = input->profile[CRN_BEFORE];
    for (uint32_t m = CRN_METRIC_WALL + 1; m < before->metric_count; m++)
        if (find_metric(input, before->metrics[m].name) && both_hold(input, input->metric))
            return;
    input->metric[CRN_BEFORE] = input->metric[CRN_AFTER] = CRN_METRIC_CALLS;
}

bool crn_diff_choose_metric(crn_diff_input *input, const char *name)
{
    if (name)
        return find_metric(input, name);
    choose_default(input);
    return true;
}

/* A gate on a metric that one capture lacks would never fail. */
static bool can_gate(const crn_diff_input *input, bool named)
{
    if (named || input->metric[CRN_BEFORE] != CRN_METRIC_CALLS)
        return both_hold(input, input->metric);
    for (int side = 0; side < CRN_SIDES; side++)
        for (uint32_t m = CRN_METRIC_TICKS; m < input->profile[side]->metric_count; m++)
            if (!crn_metric_empty(input->profile[side], m))
                return false;
    return true;
}

static bool exceeds(const uint64_t figures[CRN_SIDES], double limit)
{
    return (double)figures[CRN_AFTER] > (double)figures[CRN_BEFORE] * (1 + limit);
}

static void say_growth(const crn_diff_report *report, const char *what,
                       const uint64_t figures[CRN_SIDES], double limit)
{
    char growth[64];
    if (figures[CRN_BEFORE])
        snprintf(growth, sizeof growth, "grew by %.2f %%",
                 100 * ((double)figures[CRN_AFTER] / (double)figures[CRN_BEFORE] - 1));
    else
        snprintf(growth, sizeof growth, "is new");
    crn_cli_fail("%s: %s %s, more than %g %%", what, report->metric_name, growth, 100 * limit);
}

static bool matters(const crn_diff *blocks, const crn_diff_row *row, double share)
{
    bool any = false;
    for (int side = 0; side < CRN_SIDES; side++)
        any |= row->self[side] && (double)row->self[side] >= share * (double)blocks->total[side];
    return any;
}

/* Returns true if no block that matters grew by more than allowed. With many blocks, some grow by
 * chance: the tests together fail at most one unchanged run in 20. */
static bool judge_blocks(const crn_diff_report *report, const arguments *arguments)
{
    crn_diff blocks = crn_diff_blocks(&report->input);
    unsigned count = 0, chances = 0;
    bool good = true;
    for (uint32_t i = 0; i < blocks.count; i++)
        count += matters(&blocks, &blocks.rows[i], arguments->share);
    double z = crn_interval_z_of(count);
    for (uint32_t i = 0; i < blocks.count; i++) {
        const crn_diff_row *row = &blocks.rows[i];
        if (!matters(&blocks, row, arguments->share) || !exceeds(row->self, arguments->fail_block))
            continue;
        if (crn_sampling_within_chance(blocks.sampling, row->self, z)) {
            chances++;
            continue;
        }
        int side = row->id[CRN_AFTER] != CRN_DIFF_NONE ? CRN_AFTER : CRN_BEFORE;
        say_growth(report, report->input.profile[side]->blocks[row->id[side]].name, row->self,
                   arguments->fail_block);
        good = false;
    }
    if (chances)
        crn_cli_fail(
            "%u block%s grew by more than %g %% in %s, but by no more than chance makes of "
            "so few samples: %s not count",
            chances, chances == 1 ? "" : "s", 100 * arguments->fail_block, report->metric_name,
            chances == 1 ? "it does" : "they do");
    crn_diff_free(&blocks);
    return good;
}

/* Evaluates the gate, by blocks even if the table shows contexts. */
static int judge(const crn_diff_report *report, const arguments *arguments)
{
    int status = CRN_EXIT_OK;
    if (arguments->fail_total >= 0 && exceeds(report->diff.total, arguments->fail_total)) {
        say_growth(report, "total", report->diff.total, arguments->fail_total);
        status = CRN_EXIT_NO;
    }
    if (arguments->fail_block < 0)
        return status;
    return judge_blocks(report, arguments) ? status : CRN_EXIT_NO;
}

static int compare(crn_diff_report *report, const arguments *arguments)
{
    crn_diff_input *input = &report->input;
    if (!crn_diff_choose_metric(input, arguments->metric))
        return crn_cli_fail("there is no metric \"%s\" in both captures; cairn report shows what "
                            "they hold",
                            arguments->metric);
    bool gate = arguments->fail_total >= 0 || arguments->fail_block >= 0;
    if (gate && !can_gate(input, arguments->metric != NULL))
        return crn_cli_fail("the captures measure no time or ticks in common for a gate; record "
                            "both in the same mode, or name a metric that both hold");
    report->metric_name = input->profile[CRN_BEFORE]->metrics[input->metric[CRN_BEFORE]].name;
    report->diff = arguments->contexts ? crn_diff_contexts(input) : crn_diff_blocks(input);
    report->contexts = arguments->contexts;
    report->top = arguments->top >= 0 ? (uint32_t)arguments->top : TOP_DEFAULT;
    if (arguments->json)
        crn_diff_json(report);
    else
        crn_diff_text(report);
    int status = judge(report, arguments);
    crn_diff_free(&report->diff);
    return status;
}

int crn_cmd_diff(int argc, char **argv)
{
    static const struct argp argp = {options, parse, "BEFORE AFTER", doc, NULL, NULL, NULL};
    arguments arguments = {.top = -1, .fail_total = -1, .fail_block = -1, .share = SHARE_DEFAULT};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    crn_diff_report report = {0};
    if (!choose_sort(arguments.sort, &report.input.sort))
        return crn_cli_fail("cannot sort by \"%s\"; write self, inclusive or calls",
                            arguments.sort);
    crn_profile *profiles[CRN_SIDES] = {NULL, NULL};
    int status = CRN_EXIT_BAD;
    for (int side = 0; side < CRN_SIDES; side++) {
        profiles[side] = crn_cli_load(arguments.paths[side]);
        if (!profiles[side])
            break;
        report.paths[side] = arguments.paths[side];
        report.input.profile[side] = profiles[side];
        if (side + 1 == CRN_SIDES)
            status = compare(&report, &arguments);
    }
    crn_profile_free(profiles[CRN_BEFORE]);
    crn_profile_free(profiles[CRN_AFTER]);
    return status;
}
