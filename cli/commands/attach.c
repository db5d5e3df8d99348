/* SPDX-License-Identifier: MIT
 *
 * cairn attach profiles a running process. A process that can record itself does so; any other is
 * sampled.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/common/output.h"
#include "cli/run/run.h"
#include "cli/run/switch.h"
#include "commands.h"

static struct {
    crn_list words, labels;
    const char *output;
    uint64_t period_ns, for_ns;
    int process;
    bool quiet, outside;
} given = {.period_ns = 1000000};

static void set_time(struct argp_state *state, const crn_option *option, char *value)
{
    bool is_period = option->name[0] == 'p';
    if (!crn_cli_time(value, is_period ? 10000 : 1000000, 1e15,
                      is_period ? &given.period_ns : &given.for_ns))
        argp_error(state, "--%s needs a time of at least %s, such as %s, not \"%s\"", option->name,
                   is_period ? "10us" : "1ms", is_period ? "100us" : "10s", value);
}

static void add_label(struct argp_state *state, const crn_option *option, char *value)
{
    (void)option;
    crn_run_check_label(state, value);
    crn_list_add(&given.labels, value);
}

static void check(struct argp_state *state)
{
    char *end;
    long process = strtol(given.words.list[0], &end, 10);
    if (*end || process <= 0 || process > INT_MAX)
        argp_error(state, "PID is a process number, not \"%s\"", given.words.list[0]);
    given.process = (int)process;
}

static const crn_option options[] = {
    {"for", .argument = "TIME",
     .help = "End after this time, such as 10s or 500ms; default: when "
             "the process ends, or at Ctrl-C",
     .set = set_time},
    {"period", .argument = "TIME",
     .help = "Processor time between two samples of a thread; default: 1ms", .set = set_time},
    {"outside",
     .help = "Sample the process from outside also if it can record itself (cairn cc --standby, "
             "CAIRN_SWITCH)",
     .flag = &given.outside},
    {"label", .argument = "KEY=VALUE", .help = "A note for the report; may be repeated",
     .set = add_label},
    CRN_OPTION_OUTPUT(&given.output, "FILE",
                      "Path of the capture; default: PID.cairn, in the current folder",
                      CRN_OUTPUT_IS_CAPTURE),
    {"quiet", 'q', .help = "Do not print hints on a terminal, such as the next command",
     .flag = &given.quiet},
    {0},
};

static const char doc[] =
    "Sample the process PID, with all its threads, and the children that it makes from now "
    "on.\vA program of cairn cc --standby that was started with CAIRN_SWITCH records itself "
    "meanwhile, with exact counts. In all others nothing is injected and nothing is stopped: the "
    "kernel samples processor time, and "
    "stacks are unwound by this command. Where the kernel refuses that, running threads are "
    "stopped for a moment every 10 ms. Wall time is charged to where threads wait.\n\n  cairn "
    "attach --for 10s 1234\n  cairn report 1234.cairn";

static int attach(const crn_run *run)
{
    char why[128];
    if (!given.outside && crn_run_can_switch(given.process, why, sizeof why))
        return crn_run_switch(run, given.process, given.for_ns);
    if (!given.outside && *why)
        fprintf(stderr, "%s: the program does not record itself, as %s; it is sampled\n",
                crn_cli_name, why);
    return crn_run_attach(run, given.process, given.period_ns, given.for_ns);
}

static int run(void)
{
    char name[32];
    snprintf(name, sizeof name, "%d.cairn", given.process);
    char *output = crn_output_target(given.output ? given.output : name);
    if (!crn_cli_may_replace(output))
        return crn_cli_fail("%s exists and is not a capture; name another file with -o", output);
    crn_run run = {
        .output = output, .quiet = given.quiet, .labels = &given.labels, .attached = true};
    int status = attach(&run);
    crn_free(output);
    return status;
}

const crn_command crn_command_attach = {
    .name = "attach",
    .purpose = "sample a process that runs already",
    .arguments = "PID",
    .doc = doc,
    .options = options,
    .words = &given.words,
    .least = 1,
    .most = 1,
    .missing = "no process given; write cairn attach PID",
    .check = check,
    .run = run,
};
