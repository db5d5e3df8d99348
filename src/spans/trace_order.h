/* SPDX-License-Identifier: MIT
 *
 * trace_order.h - sorts the arrays of a loaded trace.
 */
#ifndef CRN_SPANS_TRACE_ORDER_H
#define CRN_SPANS_TRACE_ORDER_H

#include "spans/trace.h"

/* Sorts all arrays by span. Of items that a span has at most one of, the last is kept: damaged
 * files can have several. */
void crn_trace_order(crn_trace *trace);

#endif
