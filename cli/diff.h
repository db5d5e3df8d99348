/* SPDX-License-Identifier: MIT
 *
 * diff.h - a comparison, and the two ways to print it.
 */
#ifndef CRN_CLI_DIFF_H
#define CRN_CLI_DIFF_H

#include "analysis/diff.h"

typedef struct crn_diff_report {
    const char *paths[CRN_SIDES];
    crn_diff_input input;
    const char *metric_name;
    crn_diff diff;
    bool contexts; /* what the rows are, not blocks */
    uint32_t top;  /* most rows; 0 is any number */
} crn_diff_report;

void crn_diff_text(const crn_diff_report *report);

/* docs/REPORT_JSON.md is the schema. */
void crn_diff_json(const crn_diff_report *report);

#endif
