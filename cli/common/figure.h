/* SPDX-License-Identifier: MIT
 *
 * figure.h - numbers as people read them: the same way in every table.
 */
#ifndef CRN_CLI_COMMON_FIGURE_H
#define CRN_CLI_COMMON_FIGURE_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

enum { CRN_FIGURE_SIZE = 64 };

/* How a column of one metric is printed: in one unit, so that lengths tell. */
typedef struct crn_scale {
    double divisor;
    int decimals;
    const char *unit; /* "ms", "MiB", "" for plain counts */
} crn_scale;

/* The scale in which the largest figure of a column reads well. `unit` is a metric's:
 * "nanoseconds" and "bytes" are scaled, all else is counted. */
crn_scale crn_scale_for(const char *unit, uint64_t largest);

/* "1,234.5", without the unit. Returns its length. */
size_t crn_figure(char text[CRN_FIGURE_SIZE], crn_scale scale, uint64_t value);
/* A number of at least 0 with up to three decimals, and commas. Returns its length. */
size_t crn_figure_fixed(char text[CRN_FIGURE_SIZE], double value, int decimals);
/* The same with a sign, for changes; a magnitude and its direction. */
size_t crn_figure_change(char text[CRN_FIGURE_SIZE], crn_scale scale, uint64_t from, uint64_t to);
/* "0.65–2.4", without the unit, `to` between its ends: two digits of each, which is what an
 * interval of a figure this uncertain is good for. It is never narrower than `interval`. */
void crn_figure_interval(char text[CRN_FIGURE_SIZE], crn_scale scale, crn_interval interval,
                         const char *to);
/* With its unit and as long as it must be: "2.31 s", "1,346,269". Returns `text`. */
const char *crn_figure_alone(char text[CRN_FIGURE_SIZE], const char *unit, uint64_t value);

/* `part` of `whole` in percent; 0 of 0 is 0. */
double crn_percent(uint64_t part, uint64_t whole);

#endif
