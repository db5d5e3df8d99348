/* SPDX-License-Identifier: MIT
 *
 * command.h - commands and their options as data, from which parsing, --help, shell completions and
 * the OPTIONS of manual pages are made.
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

/* A NULL-terminated list of values, for crn_option.words. */
#define CRN_WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

typedef struct crn_option crn_option;
struct crn_option {
    const char *name;         /* long name; NULL: `help` is a heading */
    int letter;               /* short name; 0: none */
    bool optional;            /* the argument may be left out */
    const char *argument;     /* its name in --help; NULL: takes no argument */
    const char *const *words; /* valid values; for a metric, common ones */
    const char *help;         /* NULL: the option is hidden */
    const char *more;         /* more sentences for the manual page; or NULL */

    /* Targets of the option's value. The one that is set also decides how the value is parsed. */
    bool *flag;
    const char **text;
    crn_list *list; /* appends the text; the option may be repeated */
    int *choice;    /* index of the value in `words`, which must have it */
    double *share;  /* percentage as a fraction: 5 gives 0.05 */
    long *number;   /* from `least` to `most`; `most` 0: INT32_MAX */
    long least, most;
    /* Called after the value is stored; reports errors with argp_error. */
    void (*set)(struct argp_state *state, const crn_option *option, char *value);
};

/* Options that several commands have. `to` is the target; `file` and `metrics` name the argument;
 * `says` is the help, or is inserted into it; `further` is `more`. */
/* clang-format off */
#define CRN_OPTION_JSON(to) {"json", 'j', .help = "Print JSON", .flag = (to)}
#define CRN_OPTION_TOP(to, says)                                                                   \
    {"top", 'n', .argument = "N", .help = "Show at most N rows" says "; 0 is all", .number = (to)}
#define CRN_OPTION_OUTPUT(to, file, says, further)                                                 \
    {"output", 'o', .argument = (file), .help = (says), .more = (further), .text = (to)}
#define CRN_OPTION_REDACT(to)                                                                      \
    {"redact",                                                                                     \
     .help = "Replace names as cairn redact does, which can also keep some, and write the "        \
             "mapping to a file",                                                                  \
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

/* `further` of CRN_OPTION_OUTPUT where the file is a capture. */
#define CRN_OUTPUT_IS_CAPTURE                                                                      \
    "An existing file is replaced only if it is a capture, and only when the new one is "          \
    "complete. Symbolic links are followed."

typedef struct crn_command {
    const char *name;          /* "report" */
    const char *purpose;       /* a line, for lists of commands */
    const char *arguments;     /* placeholder of the arguments: "CAPTURE..." */
    const char *doc;           /* text of --help: above the options, \v, below them */
    const crn_option *options; /* ends with an option without name and help */

    crn_list *words; /* arguments besides options: `least` to `most`; `most` 0: no limit */
    size_t least, most;
    bool reads_newest;   /* without arguments, reads the newest capture of the current folder */
    const char *missing; /* message for too few arguments; NULL: asks for a capture */
    /* Called for each argument in order, in place of filling `words`. */
    void (*word)(struct argp_state *state, char *value);
    /* Called after all options, to refuse combinations. */
    void (*check)(struct argp_state *state);

    /* Returns an exit status of cli.h. */
    int (*run)(void);
    /* Gets the whole command line, in place of the above: for commands that pass on unknown
     * options. */
    int (*run_raw)(int argc, char **argv);
} crn_command;

/* Parses the command line; argv[0] is "cairn NAME". On an error prints a message and exits with
 * CRN_EXIT_BAD. */
void crn_command_parse(const crn_command *command, int argc, char **argv);

/* Sets an option from one word, "--name" or "--name=value". Returns false if the command has no
 * such option, or if the value is missing or not expected. For a bad value prints a message and
 * exits. */
bool crn_command_take(const crn_command *command, char *word);

/* Returns the option called `name`, which ends at '=' or NUL; NULL if the command has none. */
const crn_option *crn_command_option(const crn_command *command, const char *name);

void crn_list_add(crn_list *words, char *word);

/* Prints --help; `name` is "cairn NAME". */
void crn_command_help(const crn_command *command, char *name);

/* Prints the commands as JSON, for completions and manual pages. */
void crn_commands_json(const crn_command *const *commands, size_t count);

#endif
