/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "commands.h"
#include "profile/profile.h"
#include "query/query.h"

static struct {
    crn_list words; /* the capture, then assertions */
    crn_list lines; /* assertions of --file */
    bool unknown_is_zero, verbose;
} given;

static char *read_all(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t size = 0, used = 0;
    if (!file)
        return NULL;
    do {
        size += 4096;
        text = crn_realloc(text, size + 1, 1);
        used += fread(text + used, 1, size - used, file);
    } while (used == size);
    text[used] = 0;
    int cause = ferror(file) ? errno : 0;
    fclose(file);
    if (!cause)
        return text;
    crn_free(text);
    errno = cause;
    return NULL;
}

/* Adds a file's lines to given.lines, except empty lines and those that begin with #. Does not free
 * the text, to which given.lines points. */
static void add_file(struct argp_state *state, const crn_option *option, char *path)
{
    (void)option;
    char *text = read_all(path);
    if (!text)
        argp_failure(state, CRN_EXIT_BAD, 0, "%s: %s; check the path", path, strerror(errno));
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        line += strspn(line, " \t\r");
        line[strcspn(line, "\r")] = 0;
        if (*line && *line != '#')
            crn_list_add(&given.lines, line);
    }
}

static void check_options(struct argp_state *state)
{
    if (given.words.count + given.lines.count < 2)
        argp_error(state, "no assertion given; write for example 'calls(\"main\") == 1'");
}

static const crn_option options[] = {
    {"file", 'f', .argument = "FILE",
     .help = "Read assertions from FILE, one a line; a line that begins with # is a comment",
     .set = add_file},
    {"unknown-is-zero", 'z',
     .help =
         "Treat blocks that the capture does not have as never called; otherwise this is an error",
     .flag = &given.unknown_is_zero},
    {"verbose", 'v', .help = "Also print assertions that hold", .flag = &given.verbose},
    {0},
};

static const char doc[] =
    "Check statements about a capture.\v  cairn assert a.cairn 'calls(\"main\" -> \"parse\") = 3' "
    "'ticks(\"solve\") < 1e6'\n\nAn assertion is an SQL expression (cairn query --schema). "
    "calls(S) "
    "is the number of calls that end in S, a sequence of quoted blocks; METRIC(S) is its total "
    "cost, self.METRIC(S) the self cost of its last block. Empty brackets mean the total. "
    "contexts(S) counts contexts, cycles() calls that came back along cycles (recursion), and "
    "folded() calls whose contexts were not made because of a limit. Numbers may have units: 20ms, "
    "3MiB, 5%. A query in brackets is a "
    "number: '(select count(*) from spans where duration > 16e6) = 0'.\n\nExit status: 0 when all "
    "hold, 1 when one does not, 2 for bad input.";

static void print_figure(const crn_assertion_figure *figure)
{
    fprintf(stderr, "; %.*s is %.0f", (int)figure->length, figure->start, figure->value);
}

static int check(crn_query *query, const char *text)
{
    crn_assertion assertion;
    crn_error error = {0};
    if (!crn_assertion_check(query, text, given.unknown_is_zero, &assertion, &error))
        return crn_cli_fail("%s: %s", text, error.message);
    if (assertion.holds) {
        if (given.verbose)
            printf("holds: %s\n", text);
        return CRN_EXIT_OK;
    }
    fflush(stdout);
    fprintf(stderr, "%s: %s: does not hold: %s", crn_cli_name, given.words.list[0], text);
    for (size_t i = 0; i < assertion.count; i++)
        print_figure(&assertion.figures[i]);
    fputc('\n', stderr);
    return CRN_EXIT_NO;
}

static int check_all(crn_query *query, char *const *texts, size_t count)
{
    int status = CRN_EXIT_OK;
    for (size_t i = 0; i < count; i++) {
        int found = check(query, texts[i]);
        status = found > status ? found : status;
    }
    return status;
}

static int run(void)
{
    crn_query_file file = {.path = given.words.list[0]};
    crn_profile *profile = crn_cli_load(file.path);
    crn_error error = {0};
    if (!profile)
        return CRN_EXIT_BAD;
    file.profile = profile;
    crn_query *query = crn_query_open(&file, 1, &error);
    int status = query ? CRN_EXIT_OK : crn_cli_fail("%s", error.message);
    if (query) {
        status = check_all(query, given.words.list + 1, given.words.count - 1);
        int other = check_all(query, given.lines.list, given.lines.count);
        status = other > status ? other : status;
    }
    crn_query_close(query);
    crn_profile_free(profile);
    return status;
}

const crn_command crn_command_assert = {
    .name = "assert",
    .purpose = "check statements about a capture, for test suites",
    .arguments = "CAPTURE ASSERTION...",
    .doc = doc,
    .options = options,
    .words = &given.words,
    .least = 1,
    .missing = "no capture given; write its path, then an assertion",
    .check = check_options,
    .run = run,
};
