/* SPDX-License-Identifier: MIT */
#include <argp.h>

#include "analysis/merge.h"
#include "analysis/redact.h"
#include "base/memory.h"
#include "cli.h"
#include "progress.h"

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
    "metrics of the same context are added.\n\n"
    "  cairn merge -o week.cairn mon.cairn tue.cairn wed.cairn";

static crn_profile *merge_all(const arguments *arguments)
{
    crn_merge *merge = crn_merge_new();
    bool good = true;
    for (size_t i = 0; good && i < arguments->count; i++) {
        crn_profile *profile = crn_cli_load(arguments->paths[i]);
        good = profile != NULL;
        if (!good)
            break;
        crn_progress_begin("%s: adding %s", crn_cli_name, arguments->paths[i]);
        crn_merge_add(merge, profile);
        crn_progress_end();
        crn_profile_free(profile);
    }
    crn_profile *sum = crn_merge_end(merge);
    if (good)
        return sum;
    crn_profile_free(sum);
    return NULL;
}

int crn_cmd_merge(int argc, char **argv)
{
    static const struct argp argp = {options, parse, "CAPTURE...", doc, NULL, NULL, NULL};
    arguments arguments = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    crn_profile *profile = merge_all(&arguments);
    crn_free(arguments.paths);
    if (profile && arguments.redact) {
        crn_profile *redacted = crn_redact(profile, NULL);
        crn_profile_free(profile);
        profile = redacted;
    }
    int status = profile ? crn_cli_save(profile, arguments.output) : CRN_EXIT_BAD;
    crn_profile_free(profile);
    return status;
}
