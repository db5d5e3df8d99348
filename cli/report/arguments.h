/* SPDX-License-Identifier: MIT
 *
 * arguments.h - the options of `cairn report` as given; metrics and blocks are looked up when the
 * capture has been read.
 */
#ifndef CRN_CLI_REPORT_ARGUMENTS_H
#define CRN_CLI_REPORT_ARGUMENTS_H

#include "cli/common/command.h"
#include "report.h"

typedef struct crn_report_arguments {
    crn_list captures; /* merged */
    crn_list drops, transforms;
    const char *metrics, *focus, *compare, *collector;
    const char *keep, *merge, *split, *title;
    bool gray, short_names;
    const char *html; /* file for the page; NULL: none */
    int sort;         /* crn_sort */
    double threshold; /* of 1; below 0: not given */
    long top;         /* below 0: not given */
    bool flat, tree, stack, zero, dot, before, after, json, no_summary, strict;
} crn_report_arguments;

/* Names of crn_sort; NULL-terminated. */
extern const char *const crn_report_sort_names[];

/* Merges template instances and clones as requested. Returns the profile to show, NULL after
 * printing an error. `profile` is freed if another is returned. */
crn_profile *crn_report_merge_instances(crn_profile *profile,
                                        const crn_report_arguments *arguments);
/* Returns the profile with short names, and frees the given one. */
crn_profile *crn_report_shorten(crn_profile *profile);
/* Applies the transforms, "merge:malloc". Returns the profile to show, NULL after printing an
 * error. `profile` is freed if another is returned, and on an error. */
crn_profile *crn_report_transform(crn_profile *profile, const crn_report_arguments *arguments);
/* Parses such texts; free the result. NULL after printing an error. */
crn_transform *crn_report_parse_transforms(const crn_profile *profile, const crn_list *texts);
/* Processes everything else; needs report->profile. */
int crn_report_choose(crn_report *report, const crn_report_arguments *arguments);

#endif
