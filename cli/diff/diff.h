/* SPDX-License-Identifier: MIT
 *
 * diff.h - a comparison, and the two ways to print it.
 */
#ifndef CRN_CLI_DIFF_DIFF_H
#define CRN_CLI_DIFF_DIFF_H

#include "profile/profile.h"

typedef struct crn_diff_report {
    const char *paths[CRN_SIDES];
    crn_diff_input input;
    const char *metric_name;
    crn_diff diff;
    bool contexts; /* what the rows are, not blocks */
    uint32_t top;  /* most rows; 0 is any number */
} crn_diff_report;

/* The metric with this name on both sides, or for NULL the one that tells most of a change that
 * both hold. False if there is none of the name. */
bool crn_diff_choose_metric(crn_diff_input *input, const char *name);

void crn_diff_text(const crn_diff_report *report);

/* Figures that differ, but no more than their samples' dice make two equal runs differ. */
bool crn_diff_is_chance(const crn_diff_report *report, const uint64_t figures[CRN_SIDES]);

/* docs/REPORT_JSON.md is the schema. */
void crn_diff_json(const crn_diff_report *report);

#endif
