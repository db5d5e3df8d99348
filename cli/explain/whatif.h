/* SPDX-License-Identifier: MIT
 *
 * whatif.h - the request of `cairn whatif`, and its printers.
 */
#ifndef CRN_CLI_EXPLAIN_WHATIF_H
#define CRN_CLI_EXPLAIN_WHATIF_H

#include <stdio.h>

#include "replay/replay.h"

typedef struct crn_whatif_change {
    const char *name; /* of a block; NULL: all blocks */
    double value; /* factor by which the block is faster; number of threads; capacity of a queue */
} crn_whatif_change;

typedef struct crn_whatif_report {
    const char *path;
    const crn_profile *profile;
    const crn_trace *trace;
    const crn_replay *replay;
    const crn_scenario *scenario;
    const crn_outcome *outcome;
    const crn_effects *effects; /* NULL: no table of savings */
    bool changed;               /* the scenario differs from the recording */
    uint32_t block;             /* shown with throughput and latency; UINT32_MAX: root spans */
    crn_latency recorded, predicted;
    size_t speedup_count;
    const crn_whatif_change *speedups;
    const char *context; /* sequence of blocks below which the changes apply; NULL: everywhere */
    char *reasons;       /* why not to trust the prediction, a line each; NULL: trusted */
} crn_whatif_report;

void crn_whatif_text(FILE *out, const crn_whatif_report *report);
void crn_whatif_json(FILE *out, const crn_whatif_report *report);

/* Returns why not to trust the prediction, a line each; NULL: trusted. Free it with crn_free. */
char *crn_whatif_reasons(const crn_whatif_report *report);

/* Returns true if the capture shows when threads were ready but had no core: it was recorded with
 * --off-core, or has processor time, with which the collector reads ready time. Otherwise a busy
 * machine goes unnoticed. */
bool crn_whatif_knows_ready(const crn_whatif_report *report);

/* Runs the scenarios of all cells of the table on all processors, and sorts the rows. */
void crn_whatif_fill(crn_effects *effects);

#endif
