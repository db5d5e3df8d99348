/* SPDX-License-Identifier: MIT
 *
 * command.h - commands and their options as data. Parsing, --help, shell completions and the
 * OPTIONS of manual pages all read it.
 */
#ifndef CRN_CLI_COMMON_COMMAND_H
#define CRN_CLI_COMMON_COMMAND_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct crn_list {
    char **list;
    size_t count;
} crn_list;

/* A NULL-terminated list of values, for a table. */
#define CRN_WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

typedef struct crn_option crn_option;
struct crn_option {
    const char *name;         /* long name; NULL: `help` is the heading of those that follow */
    int letter;               /* short name, or 0 */
    bool optional;            /* the argument may be left out */
    const char *argument;     /* as --help shows it; NULL: none */
    const char *const *words; /* its values; of a metric the usual ones */
    const char *help;         /* NULL: not shown */
    const char *more;         /* further sentences for the manual page, or NULL */

    /* Destination; its type decides how the value is read. */
    bool *flag;
    const char **text;
    crn_list *list; /* texts; may be repeated */
    int *choice;    /* index of the value in `words`; others are refused */
    double *share;  /* a percentage, of 1 */
    long *number;   /* from `least` to `most`; `most` is INT32_MAX if 0 */
    long least, most;
    /* Called after the destination is set; reports errors with argp_error. */
    void (*set)(struct argp_state *state, const crn_option *option, char *value);
};

/* Options of several commands. `says` goes on with the help, or is all of it. */
/* clang-format off */
#define CRN_OPTION_JSON(to) {"json", 'j', .help = "Print JSON", .flag = (to)}
#define CRN_OPTION_TOP(to, says)                                                                   \
    {"top", 'n', .argument = "N", .help = "Show at most N rows" says "; 0 is all", .number = (to)}
#define CRN_OPTION_OUTPUT(to, file, says, further)                                                 \
    {"output", 'o', .argument = (file), .help = (says), .more = (further), .text = (to)}
#define CRN_OPTION_REDACT(to)                                                                      \
    {"redact",                                                                                     \
     .help = "Replace names, as cairn redact does, which can also keep some and say which was "    \
             "which",                                                                              \
     .flag = (to)}
#define CRN_OPTION_WHERE(to, says)                                                                 \
    {"where", .argument = "EXPRESSION",                                                            \
     .help = "Only spans for which this holds, in SQL: 'iteration > 100 and width > 640'",         \
     .more = "It may use the columns of the table spans of cairn-query(1) and names of "           \
             "attributes. Write texts in single quotes." says,                                     \
     .text = (to)}
#define CRN_OPTION_METRIC(to, metrics, says, further)                                              \
    {"metric", 'm', .argument = (metrics), .words = CRN_WORDS("wall", "cpu", "ticks", "calls"),    \
     .help = (says), .more = (further), .text = (to)}
/* clang-format on */

/* `further` of an output that is a capture. */
#define CRN_OUTPUT_IS_CAPTURE                                                                      \
    "An existing file is replaced only if it is a capture, and only when the new one is "          \
    "complete. Symbolic links are followed."

typedef struct crn_command {
    const char *name;          /* "report" */
    const char *purpose;       /* a line, for lists of commands */
    const char *arguments;     /* after the options: "CAPTURE..." */
    const char *doc;           /* for --help: what stands above the options, \v, below them */
    const crn_option *options; /* the last has no name and no help */

    crn_list *words; /* arguments that are no options: from `least` to `most`, any number if 0 */
    size_t least, most;
    const char *missing; /* message if there are fewer; NULL: asks for a capture */
    /* In place of `words`: called for each such argument, in order. */
    void (*word)(struct argp_state *state, char *value);
    /* Called after all options, to refuse what does not go together. */
    void (*check)(struct argp_state *state);

    /* Returns an exit status of cli.h. */
    int (*run)(void);
    /* In place of all the above, for commands that pass on what they do not know. */
    int (*run_raw)(int argc, char **argv);
} crn_command;

/* Parses the command line, of which argv[0] is "cairn NAME". On an error prints a message and ends
 * the process with CRN_EXIT_BAD. */
void crn_command_parse(const crn_command *command, int argc, char **argv);

/* Sets an option from one word, "--name" or "--name=value". Returns false if the command has no
 * such option. On an error prints a message and ends the process. */
bool crn_command_take(const crn_command *command, char *word);

/* Returns the option of this name, which ends at '=' or the end; NULL if there is none. */
const crn_option *crn_command_option(const crn_command *command, const char *name);

void crn_list_add(crn_list *words, char *word);

/* Prints --help. */
void crn_command_help(const crn_command *command, char *name);

/* Prints the commands as JSON, for completions and manual pages. */
void crn_commands_json(const crn_command *const *commands, size_t count);

#endif
