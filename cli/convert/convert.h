/* SPDX-License-Identifier: MIT
 *
 * convert.h - reads files of other tools, for cairn import and cairn view.
 */
#ifndef CRN_CLI_CONVERT_CONVERT_H
#define CRN_CLI_CONVERT_CONVERT_H

#include "formats/source.h"
#include "profile/profile.h"

/* Pseudo-format of cairn view: the content is recognised, and messages mention captures, too. */
enum { CRN_CONVERT_SHOWN = -2 };

typedef struct crn_convert_options {
    int format;          /* an index of CRN_FORMATS_READ; below 0: recognised by content */
    const char *metric;  /* folded stacks: name of the metric; or NULL */
    crn_source *sources; /* mlmon.out: its names, see crn_convert_sources; or NULL */
    bool split;          /* mlmon.out: copies of a function stay separate */
} crn_convert_options;

/* Reads another tool's file. On an error prints a message and returns NULL. */
crn_profile *crn_convert_read(const char *path, const crn_convert_options *options);

/* Opens the names of an mlmon.out: a text file, or if `run` the output of a program compiled by
 * MLton. On an error prints why, returns NULL. */
crn_source *crn_convert_sources(const char *path, bool run);

#endif
