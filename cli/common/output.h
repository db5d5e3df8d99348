/* SPDX-License-Identifier: MIT
 *
 * output.h - a file that a command makes: whole, or not there at all.
 */
#ifndef CRN_CLI_COMMON_OUTPUT_H
#define CRN_CLI_COMMON_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

typedef struct crn_output {
    const char *name; /* for messages */
    FILE *file;
    char *path;      /* where it will be; NULL is standard output */
    char *temporary; /* where it is until it is whole; NULL if written in place */
} crn_output;

/* The input's name with `suffix` in place of its own, to be freed with crn_free. */
char *crn_output_name(const char *input, const char *suffix);

/* Where a file at `path` really is: symbolic links are followed, as the shell's > does, also
 * where nothing is at their end yet. To be freed with crn_free. */
char *crn_output_target(const char *path);

/* Whether both paths lead to one file that is there. */
bool crn_output_is_same(const char *left, const char *right);

/* Opens `path`; "-" is standard output. `input` must not be the same file. On error it says
 * why. A pipe or a device is written in place; a file appears when it is closed. */
bool crn_output_open(crn_output *output, const char *path, const char *input);

/* Ends the file if `good`, and says why if that fails; else removes it, after the caller
 * has said why. True when the file is there, whole. */
bool crn_output_close(crn_output *output, bool good);

#endif
