/* SPDX-License-Identifier: MIT
 *
 * gate.h - a run compared with a baseline in a text file.
 *
 * The baseline has calls and self cost of the contexts with at least a share of the whole; all
 * others below a context are one, "(rest)". Contexts are named by functions alone, so that a moved
 * line or file changes nothing. docs/WHY.md describes the file.
 */
#ifndef CRN_CLI_GATE_GATE_H
#define CRN_CLI_GATE_GATE_H

#include <stdio.h>

#include "profile/profile.h"

typedef struct crn_baseline {
    char metric[64];
    double tolerance, share; /* of 1 */
    crn_profile *profile;    /* contexts with calls and `metric`; NULL: no file yet */
    double *own;             /* by context: a tolerance of its own, of 1; below 0: none */
} crn_baseline;

/* Reads a baseline. If there is no such file and `may_miss`, leaves `profile` NULL. Returns false
 * after printing an error. */
bool crn_baseline_read(crn_baseline *baseline, const char *path, bool may_miss);
/* Writes it, complete or not at all. Returns the exit status. */
int crn_baseline_write(const crn_baseline *baseline, const char *path);
void crn_baseline_free(crn_baseline *baseline);

/* Returns the profile as a baseline has it: the contexts that have at least `share` of the metric,
 * those that are in `known` (or NULL), and the rest. NULL after printing an error. */
crn_profile *crn_baseline_reduce(const crn_profile *profile, const char *metric, double share,
                                 const crn_profile *known);

/* A context, or the whole, that changed by more than its tolerance. */
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
    bool imported; /* the file is another tool's */
    const crn_profile *reduced;
    uint64_t total[CRN_SIDES];
    size_t count, worse;      /* changes; those that fail */
    crn_gate_change *changes; /* worse first, largest first */
} crn_gate;

crn_gate crn_gate_judge(const crn_baseline *baseline, const crn_profile *reduced);
void crn_gate_free(crn_gate *gate);

void crn_gate_text(FILE *out, const crn_gate *gate);
void crn_gate_markdown(FILE *out, const crn_gate *gate);
void crn_gate_json(FILE *out, const crn_gate *gate);

#endif
