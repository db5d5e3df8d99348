/* SPDX-License-Identifier: MIT
 *
 * lttng_points.h - a begin with an iteration number and an end, as LTTng-UST has them.
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench_spans

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_points.h"

#if !defined(BENCH_LTTNG_POINTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_LTTNG_POINTS_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(bench_spans, span_begin, LTTNG_UST_TP_ARGS(int64_t, iteration),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int64_t, iteration,
                                                                       iteration)))
LTTNG_UST_TRACEPOINT_EVENT(bench_spans, span_end, LTTNG_UST_TP_ARGS(void), LTTNG_UST_TP_FIELDS())

#endif

#include <lttng/tracepoint-event.h>
