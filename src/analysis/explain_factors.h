/* SPDX-License-Identifier: MIT
 *
 * explain_factors.h - what may go with durations, and how it is judged.
 */
#ifndef CRN_ANALYSIS_EXPLAIN_FACTORS_H
#define CRN_ANALYSIS_EXPLAIN_FACTORS_H

#include "analysis/explain.h"

/* One span's value of one factor. */
typedef struct crn_factor_datum {
    double number;
    const char *text; /* NULL: it is a number */
    double duration;
    uint32_t place; /* of the span in the list; of a parent's attribute first of the parent among
                       those, until it is passed on to the children */
} crn_factor_datum;

typedef struct crn_factor {
    crn_explain_factor shown;
    crn_factor_datum *data;
    uint32_t count, room;
    uint32_t last; /* place of the last span that has a value, and one more */
} crn_factor;

/* Whether two spans have the same value. */
bool crn_factor_is_alike(const crn_factor_datum *left, const crn_factor_datum *right);

/* Puts the data in the order of their values, and finds what explains most after what chance
 * explains: of a number a line or ranges. */
void crn_factor_judge(crn_factor *factor);

/* What slow spans have in common, and how often typical ones have it. Of judged data. */
void crn_factor_compare_slow(const crn_explained *explained, crn_factor *factor);

#endif
