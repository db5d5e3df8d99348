/* SPDX-License-Identifier: MIT
 *
 * trace_histograms.h - loads, merges and saves the histograms of a capture (spread.h) without
 * decoding them. A histogram keeps the unit in which it was counted, so nothing is rounded.
 */
#ifndef CRN_SPANS_TRACE_HISTOGRAMS_H
#define CRN_SPANS_TRACE_HISTOGRAMS_H

#include "capture/reader.h"
#include "spans/save.h"
#include "spans/trace.h"

/* The capture that histograms are loaded from. */
typedef struct crn_histogram_source {
    const crn_reader *reader;
    const uint32_t *numbers; /* by lane: its number in the capture */
    double scale;            /* ns per unit of its clock */
    uint32_t key_count;      /* keys that were read from it */
} crn_histogram_source;

/* Loads the histograms of all lanes. */
bool crn_trace_histograms_load(crn_trace *trace, const crn_histogram_source *from,
                               crn_error *error);
void crn_trace_histograms_free(crn_trace *trace);

/* Adds the histograms of `from`; `lane` is added to their lanes. `keys` maps the keys of `from` to
 * those of `to`; UINT32_MAX: `to` has no room for the key, and the histogram's spans count as
 * dropped. */
void crn_trace_histograms_add(crn_trace *to, const crn_trace *from, uint32_t lane,
                              const uint32_t *keys);

/* Writes a lane's histograms from `*next` on, and advances it. Returns their unit for the lane's
 * header, 0 without histograms. */
double crn_trace_histograms_save(crn_saving *saving, const crn_trace *trace, uint32_t lane,
                                 uint32_t *next);

#endif
