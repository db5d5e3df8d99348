/* SPDX-License-Identifier: MIT
 *
 * cli.h - what all commands share: exit statuses, error messages, loading and saving captures
 * with progress.
 */
#ifndef CRN_CLI_COMMON_CLI_H
#define CRN_CLI_COMMON_CLI_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

/* 1: what was asked for does not hold (a failed assertion, a regression). 2: bad input. */
enum { CRN_EXIT_OK = 0, CRN_EXIT_NO = 1, CRN_EXIT_BAD = 2 };

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
