/* SPDX-License-Identifier: MIT
 *
 * explain.h - the request of `cairn explain`, and its printers.
 */
#ifndef CRN_CLI_EXPLAIN_EXPLAIN_H
#define CRN_CLI_EXPLAIN_EXPLAIN_H

#include <stdio.h>

#include <jansson.h>

#include "cli/spans/span_source.h"
#include "explain/explain.h"

typedef struct crn_explain_report {
    const crn_span_source *source;
    const crn_explain *explain;
    const crn_explain *rest;        /* of the spans without the slowest twentieth; NULL unless a
                                       twentieth or fewer make half of the variance */
    const char *block;              /* name of the spans; for latencies "INPUT to RESULT" */
    const crn_latencies *latencies; /* what is explained; NULL: durations of spans */
    const char *where;              /* the argument of --where; NULL: all spans */
    uint64_t slow; /* ns: spans at least as long are slow; 0: the 99th percentile */
    uint32_t top;  /* limit on rows of each table; UINT32_MAX: none */
} crn_explain_report;

/* Explains the chosen spans (a bitmap; unused with latencies) and calls `print`. The caller sets
 * all members of the report but `explain` and `rest`, which are valid only during the call. */
void crn_explain_run(FILE *out, crn_explain_report *report, const uint64_t *chosen,
                     void (*print)(FILE *, const crn_explain_report *));

/* A stage of the explained latencies: means over results, in ns. */
typedef struct crn_explain_stage {
    uint32_t block;
    double mean, queue, work, wait;
    double slow, typical; /* means over slow and typical results; NaN: there are none to compare */
} crn_explain_stage;

/* Returns the explanation's parts summed by stage, the longest first, and sets `*count`. Free them
 * with crn_free. */
crn_explain_stage *crn_explain_stages(const crn_explain_report *report, uint32_t *count);

/* Write the functions in which slow spans spend more processor time, as a sentence, a table and
 * JSON. Without samples they write nothing, and the JSON is null. */
void crn_explain_add_functions(crn_words *words, const crn_explain_report *report);
void crn_explain_functions_text(FILE *out, const crn_explain_report *report);
json_t *crn_explain_functions_json(const crn_explain_report *report);

void crn_explain_text(FILE *out, const crn_explain_report *report);
void crn_explain_json(FILE *out, const crn_explain_report *report);

/* ---- words ---- */

/* Writes the answer: one or several sentences. */
void crn_explain_answer(crn_words *words, const crn_explain_report *report);
/* Appends what the part is, such as "its calls of g". */
void crn_explain_part_words(crn_words *words, const crn_explain_report *report,
                            const crn_explain_part *part);
/* Return the same part, or factor, of another explanation; NULL if that lacks it. */
const crn_explain_part *crn_explain_part_of(const crn_explain *explain, crn_explain_kind kind,
                                            uint32_t block);
const crn_explain_factor *crn_explain_factor_of(const crn_explain *explain,
                                                const crn_explain_factor *factor);
/* Appends "width", "iteration of its parent", ... */
void crn_explain_factor_words(crn_words *words, const crn_explain_factor *factor);
/* Appends "with image = foo.jpg", "with width = 1 to 7", "on worker 1", "below
 * run_in_jobserver". */
void crn_explain_group_words(crn_words *words, const crn_explain_report *report,
                             const crn_explain_factor *factor, const crn_factor_group *group);
/* Appends the factor's effect on durations: for a number without ranges "2 ms more per unit",
 * otherwise the mean durations of its slowest and its fastest group: "5 ms with image = foo.jpg,
 * 1 ms with image = bar.jpg". */
void crn_explain_effect_words(crn_words *words, const crn_explain_report *report,
                              const crn_explain_factor *factor);

#endif
