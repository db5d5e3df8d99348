/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "commands.h"
#include "profile/profile.h"

static const struct argp_option options[] = {
    {"file", 'f', "FILE", 0, "Read assertions from FILE, one a line; # begins a comment", 0},
    {"unknown-is-zero", 'z', 0, 0,
     "A block that the capture does not hold was never called (else it is an error)", 0},
    {"verbose", 'v', 0, 0, "Say what holds, too", 0},
    {0},
};

typedef struct arguments {
    const char *path;
    char **texts;
    size_t count;
    char *file; /* owns the text of the lines */
    bool unknown_is_zero, verbose;
} arguments;

static void add_text(arguments *arguments, char *text)
{
    arguments->texts = crn_realloc(arguments->texts, arguments->count + 1, sizeof(char *));
    arguments->texts[arguments->count++] = text;
}

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

static void add_file(struct argp_state *state, arguments *arguments, const char *path)
{
    if (arguments->file)
        argp_error(state, "--file can be given once");
    arguments->file = read_all(path);
    if (!arguments->file)
        argp_failure(state, CRN_EXIT_BAD, 0, "%s: %s; check the path", path, strerror(errno));
    for (char *line = arguments->file, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        line += strspn(line, " \t\r");
        line[strcspn(line, "\r")] = 0;
        if (*line && *line != '#')
            add_text(arguments, line);
    }
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *arguments = state->input;
    switch (key) {
    case 'f':
        add_file(state, arguments, value);
        return 0;
    case 'z':
        arguments->unknown_is_zero = true;
        return 0;
    case 'v':
        arguments->verbose = true;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->path)
            add_text(arguments, value);
        else
            arguments->path = value;
        return 0;
    case ARGP_KEY_END:
        if (!arguments->path)
            argp_error(state, "which capture? write its path, then what must hold");
        if (!arguments->count)
            argp_error(state, "what must hold? write for example 'calls(\"main\") == 1'");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char doc[] =
    "Check statements about a capture.\v"
    "  cairn assert a.cairn 'calls(\"main\" -> \"parse\") == 3' 'ticks(\"solve\") < 1e6'\n\n"
    "calls(S) is how many calls end in the sequence S of quoted blocks; METRIC(S) its inclusive "
    "cost, self.METRIC(S) that of the last block alone; with no block inside, the brackets give "
    "the total. contexts(S), cycles() and folded() count contexts, calls that came back along "
    "cycles, and calls that limits folded. There are + - * /, comparisons, and, or, not, and "
    "units: 20ms, 3MiB, 5%.\n\n"
    "Exit status: 0 when all hold, 1 when one does not, 2 for bad input.";

static void print_figure(const crn_assertion_figure *figure)
{
    fprintf(stderr, "; %.*s is %.0Lf", (int)figure->length, figure->start, figure->value);
}

static int check(const crn_profile *profile, const arguments *arguments, const char *text)
{
    crn_assertion assertion;
    crn_error error = {0};
    if (!crn_assertion_check(profile, text, arguments->unknown_is_zero, &assertion, &error))
        return crn_cli_fail("%s: %s", text, error.message);
    if (assertion.holds) {
        if (arguments->verbose)
            printf("holds: %s\n", text);
        return CRN_EXIT_OK;
    }
    fflush(stdout);
    fprintf(stderr, "%s: %s: does not hold: %s", crn_cli_name, arguments->path, text);
    for (size_t i = 0; i < assertion.count; i++)
        print_figure(&assertion.figures[i]);
    fputc('\n', stderr);
    return CRN_EXIT_NO;
}

int crn_cmd_assert(int argc, char **argv)
{
    static const struct argp argp = {options, parse, "CAPTURE ASSERTION...", doc, NULL, NULL, NULL};
    arguments arguments = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    crn_profile *profile = crn_cli_load(arguments.path);
    int status = profile ? CRN_EXIT_OK : CRN_EXIT_BAD;
    for (size_t i = 0; profile && i < arguments.count; i++) {
        int found = check(profile, &arguments, arguments.texts[i]);
        status = found > status ? found : status;
    }
    crn_profile_free(profile);
    crn_free(arguments.texts);
    crn_free(arguments.file);
    return status;
}
