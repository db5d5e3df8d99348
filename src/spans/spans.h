/* SPDX-License-Identifier: MIT
 *
 * spans.h - reads and merges the spans of captures, totals their time by block, groups, orders and
 * redacts them.
 *
 * Other folders include this header and no other of this folder.
 */
#ifndef CRN_SPANS_SPANS_H
#define CRN_SPANS_SPANS_H

#include "spans/chart.h"
#include "spans/counter_tracks.h"
#include "spans/iterations.h"
#include "spans/latency.h"
#include "spans/off_core.h"
#include "spans/rank_search.h"
#include "spans/redact.h"
#include "spans/sample_spans.h"
#include "spans/save.h"
#include "spans/span_figures.h"
#include "spans/span_groups.h"
#include "spans/span_names.h"
#include "spans/span_store.h"
#include "spans/trace.h"
#include "spans/trace_ids.h"
#include "spans/trace_merge.h"

#endif
