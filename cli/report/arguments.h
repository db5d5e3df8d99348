/* SPDX-License-Identifier: MIT
 *
 * arguments.h - the options of `cairn report` as they were written; metrics and blocks
 * can be looked up only once the capture is read.
 */
#ifndef CRN_CLI_REPORT_ARGUMENTS_H
#define CRN_CLI_REPORT_ARGUMENTS_H

#include "report.h"

typedef struct crn_report_arguments {
    char **paths; /* path_count of them, added up */
    size_t path_count;
    const char *metrics, *focus, *sort, **drops, *compare, *collector;
    const char *keep, *merge, *split;
    size_t drop_count;
    const char *html; /* where the page goes; NULL: nowhere */
    double threshold; /* below 0: not given */
    long top;         /* below 0: not given */
    bool flat, tree, stack, zero, dot, before, after, json, no_summary;
} crn_report_arguments;

/* What does not depend on the capture. Returns the exit status; on error it says why. */
int crn_report_choose_sort(crn_report *report, const crn_report_arguments *arguments);
/* What the profile is made of before anything is shown of it: NULL on an error, which it says. The
 * profile is freed if another takes its place. */
crn_profile *crn_report_merge_instances(crn_profile *profile,
                                        const crn_report_arguments *arguments);
/* All else, with report->profile there. */
int crn_report_choose(crn_report *report, const crn_report_arguments *arguments);

#endif
