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

static struct {
    crn_list files;
    const char *output, *metric, *sources;
    int from; /* below 0: recognised */
} given = {.from = -1};

static const crn_option options[] = {
    {"from", 'f', .argument = "FORMAT",
     .words = (const char *const[]){CRN_FORMATS_READ(CRN_FORMAT_NAME) NULL},
     .help = CRN_FORMATS_READ(CRN_FORMAT_WORD) "or by default as the content tells",
     .choice = &given.from},
    CRN_OPTION_OUTPUT(&given.output, "OUT", "Write the capture to OUT", CRN_OUTPUT_IS_CAPTURE),
    {"metric", 'm', .argument = "METRIC", .words = CRN_WORDS("calls", "ticks", "wall", "samples"),
     .help = "The metric of folded stacks: calls, ticks, wall (in nanoseconds) or another name; "
             "default: samples",
     .text = &given.metric},
    {"sources", .argument = "FILE",
     .help = "For MLton's mlmon.out: what its program prints for @MLton show-sources --",
     .text = &given.sources},
    {0},
};

static const char doc[] =
    "Convert FILE to a capture: a pprof profile, V8's .cpuprofile, MLton's mlmon.out, the output "
    "of `perf script`, or "
    "folded stacks, gzipped or not. - is standard input.\vWithout --output, a.pb.gz becomes "
    "a.cairn beside it, "
    "which must not exist yet. Recursion is folded as in any capture, so that calling contexts "
    "stay few.\n\n  perf script | cairn import - -o a.cairn && cairn report "
    "a.cairn\n\ndocs/FORMATS.md describes what is kept of each format and what is lost.";

/* An existing file may be the capture that was exported. */
static bool output_is_good(const char *input, const char *output)
{
    if (!given.output && access(output, F_OK) == 0)
        crn_cli_fail("%s: exists already; name the capture with -o", output);
    else if (crn_output_is_same(input, output))
        crn_cli_fail("%s: is what is read; name another file with -o", output);
    else
        return true;
    return false;
}

static int import(const char *input, const char *output)
{
    if (!output_is_good(input, output))
        return CRN_EXIT_BAD;
    crn_profile *profile = crn_convert_read(input, given.from, given.metric, given.sources);
    if (!profile)
        return CRN_EXIT_BAD;
    int status = crn_cli_save(profile, output);
    crn_profile_free(profile);
    if (status == CRN_EXIT_OK && !given.output)
        printf("wrote %s\n", output);
    return status;
}

static int run(void)
{
    const char *input = given.files.list[0];
    if (!given.output && strcmp(input, "-") == 0)
        return crn_cli_fail("name the capture with -o, because standard input has no name");
    char *output = given.output ? crn_strdup(given.output) : crn_output_name(input, ".cairn");
    int status = import(input, output);
    crn_free(output);
    return status;
}

const crn_command crn_command_import = {
    .name = "import",
    .purpose = "convert pprof, folded stacks or perf script to a capture",
    .arguments = "FILE",
    .doc = doc,
    .options = options,
    .words = &given.files,
    .least = 1,
    .most = 1,
    .missing = "no file given; write its path",
    .run = run,
};
