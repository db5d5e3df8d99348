/* SPDX-License-Identifier: MIT
 *
 * block_reach.h - who calls the blocks of a set, and whom they call, in one step or in any number.
 */
#ifndef CRN_PROFILE_BLOCK_REACH_H
#define CRN_PROFILE_BLOCK_REACH_H

#include "profile/call_graph.h"

/* Sets are by block, `blocks` long; the root is never in one that is made here. */

/* The callers of blocks in `of`, or what these call. To be freed. */
uint8_t *crn_block_neighbours(const crn_call_graph *graph, uint32_t blocks, const uint8_t *of,
                              bool callers);
/* Adds to `set` all that leads to it, or that it leads to. Linear in blocks and arrows. */
void crn_block_reach(const crn_call_graph *graph, uint32_t blocks, uint8_t *set, bool callers);

#endif
