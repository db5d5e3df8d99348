/* SPDX-License-Identifier: MIT
 *
 * sample_spans.h - finds the spans in which samples of processor time were taken.
 */
#ifndef CRN_SPANS_SAMPLE_SPANS_H
#define CRN_SPANS_SAMPLE_SPANS_H

#include "spans/span_store.h"

/* Returns, by sample, the innermost span that its thread was in at that moment; CRN_SPAN_NONE if it
 * was in none. Samples and spans may be of different lanes, and of captures that were merged, if
 * the kernel's id of the thread is known of both. Free it with crn_free. */
uint32_t *crn_samples_spans(const crn_trace *trace);
uint32_t *crn_store_samples_spans(const crn_span_store *store);

#endif
