/* SPDX-License-Identifier: MIT
 *
 * convert.h - shared by cairn export and cairn import: input file, format by name, output file,
 * metric.
 */
#ifndef CRN_CLI_CONVERT_CONVERT_H
#define CRN_CLI_CONVERT_CONVERT_H

#include <argp.h>
#include <stddef.h>

#include "profile/profile.h"

typedef struct crn_convert {
    const char *verb; /* "export" */
    const char *input, *output, *metric;
    int format_key;             /* key of the format option */
    const char *const *formats; /* their names, NULL-terminated */
    int format;                 /* index of formats; below 0: not given */
} crn_convert;

/* argp parser for the shared options; returns ARGP_ERR_UNKNOWN for others. */
error_t crn_convert_parse(crn_convert *convert, int key, char *value, struct argp_state *state);

enum {
    CRN_CONVERT_SHOWN = -2
}; /* pseudo-format: recognise the content; captures are allowed too */

/* Reads another tool's file: `format` is an index of pprof, perf, folded; below 0 it is recognised
 * by content. `metric` is the name for the numbers of folded stacks, or NULL. NULL after printing
 * an error. */
crn_profile *crn_convert_read(const char *path, int format, const char *metric);

#endif
