/* SPDX-License-Identifier: MIT
 *
 * diff.h - a comparison, and its printers.
 */
#ifndef CRN_CLI_DIFF_DIFF_H
#define CRN_CLI_DIFF_DIFF_H

#include <stdio.h>

#include "profile/profile.h"

typedef struct crn_diff_report {
    const char *paths[CRN_SIDES];
    crn_diff_input input;
    const char *metric_name;
    crn_diff diff;
    bool contexts; /* rows are contexts; else blocks */
    uint32_t top;  /* limit on rows; 0: none */
} crn_diff_report;

/* Chooses the metric called `name` on both sides. For NULL chooses ticks, wall, or another metric
 * that both sides have, else calls. Returns false if a side lacks the metric; for calls, if only
 * one side counted them. */
bool crn_diff_choose_metric(crn_diff_input *input, const char *name);

void crn_diff_text(FILE *out, const crn_diff_report *report);

/* Returns true if the figures differ, but by no more than sampling two equal runs could cause. */
bool crn_diff_is_chance(const crn_diff_report *report, const uint64_t figures[CRN_SIDES]);

/* Does the same for the totals. */
bool crn_diff_total_is_chance(const crn_diff_report *report);

/* Returns "not profiled" or the like for a row that only one capture has although the program did
 * not change; otherwise NULL. */
const char *crn_diff_why_apart(const crn_diff_row *row);

/* Prints JSON: docs/REPORT_JSON.md is the schema. */
void crn_diff_json(FILE *out, const crn_diff_report *report);

#endif
