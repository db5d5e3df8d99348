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
    char *temporary; /* path until it is complete; NULL if written in place */
} crn_output;

/* Returns the input's name with `suffix` in place of its own; free it with crn_free. */
char *crn_output_name(const char *input, const char *suffix);

/* Returns x.sampled.cairn for x.cairn: the samples of native stacks beside what a program that uses
 * libcairn writes. Free it with crn_free. */
char *crn_output_sampled(const char *capture);

/* Returns the target of `path`: follows symbolic links, like the shell's >, even dangling ones.
 * Free it with crn_free. */
char *crn_output_target(const char *path);

/* Returns true if both paths are the same existing file. */
bool crn_output_is_same(const char *left, const char *right);

/* Opens `path`; "-" is standard output. `input` must be another file, or NULL.
 * On an error prints a message. Pipes and devices are written in place; files appear when they are
 * closed. */
bool crn_output_open(crn_output *output, const char *path, const char *input);

/* If `good`, completes the file and prints a message if that fails; otherwise removes it. Returns
 * true if the complete file is there. */
bool crn_output_close(crn_output *output, bool good);

#endif
