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

/* Exit statuses. NO: a check failed (an assertion, a regression). BAD: bad input, or an error. */
enum { CRN_EXIT_OK = 0, CRN_EXIT_NO = 1, CRN_EXIT_BAD = 2 };

/* Prefix of messages: "cairn", or "cairn report" while that command runs. */
extern const char *crn_cli_name;

/* Prints "cairn report: ..." and a newline on stderr, as one line whatever the text contains.
 * Returns CRN_EXIT_BAD, for `return crn_cli_fail(...)`. */
int crn_cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* From now on writes this thread's messages to `message`; NULL: to stderr again. */
void crn_cli_catch(char *message, size_t size);

/* Writes the folder of this program to `folder`, of PATH_MAX bytes. */
void crn_cli_folder(char *folder);

/* Parses a time such as "16.7ms" (ns, us, ms or s). Returns false unless it is from `least` to
 * `most` ns. */
bool crn_cli_time(const char *text, double least, double most, uint64_t *ns);

/* Loads a capture while showing progress. Replaces addresses by functions, and derives live memory.
 * On an error prints a message and returns NULL. */
crn_profile *crn_cli_load(const char *path);

/* Loads and merges captures; a single one is unchanged. Leaves out captures that cannot be read,
 * with a message and a warning in the profile; NULL if none can be read. */
crn_profile *crn_cli_load_all(char *const *paths, size_t count);

/* Loads and merges captures with their spans; `*trace` becomes NULL if there are none. `trace` may
 * be NULL: spans are not loaded. On an error prints why and returns NULL. `tolerant`: leaves out
 * captures that cannot be read, if any can be. */
struct crn_trace;
crn_profile *crn_cli_load_spans(char *const *paths, size_t count, bool tolerant,
                                struct crn_trace **trace);

/* Replaces the names in a profile and its spans (may be NULL) by pseudonyms of `map`; NULL: of a
 * new map. Frees the profile, and returns the new one. */
struct crn_redact_map;
crn_profile *crn_cli_redact(crn_profile *profile, struct crn_trace *trace,
                            struct crn_redact_map *map);

/* Returns true if the capture may still grow: it was not closed, and its process exists on this
 * machine. */
bool crn_cli_is_recording(const crn_profile *profile);

/* Saves a capture while showing progress. Replaces an existing file when the new one is complete;
 * follows symbolic links. On an error prints a message. Returns the exit status. */
int crn_cli_save(const crn_profile *profile, const char *path);

/* Returns false if `path` is a file with content that is no capture, probably named by mistake. */
bool crn_cli_may_replace(const char *path);

/* Saves a capture with spans, as crn_cli_save does; `trace` may be NULL. */
int crn_cli_save_spans(const crn_profile *profile, const struct crn_trace *trace, const char *path);

/* Flushes stdout and returns `status`. On a write error prints a message and returns CRN_EXIT_BAD;
 * a closed pipe (EPIPE) is no error. */
int crn_cli_finish(int status);

/* Does the same at exit, for atexit: argp calls exit for --help. */
void crn_cli_at_exit(void);

#endif
