/* SPDX-License-Identifier: MIT
 *
 * whatif.h - `cairn whatif`: what is asked for, and the two ways to print it.
 */
#ifndef CRN_CLI_EXPLAIN_WHATIF_H
#define CRN_CLI_EXPLAIN_WHATIF_H

#include "replay/replay.h"

typedef struct crn_whatif_change {
    const char *name; /* of a block; NULL: all (of the context) */
    double value;
} crn_whatif_change;

typedef struct crn_whatif_report {
    const char *path;
    const crn_profile *profile;
    const crn_trace *trace;
    const crn_replay *replay;
    const crn_scenario *scenario;
    const crn_outcome *outcome;
    const crn_effects *effects; /* NULL: not asked for */
    bool changed;               /* the scenario is another than the recording */
    uint32_t block;             /* whose throughput and latency is shown; UINT32_MAX: roots' */
    crn_latency recorded, predicted;
    size_t speedup_count;
    const crn_whatif_change *speedups;
    const char *context; /* NULL: everywhere */
    char *reasons;       /* why not to trust it: lines; NULL if it can be */
} crn_whatif_report;

void crn_whatif_text(const crn_whatif_report *report);
void crn_whatif_json(const crn_whatif_report *report);

/* Why the prediction is not to be trusted, a line each; NULL if there is no reason. To be freed
 * with crn_free. */
char *crn_whatif_reasons(const crn_whatif_report *report);

/* Runs them all, and sorts them. */
void crn_whatif_fill(crn_effects *effects);

#endif
