/* SPDX-License-Identifier: MIT
 *
 * spread.h - how long spans took, as the program counted it when they ended: histograms by block,
 * and by the values of attributes that it named. They are there with or without the spans
 * themselves.
 *
 * What is read from a histogram is the middle of a bar, which is at most CRN_SPREAD_ERROR of it
 * away from what it stands for; count, total, self, min and max are exact. Spreads of lanes and of
 * captures can be added up, with no error in it.
 */
#ifndef CRN_PROFILE_SPREAD_H
#define CRN_PROFILE_SPREAD_H

#include "capture/format.h"
#include "profile/model.h"

/* A bar is at most 1/32 as wide as where it begins. */
#define CRN_SPREAD_ERROR (1.0 / 64)

/* How many took from `low` to `high`, ns. */
typedef struct crn_spread_bar {
    double low, high;
    uint64_t count;
} crn_spread_bar;

/* Times in ns. */
typedef struct crn_spread {
    crn_histogram_kind kind;
    uint32_t block, key; /* key: of kinds other than BLOCK */
    uint64_t value;      /* of INTEGER and NUMBER, its bits */
    const char *text;    /* of TEXT */
    uint64_t count, total, self, min, max;
    uint64_t cpu, cpu_count,
        cpu_wall; /* processor time of cpu_count of them, which took cpu_wall */
    uint32_t bar_count;
    crn_spread_bar *bars; /* from short to long, none is empty */
} crn_spread;

typedef struct crn_spreads {
    uint32_t count;
    crn_spread *all; /* by block, kind, key and value; none is empty */
    uint32_t key_count;
    const char **keys;
    uint64_t dropped; /* spans that are in none: there was no space */
    crn_interning *texts;
} crn_spreads;

/* Loads those of a capture, all lanes added up; of one without any there are none. NULL on an
 * error. */
crn_spreads *crn_spreads_load(const char *path, crn_error *error);
void crn_spreads_free(crn_spreads *spreads);

/* Whether a capture has histograms and no room for a span: False also where it cannot be read. */
bool crn_spreads_are_all(const char *path);

/* Adds what `from` holds. `blocks`, `keys`: which of `into` those of `from` are. */
void crn_spreads_add(crn_spreads *into, const crn_spreads *from, const uint32_t *blocks,
                     const uint32_t *keys);

/* The time of which `share` of all took no longer, by nearest rank; 0 if there are none. */
uint64_t crn_spread_at(const crn_spread *spread, double share);

#endif
