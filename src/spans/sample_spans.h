/* SPDX-License-Identifier: MIT
 *
 * sample_spans.h - finds the spans in which samples of processor time were taken.
 */
#ifndef CRN_SPANS_SAMPLE_SPANS_H
#define CRN_SPANS_SAMPLE_SPANS_H

#include "spans/span_store.h"

/* Returns, by sample, the innermost span of its thread at its moment; CRN_SPAN_NONE: outside of all
 * spans. Samples and spans may be on different lanes, also of merged captures, if the kernel's
 * thread id is known for both. Free it with crn_free. */
uint32_t *crn_samples_spans(const crn_trace *trace);
uint32_t *crn_store_samples_spans(const crn_span_store *store);

#endif
