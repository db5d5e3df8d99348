/* SPDX-License-Identifier: MIT
 *
 * figure.h - formats numbers for people, the same way in every table.
 */
#ifndef CRN_CLI_COMMON_FIGURE_H
#define CRN_CLI_COMMON_FIGURE_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

enum { CRN_FIGURE_SIZE = 64 };

/* A step of a unit, such as KiB. Arrays begin with the smallest and end with `unit` NULL. */
typedef struct crn_unit_step {
    double divisor;
    const char *unit;
} crn_unit_step;

/* Returns the steps of a metric's unit; NULL for counts. */
const crn_unit_step *crn_unit_steps(const char *unit);

/* The unit and decimals of a column. All its figures have the same, so that rows compare at a
 * glance. */
typedef struct crn_scale {
    double divisor;
    int decimals;
    const char *unit; /* "ms", "MiB", "" for counts */
} crn_scale;

/* Chooses the scale for the largest figure of a column. `unit` is the metric's: "nanoseconds", "ns"
 * and "bytes" are scaled, any other is a count. */
crn_scale crn_scale_for(const char *unit, uint64_t largest);

/* Formats "1,234.5", without the unit. Returns its length. */
size_t crn_figure(char text[CRN_FIGURE_SIZE], crn_scale scale, uint64_t value);
/* Formats a number >= 0 with commas and up to three decimals. Returns its length. */
size_t crn_figure_fixed(char text[CRN_FIGURE_SIZE], double value, int decimals);
/* Formats a change with its sign. Returns its length. */
size_t crn_figure_change(char text[CRN_FIGURE_SIZE], crn_scale scale, uint64_t from, uint64_t to);
/* Formats "0.65–2.4", with the text `to` between the ends and no unit: two significant digits,
 * rounded outwards. */
void crn_figure_interval(char text[CRN_FIGURE_SIZE], crn_scale scale, crn_interval interval,
                         const char *to);
/* Formats a figure with its unit, unpadded: "2.31 s", "1,346,269". Returns `text`. */
const char *crn_figure_alone(char text[CRN_FIGURE_SIZE], const char *unit, uint64_t value);

/* Returns `part` of `whole` in percent; 0 if `whole` is 0. */
double crn_percent(uint64_t part, uint64_t whole);

#endif
