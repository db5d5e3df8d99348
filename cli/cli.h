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
int crn_cmd_diff(int argc, char **argv);
int crn_cmd_export(int argc, char **argv);
int crn_cmd_import(int argc, char **argv);
int crn_cmd_merge(int argc, char **argv);
int crn_cmd_redact(int argc, char **argv);
int crn_cmd_report(int argc, char **argv);
int crn_cmd_run(int argc, char **argv);

/* "cairn", or "cairn report" while that command runs: the start of each message. */
extern const char *crn_cli_name;

/* Prints "cairn report: ..." and a newline on stderr, as one line whatever is in it.
 * Returns CRN_EXIT_BAD, so that a command can end with `return crn_cli_fail(...)`. */
int crn_cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Loads a capture while showing progress. On error it says why and returns NULL: the
 * command ends with CRN_EXIT_BAD. */
crn_profile *crn_cli_load(const char *path);

/* Saves a capture while showing progress. What is at `path` stays until the new one is
 * whole. Returns the exit status; on error it says why. */
int crn_cli_save(const crn_profile *profile, const char *path);

/* Flushes stdout. A reader that went away is not an error, a full disk is: then it says
 * so and returns CRN_EXIT_BAD, else `status`. */
int crn_cli_finish(int status);

#endif
