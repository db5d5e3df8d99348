/* SPDX-License-Identifier: MIT
 *
 * critical.h - the request of `cairn critical`, and its printers.
 */
#ifndef CRN_CLI_EXPLAIN_CRITICAL_H
#define CRN_CLI_EXPLAIN_CRITICAL_H

#include <stdio.h>

#include "cli/spans/span_source.h"
#include "explain/explain.h"

typedef struct crn_critical_report {
    const crn_span_source *source;
    const crn_critical *critical;
    uint32_t span; /* end of the path; CRN_SPAN_NONE: end of the recording */
    bool path;     /* print the steps of the path; otherwise figures by block */
    uint32_t top;  /* limit on rows, of a path on its longest steps; UINT32_MAX: all */
} crn_critical_report;

void crn_critical_text(FILE *out, const crn_critical_report *report);
void crn_critical_json(FILE *out, const crn_critical_report *report);

#endif
