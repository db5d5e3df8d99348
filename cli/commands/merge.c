/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/common/output.h"
#include "commands.h"
#include "spans/spans.h"

static struct {
    crn_list captures;
    const char *output;
    bool redact, tolerant;
} given;

static void check(struct argp_state *state)
{
    if (!given.output)
        argp_error(state, "no output given; write -o OUT.cairn");
}

static const crn_option options[] = {
    CRN_OPTION_OUTPUT(&given.output, "OUT", "Write the merged capture to OUT (required)",
                      CRN_OUTPUT_IS_CAPTURE),
    CRN_OPTION_REDACT(&given.redact),
    {"tolerant",
     .help = "Leave out captures that cannot be read or are of another MLton program, with a "
             "message, unless that is all of them",
     .flag = &given.tolerant},
    {0},
};

static const char doc[] =
    "Merge captures into one.\vBlocks are matched by name, file, line, column and enclosing block; "
    "calls and metrics of equal contexts are added. All spans are kept: a span that another "
    "process requested, by a traceparent or by fork, becomes a child of the requesting span, and "
    "clocks are aligned.\n\n  cairn merge -o week.cairn mon.cairn tue.cairn wed.cairn\n  cairn "
    "merge -o all.cairn client.cairn server.cairn";

/* Returns true if the output is none of the inputs. */
static bool output_is_good(void)
{
    for (size_t i = 0; i < given.captures.count; i++)
        if (crn_output_is_same(given.captures.list[i], given.output))
            return crn_cli_fail("%s: is one of the input files; name another file with -o",
                                given.output) == CRN_EXIT_OK;
    return true;
}

/* Prints, for spans of several processes, their number, and how well the clocks agree. */
static void tell(const crn_trace *trace, crn_trace_clocks clocks, const char *output)
{
    if (trace->process_count < 2)
        return;
    printf("%s: %" PRIu32 " spans of %" PRIu32 " processes on %" PRIu32 " machine%s", output,
           trace->span_count, trace->process_count, clocks.machines,
           clocks.machines == 1 ? "" : "s");
    if (clocks.links)
        printf("; %" PRIu32 " requested by other processes, %" PRIu32
               " of these by spans that are not here",
               clocks.links, clocks.missing);
    puts("");
    if (clocks.shifted)
        printf("clocks: %s by %s%.6f ms, so that no span begins before it is requested\n",
               clocks.machines == 2 ? "one machine was shifted" : "machines were shifted",
               clocks.machines == 2 ? "" : "up to ", (double)clocks.shifted / 1e6);
    if (clocks.early)
        printf("clocks: %" PRIu32 " span%s before the span that requested %s, by up to %.6f ms\n",
               clocks.early, clocks.early == 1 ? " still begins" : "s still begin",
               clocks.early == 1 ? "it" : "them", (double)clocks.earliest / 1e6);
}

static int run(void)
{
    crn_trace *trace = NULL;
    crn_profile *profile =
        output_is_good()
            ? crn_cli_load_spans(given.captures.list, given.captures.count, given.tolerant, &trace)
            : NULL;
    crn_trace_clocks clocks = {0};
    if (trace) /* before redaction, which removes the boot ids that tell machines apart */
        clocks = crn_trace_clocks_of(trace);
    if (profile && given.redact)
        profile = crn_cli_redact(profile, trace, NULL);
    int status = profile ? crn_cli_save_spans(profile, trace, given.output) : CRN_EXIT_BAD;
    if (status == CRN_EXIT_OK && trace)
        tell(trace, clocks, given.output);
    crn_trace_free(trace);
    crn_profile_free(profile);
    return status;
}

const crn_command crn_command_merge = {
    .name = "merge",
    .purpose = "merge captures into one",
    .arguments = "CAPTURE...",
    .doc = doc,
    .options = options,
    .words = &given.captures,
    .least = 1,
    .missing = "no captures given; write their paths",
    .check = check,
    .run = run,
};
