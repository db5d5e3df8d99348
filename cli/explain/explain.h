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
    const crn_explain *rest; /* the same without the slowest twentieth, if a few spans make half
                                of the variance; otherwise NULL */
    const char *block;       /* its name; of a latency "camera to display" */
    const crn_latencies *latencies; /* what to explain in place of durations; NULL: none */
    const char *where;              /* NULL: all of its spans */
    uint64_t slow; /* ns, from which on spans are slow; 0: from the 99th percentile on */
    uint32_t top;  /* rows of each table; UINT32_MAX: all */
} crn_explain_report;

/* Explains the chosen spans (a bitmap) and calls the printer. `report` has everything but the
 * explanations. */
void crn_explain_run(FILE *out, crn_explain_report *report, const uint64_t *chosen,
                     void (*print)(FILE *, const crn_explain_report *));

/* A stage of the explained latencies: means over results, in ns. */
typedef struct crn_explain_stage {
    uint32_t block;
    double mean, queue, work, wait;
    double slow, typical; /* NaN: nothing to compare */
} crn_explain_stage;

/* Returns the sums of the parts by stage, the longest first, and sets `*count`; free them with
 * crn_free. */
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
/* "its calls of g" */
void crn_explain_part_words(crn_words *words, const crn_explain_report *report,
                            const crn_explain_part *part);
/* Returns the same part of another explanation, NULL if it has none. */
const crn_explain_part *crn_explain_part_of(const crn_explain *explain, crn_explain_kind kind,
                                            uint32_t block);
const crn_explain_factor *crn_explain_factor_of(const crn_explain *explain,
                                                const crn_explain_factor *factor);
/* "the attribute width" */
void crn_explain_factor_words(crn_words *words, const crn_explain_factor *factor);
/* "with image = foo.jpg", "with width = 1 to 7", "on worker 1", "below run_in_jobserver" */
void crn_explain_group_words(crn_words *words, const crn_explain_report *report,
                             const crn_explain_factor *factor, const crn_factor_group *group);

#endif
