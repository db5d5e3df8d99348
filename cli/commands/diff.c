/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/diff/diff.h"
#include "cli/diff/why.h"
#include "commands.h"
#include "profile/profile.h"

enum { TOP_DEFAULT = 30 };
#define SHARE_DEFAULT 0.01

static struct {
    crn_list captures;
    const char *metric;
    int sort; /* crn_diff_sort */
    long top;
    double fail_total, fail_block, share; /* as a fraction of 1; below 0: not requested */
    long first;                           /* number of captures before; 0: half of all */
    bool contexts, json, why;
} given = {.top = TOP_DEFAULT, .fail_total = -1, .fail_block = -1, .share = SHARE_DEFAULT};

static const crn_option options[] = {
    {"contexts", 'c', .help = "Compare contexts instead of blocks", .flag = &given.contexts},
    CRN_OPTION_METRIC(
        &given.metric, "METRIC",
        "ticks, wall, calls or another (default: the first of these that both captures have)",
        "The total of ticks is exact; so are the ticks of a block with cairn run --ticks 1."),
    {"why",
     .help = "Why the total changed: more calls, more cost a call, new functions, by call edge and "
             "function; of several runs on each side, beyond the noise between them",
     .more = "The parts add up to the change. Give the captures of all runs before, then of all "
             "runs after.",
     .flag = &given.why},
    {"before", .argument = "N",
     .help = "With --why: the first N captures are before (default: the first half)",
     .number = &given.first, .least = 1},
    {"sort", 's', .argument = "COLUMN", .words = CRN_WORDS("self", "total", "calls"),
     .help = "By the change of self (default), total or calls", .choice = &given.sort},
    CRN_OPTION_TOP(&given.top, " (30)"),
    {"fail-above", .argument = "PERCENT",
     .help = "Exit with status 1 if the metric's total grew by more than this",
     .share = &given.fail_total},
    {"fail-above-block", .argument = "PERCENT",
     .help = "Exit with status 1 if the self cost of a block grew by more than this",
     .more = "A new block counts as grown. Growth that sampling alone can cause does not count; a "
             "line on standard error reports it.",
     .share = &given.fail_block},
    {"share", .argument = "PERCENT",
     .help =
         "With --fail-above-block: only blocks with at least this share of the total, before or "
         "after (1)",
     .share = &given.share},
    CRN_OPTION_JSON(&given.json),
    {0},
};

static const char doc[] =
    "Show what changed from one capture to another.\vBlocks are matched by name, file and "
    "enclosing block, not by line. The total of ticks is exact, so a test for regressions is:\n\n  "
    "cairn diff before.cairn after.cairn --metric ticks --fail-above 1%\n\nIf the metric was "
    "sampled, \"~\" marks changes within chance; --fail-above-block ignores these.\n\nExit status: "
    "0; 1 if a --fail-above was exceeded; 2 for bad input.";

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

static bool all_hold(const crn_profile *const *profiles, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        int metric = crn_profile_metric(profiles[i], name);
        if (metric < 0 || crn_metric_empty(profiles[i], (uint32_t)metric))
            return false;
    }
    return true;
}

/* Returns the first metric that all captures have of ticks, which have no noise, wall, and the
 * others; else calls. */
static const char *common_metric(const crn_profile *const *profiles, size_t count)
{
    static const char *const names[] = {"ticks", "wall"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (all_hold(profiles, count, names[i]))
            return names[i];
    for (uint32_t m = CRN_METRIC_WALL + 1; m < profiles[0]->metric_count; m++)
        if (all_hold(profiles, count, profiles[0]->metrics[m].name))
            return profiles[0]->metrics[m].name;
    return "calls";
}

bool crn_diff_choose_metric(crn_diff_input *input, const char *name)
{
    if (!find_metric(input, name ? name : common_metric(input->profile, CRN_SIDES)))
        return false;
    return input->metric[CRN_BEFORE] != CRN_METRIC_CALLS ||
           crn_calls_missing(input->profile[CRN_BEFORE]) ==
               crn_calls_missing(input->profile[CRN_AFTER]);
}

/* Returns false if a side has no figures of the metric, as the gate would never fail; or if calls
 * were chosen only because the sides have no other metric in common. `named`: by --metric. */
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

/* Prints that a growth beyond the limit does not count, as it is within chance. `many`: `what` is
 * plural. */
static void say_chance(const crn_diff_report *report, const char *what, double limit, bool many)
{
    crn_cli_fail("%s grew by more than %g %% in %s, but by no more than chance can cause with so "
                 "few samples: %s not count",
                 what, 100 * limit, report->metric_name, many ? "they do" : "it does");
}

static bool matters(const crn_diff *blocks, const crn_diff_row *row, double share)
{
    bool any = false;
    for (int side = 0; side < CRN_SIDES; side++)
        any |= row->self[side] && (double)row->self[side] >= share * (double)blocks->total[side];
    return any;
}

/* Returns true if no block with enough share grew by more than allowed. Of many blocks some grow by
 * chance: all tests together fail at most one unchanged run in 20. */
static bool judge_blocks(const crn_diff_report *report)
{
    crn_diff blocks = crn_diff_blocks(&report->input);
    unsigned count = 0, chances = 0, apart = 0;
    bool good = true;
    for (uint32_t i = 0; i < blocks.count; i++)
        count += matters(&blocks, &blocks.rows[i], given.share);
    double z = crn_interval_z_of(count);
    for (uint32_t i = 0; i < blocks.count; i++) {
        const crn_diff_row *row = &blocks.rows[i];
        if (!matters(&blocks, row, given.share) || !exceeds(row->self, given.fail_block))
            continue;
        bool chance = crn_sampling_within_chance(blocks.sampling, row->self, z);
        if (chance || crn_diff_row_is_apart(row)) {
            chances += chance;
            apart += !chance;
            continue;
        }
        int side = row->id[CRN_AFTER] != CRN_DIFF_NONE ? CRN_AFTER : CRN_BEFORE;
        say_growth(report, report->input.profile[side]->blocks[row->id[side]].name, row->self,
                   given.fail_block);
        good = false;
    }
    char what[64];
    snprintf(what, sizeof what, "%u block%s", chances, chances == 1 ? "" : "s");
    if (chances)
        say_chance(report, what, given.fail_block, chances > 1);
    if (apart)
        crn_cli_fail("%u block%s not recorded before: left out, as growth is unknown", apart,
                     apart == 1 ? " was" : "s were");
    crn_diff_free(&blocks);
    return good;
}

/* Evaluates --fail-above and --fail-above-block, even if the table shows contexts. Returns an exit
 * status. */
static int judge(const crn_diff_report *report)
{
    int status = CRN_EXIT_OK;
    if (given.fail_total >= 0 && exceeds(report->diff.total, given.fail_total)) {
        if (crn_diff_total_is_chance(report)) {
            say_chance(report, "the total", given.fail_total, false);
        } else {
            say_growth(report, "total", report->diff.total, given.fail_total);
            status = CRN_EXIT_NO;
        }
    }
    if (given.fail_block < 0)
        return status;
    return judge_blocks(report) ? status : CRN_EXIT_NO;
}

static int compare(crn_diff_report *report)
{
    crn_diff_input *input = &report->input;
    if (!crn_diff_choose_metric(input, given.metric) && given.metric)
        return crn_cli_fail(
            "the captures do not both have a metric \"%s\"; cairn report shows their metrics",
            given.metric);
    if (!crn_diff_choose_metric(input, given.metric))
        return crn_cli_fail("the captures have no metric in common; record both with the same "
                            "clock, such as cairn run --cpu");
    bool gate = given.fail_total >= 0 || given.fail_block >= 0;
    if (gate && !can_gate(input, given.metric != NULL))
        return crn_cli_fail("the captures measure no time or ticks in common for a gate; record "
                            "both in the same mode, or name a metric that both hold");
    report->metric_name = input->profile[CRN_BEFORE]->metrics[input->metric[CRN_BEFORE]].name;
    report->diff = given.contexts ? crn_diff_contexts(input) : crn_diff_blocks(input);
    report->contexts = given.contexts;
    report->top = (uint32_t)given.top;
    if (given.json)
        crn_diff_json(stdout, report);
    else
        crn_diff_text(stdout, report);
    int status = judge(report);
    crn_diff_free(&report->diff);
    return status;
}

static void check(struct argp_state *state)
{
    if (!given.why && given.captures.count > CRN_SIDES)
        argp_error(state, "more than two captures need --why");
    if (given.first && !given.why)
        argp_error(state, "--before is for --why");
    if (given.why && (given.fail_total >= 0 || given.fail_block >= 0 || given.contexts))
        argp_error(state, "--why takes neither --contexts nor --fail-above; see cairn gate");
    if (given.why && !given.first && given.captures.count % 2)
        argp_error(state, "of %zu captures, say how many are before: --before N",
                   given.captures.count);
    if (given.first && (size_t)given.first >= given.captures.count)
        argp_error(state, "--before %ld leaves no capture after", given.first);
}

/* Returns true if a capture did not record the metric. Every capture has a column for the clocks,
 * which is empty if a clock was off. */
static bool lacks(const crn_profile *profile, const char *name)
{
    int metric = crn_profile_metric(profile, name);
    if (metric == CRN_METRIC_CALLS)
        return crn_calls_missing(profile);
    return metric < 0 || (metric < CRN_METRIC_FIXED && crn_metric_empty(profile, (uint32_t)metric));
}

static int explain(const crn_profile *const *profiles)
{
    size_t count = given.captures.count;
    size_t before = given.first ? (size_t)given.first : count / 2;
    const char *metric = given.metric ? given.metric : common_metric(profiles, count);
    for (size_t i = 0; i < count; i++)
        if (lacks(profiles[i], metric))
            return given.metric
                       ? crn_cli_fail("%s has no metric \"%s\"; cairn report shows its metrics",
                                      given.captures.list[i], metric)
                       : crn_cli_fail("the captures have no metric in common: %s has no calls; "
                                      "record all with the same clock, such as cairn run --cpu",
                                      given.captures.list[i]);
    crn_why_input input = {.profiles = {profiles, profiles + before},
                           .runs = {before, count - before},
                           .metric = metric};
    crn_why why = crn_why_make(&input);
    crn_why_report report = {
        .why = &why,
        .captures = {profiles, (const char *const *)given.captures.list, count},
        .metric = metric,
        .unit = profiles[0]->metrics[crn_profile_metric(profiles[0], metric)].unit,
        .runs = {input.runs[CRN_BEFORE], input.runs[CRN_AFTER]},
        .top = (uint32_t)given.top};
    (given.json ? crn_why_json : crn_why_text)(stdout, &report);
    crn_why_free(&why);
    return CRN_EXIT_OK;
}

static int run_why(void)
{
    size_t count = given.captures.count, loaded = 0;
    crn_profile **profiles = crn_calloc(count, sizeof *profiles);
    while (loaded < count && (profiles[loaded] = crn_cli_load(given.captures.list[loaded])))
        loaded++;
    int status = loaded == count ? explain((const crn_profile *const *)profiles) : CRN_EXIT_BAD;
    for (size_t i = 0; i < loaded; i++)
        crn_profile_free(profiles[i]);
    crn_free((void *)profiles);
    return status;
}

static int run(void)
{
    if (given.why)
        return run_why();
    crn_diff_report report = {.input.sort = (crn_diff_sort)given.sort};
    crn_profile *profiles[CRN_SIDES] = {NULL, NULL};
    int status = CRN_EXIT_BAD;
    for (int side = 0; side < CRN_SIDES; side++) {
        profiles[side] = crn_cli_load(given.captures.list[side]);
        if (!profiles[side])
            break;
        report.paths[side] = given.captures.list[side];
        report.input.profile[side] = profiles[side];
        if (side + 1 == CRN_SIDES)
            status = compare(&report);
    }
    crn_profile_free(profiles[CRN_BEFORE]);
    crn_profile_free(profiles[CRN_AFTER]);
    return status;
}

const crn_command crn_command_diff = {
    .name = "diff",
    .purpose = "compare two captures; test for regressions",
    .arguments = "BEFORE... AFTER...",
    .doc = doc,
    .options = options,
    .words = &given.captures,
    .least = CRN_SIDES,
    .check = check,
    .missing = "two captures are needed; write the path of the old one, then of the new one",
    .run = run,
};
