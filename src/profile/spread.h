/* SPDX-License-Identifier: MIT
 *
 * spread.h - histograms of span durations, which the program counts when spans end: by block, and
 * by the values of chosen attributes. A capture can have them without spans.
 *
 * A quantile is the middle of a bar; its relative error is at most CRN_SPREAD_ERROR. Count, total,
 * self, min and max are exact. Adding histograms of lanes or captures adds no error.
 */
#ifndef CRN_PROFILE_SPREAD_H
#define CRN_PROFILE_SPREAD_H

#include "capture/format.h"
#include "profile/model.h"

/* Half a bar: a bar's width is at most 1/32 of its lower bound. */
#define CRN_SPREAD_ERROR (1.0 / 64)

/* The number of spans with low <= duration < high, in ns. */
typedef struct crn_spread_bar {
    double low, high;
    uint64_t count;
} crn_spread_bar;

/* Times in ns. */
typedef struct crn_spread {
    crn_histogram_kind kind;
    uint32_t block, key; /* key: 0 for BLOCK */
    uint64_t value;      /* the bits of an INTEGER or NUMBER */
    const char *text;    /* of TEXT */
    uint64_t count, total, self, min, max;
    uint64_t cpu, cpu_count, cpu_wall; /* sum of processor times, number of spans that measured it,
                                          sum of their durations */
    uint32_t bar_count;
    crn_spread_bar *bars; /* ascending, without empty bars */
} crn_spread;

typedef struct crn_spreads {
    uint32_t count;
    crn_spread *all; /* sorted by block, kind, key and value; none is empty */
    uint32_t key_count;
    const char **keys;    /* names of attributes, by key */
    uint64_t dropped;     /* spans that no histogram counts, for lack of space */
    crn_interning *texts; /* owns all texts */
} crn_spreads;

/* Loads the histograms of a capture, summed over lanes; empty if the capture has none. On an error
 * returns NULL and sets `*error`. */
crn_spreads *crn_spreads_load(const char *path, crn_error *error);
void crn_spreads_free(crn_spreads *spreads);

/* Returns true if a capture has histograms but no spans; false also if it cannot be read. */
bool crn_spreads_are_all(const char *path);

/* Adds `from` to `into`. `blocks` and `keys` map the blocks and keys of `from`. */
void crn_spreads_add(crn_spreads *into, const crn_spreads *from, const uint32_t *blocks,
                     const uint32_t *keys);

/* Returns the quantile `share` (0 to 1, nearest rank) in ns; 0 without spans. */
uint64_t crn_spread_at(const crn_spread *spread, double share);

#endif
