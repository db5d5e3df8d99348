/* SPDX-License-Identifier: MIT */
#include <argp.h>

#include "cli/common/cli.h"
#include "commands.h"
#include "spans/spans.h"

static const struct argp_option options[] = {
    {"output", 'o', "OUT", 0, "Write the redacted capture to OUT (needed)", 0},
    {"keep", 'k', "PATTERN", 0,
     "Keep names, files, keys and texts that match this shell pattern, such as 'string.*'; may be "
     "repeated",
     0},
    {"map", 'm', "FILE", 0,
     "Read from FILE which pseudonym is which name, and write it back with what is new. Keep it "
     "to yourself: it turns answers back, and makes further captures comparable",
     0},
    {0},
};

typedef struct arguments {
    char *path;
    const char *output, *map_path;
    crn_redact_map *map;
} arguments;

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *arguments = state->input;
    switch (key) {
    case 'o':
        arguments->output = value;
        return 0;
    case 'k':
        crn_redact_map_keep(arguments->map, value);
        return 0;
    case 'm':
        arguments->map_path = value;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->path)
            argp_error(state, "one capture at a time; use --map to redact several alike");
        arguments->path = value;
        return 0;
    case ARGP_KEY_END:
        if (!arguments->path)
            argp_error(state, "which capture? write its path");
        if (!arguments->output)
            argp_error(state, "where to? write -o OUT.cairn");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char doc[] =
    "Replace names before a capture is shared.\v"
    "Names become f1, f2, ..., files file1.lua, ..., texts and keys of spans' attributes text1, "
    "..., key1, ...: the same one wherever it recurs. Figures, contexts, lines and columns stay, "
    "and so do numbers of spans' attributes and iterations. Command, labels, paths and when it ran "
    "are left out.\n\n"
    "  cairn redact a.cairn -o share.cairn --map secret.map --keep 'string.*'";

static int redact(const arguments *arguments)
{
    crn_error error = {0};
    if (arguments->map_path && !crn_redact_map_read(arguments->map, arguments->map_path, &error))
        return crn_cli_fail("%s", error.message);
    crn_trace *trace;
    crn_profile *profile = crn_cli_load_spans(&arguments->path, 1, &trace);
    if (!profile)
        return CRN_EXIT_BAD;
    crn_profile *redacted = crn_redact(profile, arguments->map);
    if (trace)
        crn_redact_trace(trace, profile, redacted, arguments->map);
    crn_profile_free(profile);
    int status = crn_cli_save_spans(redacted, trace, arguments->output);
    crn_trace_free(trace);
    crn_profile_free(redacted);
    if (status == CRN_EXIT_OK && arguments->map_path &&
        !crn_redact_map_write(arguments->map, arguments->map_path, &error))
        return crn_cli_fail("%s", error.message);
    return status;
}

int crn_cmd_redact(int argc, char **argv)
{
    static const struct argp argp = {options, parse, "CAPTURE", doc, NULL, NULL, NULL};
    arguments arguments = {.map = crn_redact_map_new()};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    int status = redact(&arguments);
    crn_redact_map_free(arguments.map);
    return status;
}
