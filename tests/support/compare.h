/* SPDX-License-Identifier: MIT
 *
 * compare.h - hold a profile against the reference: context by context, edge by edge, and
 * in the sums that must be conserved.
 */
#ifndef TESTS_SUPPORT_COMPARE_H
#define TESTS_SUPPORT_COMPARE_H

#include <cairn/cairn.h>

#include "support/difference.h"
#include "support/reference.h"

/* True if the view holds the same contexts and edges at the same costs. */
bool compare_view(const cairn_view *view, const reference_graph *graph, difference *found);

/* As compare_view, through the capture: what the tool reads. Also user metrics. */
bool compare_capture(const char *path, const reference_graph *graph, difference *found);

/* As compare_capture, for a program that was killed during a step: every context and every
 * call of `least` is there and nothing that is not in `most`. */
bool compare_capture_between(const char *path, const reference_graph *least,
                             const reference_graph *most, difference *found);

/* The sums over all contexts of a view. */
cairn_cost view_total(const cairn_view *view);
uint32_t view_context_count(const cairn_view *view);

#endif
