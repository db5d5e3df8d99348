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

/* Exit statuses. NO: what was asked for does not hold (a failed assertion, a regression). BAD: bad
 * input. */
enum { CRN_EXIT_OK = 0, CRN_EXIT_NO = 1, CRN_EXIT_BAD = 2 };

/* Prefix of messages: "cairn", or "cairn report" while that command runs. */
extern const char *crn_cli_name;

/* Prints "cairn report: ..." and a newline on stderr, as one line whatever the text contains.
 * Returns CRN_EXIT_BAD, for `return crn_cli_fail(...)`. */
int crn_cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Messages of this thread go to `message` from now on; to stderr again if it is NULL. */
void crn_cli_catch(char *message, size_t size);

/* Reads a time with its unit, "16.7ms" (ns, us, ms or s), in ns from `least` to `most`. */
bool crn_cli_time(const char *text, double least, double most, uint64_t *ns);

/* Loads a capture while showing progress, with functions for addresses and live memory derived. On
 * an error prints a message and returns NULL. */
crn_profile *crn_cli_load(const char *path);

/* The same for several captures, merged; a single one is unchanged. Captures that cannot be read
 * are left out, with a message and a warning in the profile; NULL if none can be read. */
crn_profile *crn_cli_load_all(char *const *paths, size_t count);

/* Loads all of them, or returns NULL; with their spans as one trace, NULL if there are none. Leaves
 * out captures that cannot be read if `tolerant`, as long as there is one that can. */
struct crn_trace;
crn_profile *crn_cli_load_spans(char *const *paths, size_t count, bool tolerant,
                                struct crn_trace **trace);

/* Replaces the names of a capture and its spans, which may be NULL, by pseudonyms of the map; NULL:
 * of one of its own. Frees the profile, and returns the new one. */
struct crn_redact_map;
crn_profile *crn_cli_redact(crn_profile *profile, struct crn_trace *trace,
                            struct crn_redact_map *map);

/* Returns true if the capture may still grow: it was not closed, and the process that records it,
 * on this machine, is there. */
bool crn_cli_is_recording(const crn_profile *profile);

/* Saves a capture while showing progress. An existing file at `path` is replaced when the new one
 * is complete; symbolic links are followed. On an error prints a message. Returns the exit
 * status. */
int crn_cli_save(const crn_profile *profile, const char *path);

/* Returns false if `path` is an existing file that is no capture, probably named by mistake. */
bool crn_cli_may_replace(const char *path);

/* The same with spans; NULL for none. */
int crn_cli_save_spans(const crn_profile *profile, const struct crn_trace *trace, const char *path);

/* Flushes stdout. Returns `status`; on a write error prints a message and returns CRN_EXIT_BAD. A
 * reader that went away is no error. */
int crn_cli_finish(int status);

/* The same for exit, which argp calls for --help; for atexit. */
void crn_cli_at_exit(void);

#endif
