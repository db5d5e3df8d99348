/* SPDX-License-Identifier: MIT
 *
 * convert.h - what cairn export and cairn import take alike: a file, a format by its name,
 * where the result goes, a metric.
 */
#ifndef CRN_CLI_CONVERT_CONVERT_H
#define CRN_CLI_CONVERT_CONVERT_H

#include <argp.h>
#include <stddef.h>

#include "profile/profile.h"

typedef struct crn_convert {
    const char *verb; /* "export" */
    const char *input, *output, *metric;
    int format_key;             /* of the option that names the format */
    const char *const *formats; /* their names, NULL at the end */
    int format;                 /* its number; below 0: not given */
} crn_convert;

/* For argp, of what both take; ARGP_ERR_UNKNOWN of anything else. */
error_t crn_convert_parse(crn_convert *convert, int key, char *value, struct argp_state *state);

enum {
    CRN_CONVERT_SHOWN = -2
}; /* a format: told from the content, for who would show captures too */

/* Reads another tool's file: its format is `format` of pprof, perf, folded, or below 0 told from
 * the content. `metric` is what the numbers of folded stacks are, or NULL. NULL after saying why.
 */
crn_profile *crn_convert_read(const char *path, int format, const char *metric);

#endif
