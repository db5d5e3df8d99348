/* SPDX-License-Identifier: MIT
 *
 * convert.h - reads files of other tools, for cairn import and cairn view.
 */
#ifndef CRN_CLI_CONVERT_CONVERT_H
#define CRN_CLI_CONVERT_CONVERT_H

#include "profile/profile.h"

enum {
    CRN_CONVERT_SHOWN = -2
}; /* pseudo-format: recognise the content; captures are allowed too */

/* Reads another tool's file: `format` is an index of CRN_FORMATS_READ; below 0 it is recognised
 * by content. `metric` is the name for the numbers of folded stacks, `sources` the file with the
 * names of an mlmon.out; or NULL. NULL after printing an error. */
crn_profile *crn_convert_read(const char *path, int format, const char *metric,
                              const char *sources);

#endif
