/* SPDX-License-Identifier: MIT */
#include <argp.h>

#include "cli/common/cli.h"
#include "commands.h"
#include "spans/spans.h"

static struct {
    crn_list captures;
    const char *output, *map;
    crn_list keep;
} given;

static void check(struct argp_state *state)
{
    if (!given.output)
        argp_error(state, "no output given; write -o OUT.cairn");
}

static const crn_option options[] = {
    CRN_OPTION_OUTPUT(&given.output, "OUT", "Write the redacted capture to OUT (required)",
                      CRN_OUTPUT_IS_CAPTURE),
    {"keep", 'k', .argument = "PATTERN",
     .help = "Keep names, files, keys and texts that match this shell pattern, such as "
             "'string.*'; may be repeated",
     .list = &given.keep},
    {"map", 'm', .argument = "FILE",
     .help = "Read the mapping of names to pseudonyms from FILE, and write it back with new names. "
             "Keep it secret: it reverses the redaction, and makes further captures comparable",
     .more = "Each line of FILE is a pseudonym, a tab and a name.", .text = &given.map},
    {0},
};

static const char doc[] =
    "Replace names before a capture is shared.\vNames become f1, f2, ..., files file1.lua, ..., "
    "texts and keys of spans' attributes text1, ..., key1, ...: equal names get equal pseudonyms. "
    "Figures, contexts, lines and columns stay, and so do numbers of spans' attributes and "
    "iterations. Command, labels, paths and start time are left out.\n\n  cairn redact a.cairn -o "
    "share.cairn --map secret.map --keep 'string.*'";

static int redact(crn_redact_map *map)
{
    crn_error error = {0};
    for (size_t i = 0; i < given.keep.count; i++)
        crn_redact_map_keep(map, given.keep.list[i]);
    if (given.map && !crn_redact_map_read(map, given.map, &error))
        return crn_cli_fail("%s", error.message);
    crn_trace *trace;
    crn_profile *profile = crn_cli_load_spans(given.captures.list, 1, false, &trace);
    if (!profile)
        return CRN_EXIT_BAD;
    profile = crn_cli_redact(profile, trace, map);
    int status = crn_cli_save_spans(profile, trace, given.output);
    crn_trace_free(trace);
    crn_profile_free(profile);
    if (status == CRN_EXIT_OK && given.map && !crn_redact_map_write(map, given.map, &error))
        return crn_cli_fail("%s", error.message);
    return status;
}

static int run(void)
{
    crn_redact_map *map = crn_redact_map_new();
    int status = redact(map);
    crn_redact_map_free(map);
    return status;
}

const crn_command crn_command_redact = {
    .name = "redact",
    .purpose = "replace names before a capture is shared",
    .arguments = "CAPTURE",
    .doc = doc,
    .options = options,
    .words = &given.captures,
    .least = 1,
    .most = 1,
    .check = check,
    .run = run,
};
