/* SPDX-License-Identifier: MIT
 *
 * cli.h - what the commands share: their entries, and one way to end with an error.
 *
 * A command is `int crn_cmd_<verb>(int argc, char **argv)`, where argv[0] is
 * "cairn <verb>"; it returns the exit status: 0, 1 when what was asked for does not
 * hold (a failed assertion, a regression), 2 for bad input. It reads its options with
 * argp_parse(&argp, argc, argv, 0, 0, ...), which ends with 2 by itself.
 */
#ifndef CRN_CLI_CLI_H
#define CRN_CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/profile.h"

enum { CRN_EXIT_OK = 0, CRN_EXIT_NO = 1, CRN_EXIT_BAD = 2 };

int crn_cmd_assert(int argc, char **argv);
int crn_cmd_cc(int argc, char **argv);
int crn_cmd_cxx(int argc, char **argv);
int crn_cmd_clang(int argc, char **argv);
int crn_cmd_clangxx(int argc, char **argv);
int crn_cmd_critical(int argc, char **argv);
int crn_cmd_diff(int argc, char **argv);
int crn_cmd_explain(int argc, char **argv);
int crn_cmd_export(int argc, char **argv);
int crn_cmd_import(int argc, char **argv);
int crn_cmd_merge(int argc, char **argv);
int crn_cmd_query(int argc, char **argv);
int crn_cmd_redact(int argc, char **argv);
int crn_cmd_report(int argc, char **argv);
int crn_cmd_run(int argc, char **argv);
int crn_cmd_spans(int argc, char **argv);
int crn_cmd_top(int argc, char **argv);
int crn_cmd_whatif(int argc, char **argv);
int crn_cmd_view(int argc, char **argv);

/* "cairn", or "cairn report" while that command runs: the start of each message. */
extern const char *crn_cli_name;

/* Prints "cairn report: ..." and a newline on stderr, as one line whatever is in it.
 * Returns CRN_EXIT_BAD, so that a command can end with `return crn_cli_fail(...)`. */
int crn_cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What people write for options, or the end with a message: "5" or "5%", as a part of 1; a number
 * of rows, of which 0 is all. */
struct argp_state;
double crn_cli_percent(struct argp_state *state, const char *text);
long crn_cli_rows(struct argp_state *state, const char *text);

/* Loads a capture while showing progress: with functions in place of addresses, and with
 * what lives of what was allocated. On error it says why and returns NULL: the
 * command ends with CRN_EXIT_BAD. */
crn_profile *crn_cli_load(const char *path);

/* The same of several, added up; of one it is that one as it is. Those of several that cannot be
 * read are left out, which it says and the profile's warnings, too; NULL if none can be. */
crn_profile *crn_cli_load_all(char *const *paths, size_t count);

/* All of them, or NULL; with their spans, as one trace of the blocks of the profile: NULL if there
 * are none. */
struct crn_trace;
crn_profile *crn_cli_load_spans(char *const *paths, size_t count, struct crn_trace **trace);

/* Saves a capture while showing progress, in the place of one or of nothing. What is at
 * `path` stays until the new one is whole; symbolic links are followed. Returns the exit status; on
 * error it says why. */
int crn_cli_save(const crn_profile *profile, const char *path);

/* False of what a person may have named by mistake: a file that is there and holds something
 * else than a capture. */
bool crn_cli_may_replace(const char *path);

/* The same with spans; NULL for none. */
int crn_cli_save_spans(const crn_profile *profile, const struct crn_trace *trace, const char *path);

/* Flushes stdout. A reader that went away is not an error, a full disk is: then it says
 * so and returns CRN_EXIT_BAD, else `status`. */
int crn_cli_finish(int status);

/* The same for those who call exit, as argp does for --help; for atexit. */
void crn_cli_at_exit(void);

#endif
