/* SPDX-License-Identifier: MIT
 *
 * cairn import: makes a capture from other tools' files, with canonical stacks.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/common/output.h"
#include "cli/common/progress.h"
#include "cli/convert/convert.h"
#include "commands.h"
#include "formats/formats.h"

static const char *const origin_names[] = {"pprof", "perf", "folded", NULL};

static const struct argp_option options[] = {
    {"from", 'f', "FORMAT", 0, "pprof, perf or folded; by default told from the content", 0},
    {"output", 'o', "OUT", 0, "write the capture to OUT", 0},
    {"metric", 'm', "METRIC", 0,
     "what the numbers of folded stacks are: calls, ticks, wall (in nanoseconds) or another "
     "name; by default samples",
     0},
    {0},
};

static error_t parse(int key, char *value, struct argp_state *state)
{
    return crn_convert_parse(state->input, key, value, state);
}

static const struct argp argp = {
    options,
    parse,
    "FILE",
    "Make a capture of FILE: a pprof profile, what `perf script` printed, or folded stacks, "
    "gzipped or not. - is standard input.\v"
    "Without --output, a.pb.gz becomes a.cairn beside it, which must not be there yet. "
    "Recursion is folded as in any capture, so that calling contexts stay few.\n\n"
    "  perf script | cairn import - -o a.cairn && cairn report a.cairn\n\n"
    "docs/FORMATS.md says what is kept of each format, and what is lost.",
    NULL,
    NULL,
    NULL};

/* An existing file may be the capture that was exported. */
static bool output_is_good(const crn_convert *convert, const char *output)
{
    if (!convert->output && access(output, F_OK) == 0)
        crn_cli_fail("%s: is there already; name the capture with -o", output);
    else if (crn_output_is_same(convert->input, output))
        crn_cli_fail("%s: is what is read; name another file with -o", output);
    else
        return true;
    return false;
}

static int file_import(const crn_convert *convert, const char *output)
{
    if (!output_is_good(convert, output))
        return CRN_EXIT_BAD;
    crn_profile *profile = crn_convert_read(convert->input, convert->format, convert->metric);
    if (!profile)
        return CRN_EXIT_BAD;
    int status = crn_cli_save(profile, output);
    crn_profile_free(profile);
    if (status == CRN_EXIT_OK && !convert->output)
        printf("wrote %s\n", output);
    return status;
}

int crn_cmd_import(int argc, char **argv)
{
    crn_convert convert = {
        .verb = "import", .format_key = 'f', .formats = origin_names, .format = -1};
    argp_parse(&argp, argc, argv, 0, NULL, &convert);
    if (!convert.input)
        return CRN_EXIT_BAD;
    if (!convert.output && strcmp(convert.input, "-") == 0)
        return crn_cli_fail("name the capture with -o: standard input has no name to go by");
    char *output =
        convert.output ? crn_strdup(convert.output) : crn_output_name(convert.input, ".cairn");
    int status = file_import(&convert, output);
    crn_free(output);
    return status;
}
