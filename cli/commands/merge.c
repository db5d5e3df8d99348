/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/common/output.h"
#include "commands.h"
#include "spans/spans.h"

enum { OPTION_REDACT = 256 };

static const struct argp_option options[] = {
    {"output", 'o', "OUT", 0, "Write the sum to OUT (needed)", 0},
    {"redact", OPTION_REDACT, 0, 0, "Replace names, as cairn redact does", 0},
    {0},
};

typedef struct arguments {
    const char *output;
    char **paths;
    size_t count;
    bool redact;
} arguments;

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *arguments = state->input;
    switch (key) {
    case 'o':
        arguments->output = value;
        return 0;
    case OPTION_REDACT:
        arguments->redact = true;
        return 0;
    case ARGP_KEY_ARG:
        arguments->paths =
            crn_realloc(arguments->paths, arguments->count + 1, sizeof *arguments->paths);
        arguments->paths[arguments->count++] = value;
        return 0;
    case ARGP_KEY_END:
        if (!arguments->count)
            argp_error(state, "which captures? write their paths");
        if (!arguments->output)
            argp_error(state, "where to? write -o OUT.cairn");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char doc[] =
    "Add captures up into one.\v"
    "Blocks are the same when name, file, line, column and the block around them are; calls and "
    "metrics of the same context are added. Spans are kept: what one process asked another one "
    "for, "
    "by a traceparent or by fork, becomes a child of what asked, and clocks are put beside each "
    "other.\n\n"
    "  cairn merge -o week.cairn mon.cairn tue.cairn wed.cairn\n"
    "  cairn merge -o all.cairn client.cairn server.cairn";

/* The output must not be one of the inputs. */
static bool output_is_good(const arguments *arguments)
{
    for (size_t i = 0; i < arguments->count; i++)
        if (crn_output_is_same(arguments->paths[i], arguments->output))
            return crn_cli_fail("%s: is one of those that are added up; name another file with -o",
                                arguments->output) == CRN_EXIT_OK;
    return true;
}

/* Reports how well the clocks of several processes agree. */
static void tell(const crn_trace *trace, crn_trace_clocks clocks, const char *output)
{
    if (trace->process_count < 2)
        return;
    printf("%s: %" PRIu32 " spans of %" PRIu32 " processes on %" PRIu32 " machine%s", output,
           trace->span_count, trace->process_count, clocks.machines,
           clocks.machines == 1 ? "" : "s");
    if (clocks.links)
        printf("; %" PRIu32 " asked for across processes, of which %" PRIu32 " by what is not here",
               clocks.links, clocks.missing);
    puts("");
    if (clocks.shifted)
        printf("clocks: one machine was moved by %.6f ms, so that nothing begins before it is "
               "asked for\n",
               (double)clocks.shifted / 1e6);
    if (clocks.early)
        printf("clocks: %" PRIu32 " span%s still before what asked for %s, by up to %.6f ms\n",
               clocks.early, clocks.early == 1 ? " begins" : "s begin",
               clocks.early == 1 ? "it" : "them", (double)clocks.earliest / 1e6);
}

int crn_cmd_merge(int argc, char **argv)
{
    static const struct argp argp = {options, parse, "CAPTURE...", doc, NULL, NULL, NULL};
    arguments arguments = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    crn_trace *trace = NULL;
    crn_profile *profile = output_is_good(&arguments)
                               ? crn_cli_load_spans(arguments.paths, arguments.count, &trace)
                               : NULL;
    crn_free(arguments.paths);
    crn_trace_clocks clocks = {0}; /* redacted captures have no machines */
    if (trace)
        clocks = crn_trace_clocks_of(trace);
    if (profile && arguments.redact) {
        crn_redact_map *map = crn_redact_map_new();
        crn_profile *redacted = crn_redact(profile, map);
        if (trace)
            crn_redact_trace(trace, profile, redacted, map);
        crn_redact_map_free(map);
        crn_profile_free(profile);
        profile = redacted;
    }
    int status = profile ? crn_cli_save_spans(profile, trace, arguments.output) : CRN_EXIT_BAD;
    if (status == CRN_EXIT_OK && trace)
        tell(trace, clocks, arguments.output);
    crn_trace_free(trace);
    crn_profile_free(profile);
    return status;
}
