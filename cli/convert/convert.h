/* SPDX-License-Identifier: MIT
 *
 * convert.h - reads files of other tools, for cairn import and cairn view.
 */
#ifndef CRN_CLI_CONVERT_CONVERT_H
#define CRN_CLI_CONVERT_CONVERT_H

#include "formats/source.h"
#include "profile/profile.h"

enum {
    CRN_CONVERT_SHOWN = -2
}; /* pseudo-format: recognise the content; captures are allowed too */

typedef struct crn_convert_options {
    int format;          /* an index of CRN_FORMATS_READ; below 0: recognised by content */
    const char *metric;  /* the name for the numbers of folded stacks; or NULL */
    crn_source *sources; /* the names of an mlmon.out, see crn_convert_sources; or NULL */
    bool split;          /* of an mlmon.out, copies of functions are rows apart */
} crn_convert_options;

/* Reads another tool's file. NULL after printing an error. */
crn_profile *crn_convert_read(const char *path, const crn_convert_options *options);

/* Opens the names of an mlmon.out: a file, or a program compiled by MLton, which is asked for them
 * if `run`. NULL after printing an error. */
crn_source *crn_convert_sources(const char *path, bool run);

#endif
