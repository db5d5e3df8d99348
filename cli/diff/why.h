/* SPDX-License-Identifier: MIT
 *
 * why.h - prints why the total changed.
 */
#ifndef CRN_CLI_DIFF_WHY_H
#define CRN_CLI_DIFF_WHY_H

#include <stdio.h>

#include "warnings.h"
#include "why/why.h"

typedef struct crn_why_report {
    const crn_why *why;
    crn_diff_captures captures; /* those before, then those after */
    const char *metric, *unit;
    size_t runs[CRN_SIDES];
    uint32_t top; /* limit on causes; 0: none */
} crn_why_report;

/* Returns a cause as a sentence, without the amount of its change. Free it with free. */
char *crn_why_sentence(const crn_why *why, const crn_why_cause *cause);

/* Returns a cause's share of the change; below half a per cent, 0. The shares of all causes add up
 * to 1, but for those. */
double crn_why_share(const crn_why *why, const crn_why_cause *cause);

void crn_why_text(FILE *out, const crn_why_report *report);
/* Prints JSON: docs/REPORT_JSON.md is the schema. */
void crn_why_json(FILE *out, const crn_why_report *report);

#endif
