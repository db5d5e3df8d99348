/* SPDX-License-Identifier: MIT
 *
 * called.h - the verbs of Cairn and of its baselines as functions that are called, not inlined.
 */
#ifndef BENCH_CALLED_H
#define BENCH_CALLED_H

#include <cairn/cairn.h>

#include "baseline/plain_tree.h"
#include "baseline/profile_tree.h"

void called_tree_enter(tree_profile *profile, uint32_t block);
void called_tree_replace(tree_profile *profile, uint32_t block);
void called_tree_leave(tree_profile *profile);
void called_tree_tick(tree_profile *profile, uint32_t count);

void called_plain_enter(plain_profile *profile, uint32_t block);
void called_plain_replace(plain_profile *profile, uint32_t block);
void called_plain_leave(plain_profile *profile);
void called_plain_tick(plain_profile *profile, uint32_t count);

void called_cairn_enter(cairn_strand *strand, cairn_block block);
void called_cairn_replace(cairn_strand *strand, cairn_block block);
void called_cairn_leave(cairn_strand *strand);
void called_cairn_tick(cairn_strand *strand, uint64_t count);

#endif
