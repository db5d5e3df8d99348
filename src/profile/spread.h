/* SPDX-License-Identifier: MIT
 *
 * spread.h - histograms of span durations that the program counted itself when spans ended: by
 * block, and by the values of chosen attributes. They exist with or without the spans.
 *
 * Quantiles are the middle of a bar: at most CRN_SPREAD_ERROR off, relative. Count, total, self,
 * min and max are exact. Adding histograms of lanes and captures causes no error.
 */
#ifndef CRN_PROFILE_SPREAD_H
#define CRN_PROFILE_SPREAD_H

#include "capture/format.h"
#include "profile/model.h"

/* The width of a bar is at most 1/32 of its lower bound. */
#define CRN_SPREAD_ERROR (1.0 / 64)

/* The number of spans with low <= duration < high, in ns. */
typedef struct crn_spread_bar {
    double low, high;
    uint64_t count;
} crn_spread_bar;

/* Times in ns. */
typedef struct crn_spread {
    crn_histogram_kind kind;
    uint32_t block, key; /* key: for kinds other than BLOCK */
    uint64_t value;      /* the bits of an INTEGER or NUMBER */
    const char *text;    /* of TEXT */
    uint64_t count, total, self, min, max;
    uint64_t cpu, cpu_count,
        cpu_wall; /* cpu_count spans measured processor time; their total duration is cpu_wall */
    uint32_t bar_count;
    crn_spread_bar *bars; /* ascending, without empty bars */
} crn_spread;

typedef struct crn_spreads {
    uint32_t count;
    crn_spread *all; /* sorted by block, kind, key and value; without empty ones */
    uint32_t key_count;
    const char **keys;
    uint64_t dropped; /* spans in no histogram, for lack of space */
    crn_interning *texts;
} crn_spreads;

/* Loads the histograms of a capture, summed over lanes; without any the result is empty. On an
 * error returns NULL and sets `*error`. */
crn_spreads *crn_spreads_load(const char *path, crn_error *error);
void crn_spreads_free(crn_spreads *spreads);

/* Returns true if a capture has histograms and no sections for spans. False if it cannot be
 * read. */
bool crn_spreads_are_all(const char *path);

/* Adds `from` to `into`. `blocks` and `keys` map its blocks and keys. */
void crn_spreads_add(crn_spreads *into, const crn_spreads *from, const uint32_t *blocks,
                     const uint32_t *keys);

/* Returns the nearest-rank quantile `share` in ns; 0 without spans. */
uint64_t crn_spread_at(const crn_spread *spread, double share);

#endif
