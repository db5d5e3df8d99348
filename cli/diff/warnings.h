/* SPDX-License-Identifier: MIT
 *
 * warnings.h - prints the warnings of compared captures.
 */
#ifndef CRN_CLI_DIFF_WARNINGS_H
#define CRN_CLI_DIFF_WARNINGS_H

#include <stdio.h>

#include "profile/profile.h"

typedef struct crn_diff_captures {
    const crn_profile *const *profiles;
    const char *const *paths;
    size_t count;
} crn_diff_captures;

/* Prints a line for each warning, with the path of its capture. */
void crn_diff_warnings_text(FILE *out, const crn_diff_captures *captures);

/* Writes the JSON member "warnings". */
void crn_diff_warnings_json(FILE *out, const crn_diff_captures *captures);

#endif
