/* SPDX-License-Identifier: MIT
 *
 * trace_histograms.h - the histograms of a capture (spread.h), carried along as they are where its
 * spans are merged and saved: each keeps the unit that it was counted in, so nothing is lost.
 */
#ifndef CRN_SPANS_TRACE_HISTOGRAMS_H
#define CRN_SPANS_TRACE_HISTOGRAMS_H

#include "capture/reader.h"
#include "spans/save.h"
#include "spans/trace.h"

/* Those of all lanes; `numbers`: of lanes, by index. `scale`: ns per unit of the clock. */
bool crn_trace_histograms_load(crn_trace *trace, const crn_reader *reader, const uint32_t *numbers,
                               double scale, crn_error *error);
void crn_trace_histograms_free(crn_trace *trace);

/* Adds those of `from`, whose lanes come to lie behind `lane` and whose keys become those of `to`,
 * UINT32_MAX where there is no room for one: those are counted as dropped. */
void crn_trace_histograms_add(crn_trace *to, const crn_trace *from, uint32_t lane,
                              const uint32_t *keys);

/* Writes those of a lane, from the `*next` on. Returns their unit, for the lane's header; 0 if
 * there are none. */
double crn_trace_histograms_save(crn_saving *saving, const crn_trace *trace, uint32_t lane,
                                 uint32_t *next);

#endif
