/* SPDX-License-Identifier: MIT
 *
 * critical.h - `cairn critical`: what is asked for, and the two ways to print it.
 */
#ifndef CRN_CLI_EXPLAIN_CRITICAL_H
#define CRN_CLI_EXPLAIN_CRITICAL_H

#include "cli/spans/span_source.h"
#include "explain/explain.h"

typedef struct crn_critical_report {
    const crn_span_source *source;
    const crn_critical *critical;
    uint32_t span; /* whose end; CRN_SPAN_NONE: the recording's */
    bool path;     /* the path itself, else by block */
    uint32_t top;  /* rows; UINT32_MAX: all */
} crn_critical_report;

void crn_critical_text(const crn_critical_report *report);
void crn_critical_json(const crn_critical_report *report);

#endif
