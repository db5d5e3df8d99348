/* SPDX-License-Identifier: MIT
 *
 * arguments.h - the options of `cairn report` as given; metrics and blocks are looked up when the
 * capture has been read.
 */
#ifndef CRN_CLI_REPORT_ARGUMENTS_H
#define CRN_CLI_REPORT_ARGUMENTS_H

#include "report.h"

typedef struct crn_report_arguments {
    char **paths; /* path_count of them, merged */
    size_t path_count;
    const char *metrics, *focus, *sort, **drops, *compare, *collector;
    const char *keep, *merge, *split;
    size_t drop_count;
    const char *html; /* file for the page; NULL: none */
    double threshold; /* below 0: not given */
    long top;         /* below 0: not given */
    bool flat, tree, stack, zero, dot, before, after, json, no_summary;
} crn_report_arguments;

/* Processes what does not depend on the capture. Returns the exit status; prints a message on an
 * error. */
int crn_report_choose_sort(crn_report *report, const crn_report_arguments *arguments);
/* Merges template instances and clones as requested. Returns the profile to show, NULL after
 * printing an error. `profile` is freed if another is returned. */
crn_profile *crn_report_merge_instances(crn_profile *profile,
                                        const crn_report_arguments *arguments);
/* Processes everything else; needs report->profile. */
int crn_report_choose(crn_report *report, const crn_report_arguments *arguments);

#endif
