/* SPDX-License-Identifier: MIT
 *
 * gate.h - compares a run with a baseline, a text file.
 *
 * The baseline has calls and self cost of each context with at least a share of the whole. Below
 * such a context, the smaller ones are added up as "(rest)". Contexts are named by functions alone,
 * so that a moved line or file changes nothing. docs/WHY.md describes the file.
 */
#ifndef CRN_CLI_GATE_GATE_H
#define CRN_CLI_GATE_GATE_H

#include <stdio.h>

#include "profile/profile.h"

typedef struct crn_baseline {
    char metric[64];
    double tolerance, share; /* as a fraction of 1 */
    crn_profile *profile;    /* contexts with calls and `metric`; NULL: no file */
    double *own;             /* by context: its own tolerance, as a fraction of 1; below 0: none */
} crn_baseline;

/* Reads a baseline. A missing file leaves `profile` NULL if `may_miss`. On an error prints a
 * message and returns false. */
bool crn_baseline_read(crn_baseline *baseline, const char *path, bool may_miss);
/* Writes the baseline, complete or not at all. Returns the exit status. */
int crn_baseline_write(const crn_baseline *baseline, const char *path);
void crn_baseline_free(crn_baseline *baseline);

/* Returns the profile reduced to what a baseline has: contexts with at least `share` of the metric,
 * those in `known` (may be NULL), and the rest. On an error prints a message and returns NULL. */
crn_profile *crn_baseline_reduce(const crn_profile *profile, const char *metric, double share,
                                 const crn_profile *known);

/* A change beyond the tolerance, of a context or of the total. */
typedef struct crn_gate_change {
    char *path;       /* "main > parse > lex"; "total" */
    const char *what; /* "calls", or the metric's name */
    uint64_t figures[CRN_SIDES];
    double tolerance;
    bool worse;
} crn_gate_change;

typedef struct crn_gate {
    const crn_baseline *baseline;
    const char *baseline_path, *capture_path;
    bool imported; /* converted from another tool's file */
    const crn_profile *reduced;
    uint64_t total[CRN_SIDES];
    size_t count, worse;      /* number of changes; of those, growths */
    crn_gate_change *changes; /* growths first; then the largest first */
} crn_gate;

crn_gate crn_gate_judge(const crn_baseline *baseline, const crn_profile *reduced);
void crn_gate_free(crn_gate *gate);

void crn_gate_text(FILE *out, const crn_gate *gate);
void crn_gate_markdown(FILE *out, const crn_gate *gate);
void crn_gate_json(FILE *out, const crn_gate *gate);

#endif
