/* SPDX-License-Identifier: MIT
 *
 * trace_order.h - puts in order what was loaded into a trace.
 */
#ifndef CRN_SPANS_TRACE_ORDER_H
#define CRN_SPANS_TRACE_ORDER_H

#include "spans/trace.h"

/* By span, and of what a span has at most one of the last: in a damaged file there may be more. */
void crn_trace_order(crn_trace *trace);

#endif
