/* SPDX-License-Identifier: MIT
 *
 * arguments.h - the options of `cairn report` as given. Metrics and blocks are looked up after the
 * capture has been read.
 */
#ifndef CRN_CLI_REPORT_ARGUMENTS_H
#define CRN_CLI_REPORT_ARGUMENTS_H

#include "cli/common/command.h"
#include "report.h"

typedef struct crn_report_arguments {
    crn_list captures; /* they are merged */
    crn_list drops, transforms;
    const char *metrics, *focus, *compare, *collector;
    const char *keep, *merge, *split, *title;
    bool gray, short_names;
    const char *html; /* file for the page; NULL: prints text or JSON */
    int sort;         /* crn_sort */
    double threshold; /* as a fraction of 1; below 0: not given */
    long top;         /* below 0: not given */
    bool flat, tree, chains, stack, zero, dot, before, after, json, no_summary, strict;
} crn_report_arguments;

/* Names of crn_sort; NULL-terminated. */
extern const char *const crn_report_sort_names[];

/* Merges template instances and clones as requested. Frees `profile` and returns the merged one; on
 * an error prints a message and returns NULL. */
crn_profile *crn_report_merge_instances(crn_profile *profile,
                                        const crn_report_arguments *arguments);
/* Frees the profile; returns a copy with short names. */
crn_profile *crn_report_shorten(crn_profile *profile);
/* Applies the transforms, such as "merge:malloc". Frees `profile` and returns the transformed one;
 * on an error prints a message and returns NULL. */
crn_profile *crn_report_transform(crn_profile *profile, const crn_report_arguments *arguments);
/* Parses transforms; free them with crn_free. On an error prints why, returns NULL. */
crn_transform *crn_report_parse_transforms(const crn_profile *profile, const crn_list *texts);
/* Resolves all other options for report->profile. Returns an exit status. */
int crn_report_choose(crn_report *report, const crn_report_arguments *arguments);

#endif
