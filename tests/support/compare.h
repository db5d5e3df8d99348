/* SPDX-License-Identifier: MIT
 *
 * compare.h - compares a profile with the reference: contexts, edges, and sums.
 */
#ifndef TESTS_SUPPORT_COMPARE_H
#define TESTS_SUPPORT_COMPARE_H

#include <cairn/cairn.h>

#include "support/difference.h"
#include "support/reference.h"

/* Returns true if the view has the same contexts and edges with the same costs. */
bool compare_view(const cairn_view *view, const reference_graph *graph, difference *found);

/* As compare_view, for the capture as the tool loads it. Also compares user metrics. */
bool compare_capture(const char *path, const reference_graph *graph, difference *found);

/* As compare_capture, for a program that was killed during a step: the capture has at least the
 * contexts and calls of `least` and at most those of `most`. */
bool compare_capture_between(const char *path, const reference_graph *least,
                             const reference_graph *most, difference *found);

/* Returns the sums over all contexts of a view. */
cairn_cost view_total(const cairn_view *view);
uint32_t view_context_count(const cairn_view *view);

#endif
