/* SPDX-License-Identifier: MIT
 *
 * output.h - output files that appear complete or not at all.
 */
#ifndef CRN_CLI_COMMON_OUTPUT_H
#define CRN_CLI_COMMON_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

typedef struct crn_output {
    const char *name; /* for messages */
    FILE *file;
    char *path;      /* final path; NULL is standard output */
    char *temporary; /* path until the file is complete; NULL: written in place */
} crn_output;

/* Returns the input's name with `suffix` in place of a known one; free it with crn_free. */
char *crn_output_name(const char *input, const char *suffix);

/* Returns the target of `path`: follows symbolic links, also dangling ones, like the shell's >.
 * Free it with crn_free. */
char *crn_output_target(const char *path);

/* Returns true if both paths are the same existing file. */
bool crn_output_is_same(const char *left, const char *right);

/* Opens `path`; "-" is standard output. Refuses `input` (may be NULL). On an error prints a message
 * and returns false. Writes pipes and devices in place; a file appears when it is closed. */
bool crn_output_open(crn_output *output, const char *path, const char *input);

/* If `good`, completes the file, and prints a message if that fails; otherwise removes it. Returns
 * true if the file is complete. */
bool crn_output_close(crn_output *output, bool good);

#endif
