/* SPDX-License-Identifier: MIT
 *
 * block_reach.h - callers and callees of a set of blocks, direct or transitive.
 */
#ifndef CRN_PROFILE_BLOCK_REACH_H
#define CRN_PROFILE_BLOCK_REACH_H

#include "profile/call_graph.h"

/* Sets are arrays of bytes by block, `blocks` long. The root is never in a returned set. */

/* Returns the direct callers (or callees) of the blocks in `of`. Free it with crn_free. */
uint8_t *crn_block_neighbours(const crn_call_graph *graph, uint32_t blocks, const uint8_t *of,
                              bool callers);
/* Adds to `set` all transitive callers (or callees). Linear in blocks and arrows. */
void crn_block_reach(const crn_call_graph *graph, uint32_t blocks, uint8_t *set, bool callers);

#endif
