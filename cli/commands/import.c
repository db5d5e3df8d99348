/* SPDX-License-Identifier: MIT
 *
 * cairn import: makes a capture of other tools' files, with canonical paths.
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
#include "profile/profile.h"

static struct {
    crn_list files;
    const char *output, *metric, *sources;
    int from; /* below 0: recognised by content */
    bool run, split, tolerant;
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
     .help = "For MLton's mlmon.out: what its program prints for @MLton show-sources --, or the "
             "program itself, with --run",
     .text = &given.sources},
    {"run", .help = "Run the program that --sources names, to ask for its sources",
     .flag = &given.run},
    {"split",
     .help = "For MLton's mlmon.out: a row for each copy that the compiler made of a function",
     .flag = &given.split},
    {"tolerant", .help = "Leave out files that cannot be read, with a message, unless none can",
     .flag = &given.tolerant},
    {0},
};

static const char doc[] =
    "Convert another profiler's FILE to a capture. FILE is a pprof profile, V8's .cpuprofile, "
    "MLton's mlmon.out, callgrind's output, the output of `perf script`, or folded stacks, gzipped "
    "or not; - is standard input. Several files are added up.\vWithout --output, a.pb.gz becomes "
    "a.cairn in the same folder; the command does not overwrite an existing a.cairn. Recursion is "
    "folded as in any capture, so that calling contexts stay few.\n\n  perf script | cairn import "
    "- -o a.cairn && cairn report "
    "a.cairn\n\ndocs/FORMATS.md describes what is kept of each format and what is lost.";

/* Returns true if the output may be written: it is no input and, unless -o names it, new. Otherwise
 * prints why. */
static bool output_is_good(const char *input, const char *output)
{
    if (!given.output && access(output, F_OK) == 0)
        crn_cli_fail("%s: exists already; name the capture with -o", output);
    else if (crn_output_is_same(input, output))
        crn_cli_fail("%s: is the input file; name another file with -o", output);
    else
        return true;
    return false;
}

/* Reads and merges all files; with --tolerant those that can be read. On an error, or if none can
 * be read, prints a message and returns NULL. */
static crn_profile *read_all(const crn_convert_options *options)
{
    size_t count = given.files.count, read = 0;
    if (count == 1)
        return crn_convert_read(given.files.list[0], options);
    crn_merge *merge = crn_merge_new();
    for (size_t i = 0; i < count && (given.tolerant || read == i); i++) {
        crn_profile *profile = crn_convert_read(given.files.list[i], options);
        if (profile) {
            crn_merge_add(merge, profile);
            crn_profile_free(profile);
            read++;
        }
    }
    crn_profile *sum = crn_merge_end(merge);
    if (read == count || (read && given.tolerant))
        return sum;
    crn_profile_free(sum);
    return NULL;
}

static int import(const char *output)
{
    for (size_t i = 0; i < given.files.count; i++)
        if (!output_is_good(given.files.list[i], output))
            return CRN_EXIT_BAD;
    crn_convert_options options = {
        .format = given.from, .metric = given.metric, .split = given.split};
    if (given.sources && !(options.sources = crn_convert_sources(given.sources, given.run)))
        return CRN_EXIT_BAD;
    crn_profile *profile = read_all(&options);
    if (options.sources)
        crn_source_close(options.sources);
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
    if (!given.output && given.files.count > 1)
        return crn_cli_fail("name the capture with -o, because several files are added up");
    if (!given.output && strcmp(input, "-") == 0)
        return crn_cli_fail("name the capture with -o, because standard input has no name");
    char *output = given.output ? crn_strdup(given.output) : crn_output_name(input, ".cairn");
    int status = import(output);
    crn_free(output);
    return status;
}

const crn_command crn_command_import = {
    .name = "import",
    .purpose = "convert pprof, folded stacks or perf script to a capture",
    .arguments = "FILE...",
    .doc = doc,
    .options = options,
    .words = &given.files,
    .least = 1,
    .missing = "no file given; write its path",
    .run = run,
};
