/* SPDX-License-Identifier: MIT
 *
 * Asserts the structure offsets that emit.cc, site.cc and stub_x86_64.S use.
 */
#include <stddef.h>

#include <cairn/tree.h>

#include "site.h"

_Static_assert(offsetof(cairn_priv_strand, top) == 0, "TOP");
_Static_assert(offsetof(cairn_priv_strand, high) == 8, "HIGH");
_Static_assert(offsetof(cairn_priv_strand, low) == 16, "LOW");
_Static_assert(offsetof(cairn_priv_strand, current) == 24, "CURRENT");
_Static_assert(offsetof(cairn_priv_strand, lane) == 32, "LANE");
_Static_assert(offsetof(cairn_priv_strand, bottom) == 40, "BOTTOM");
_Static_assert(offsetof(cairn_priv_strand, mark) == 64, "MARK");
_Static_assert(offsetof(cairn_priv_strand, leaving) == 72, "CRN_AT_LEAVING");
_Static_assert(offsetof(cairn_priv_lane, base) == 0, "the lane's base");
_Static_assert(offsetof(cairn_priv_record, calls) == 0, "a record's calls");
_Static_assert(offsetof(cairn_priv_record, edges) == 16, "SLOT_FIRST");
_Static_assert(offsetof(cairn_priv_edge, block) == 0, "a slot's block");
_Static_assert(offsetof(cairn_priv_edge, node_offset) == 4, "a slot's node_offset");
_Static_assert(sizeof(crn_site) == 64, "a site");
_Static_assert(offsetof(crn_site, block) == 0 && offsetof(crn_site, slot) == 4, "a site's block");
_Static_assert(sizeof(crn_packed_site) == 32, "SITE_SIZE");
_Static_assert(offsetof(crn_packed_site, block) == offsetof(crn_site, block), "a block");
_Static_assert(offsetof(crn_packed_site, inline_cache) == 4, "its inline_cache");
_Static_assert(sizeof(cairn_priv_cache_entry) == 8 && offsetof(cairn_priv_cache_entry, from) == 0,
               "a cached");
_Static_assert(CAIRN_PRIV_INLINE_CACHE_ENTRIES * sizeof(cairn_priv_cache_entry) == 256,
               "CRN_GUESS");
_Static_assert(offsetof(cairn_priv_strand, base) == 80, "CRN_AT_BASE");
_Static_assert(offsetof(cairn_priv_strand, inline_cache) == 88, "CRN_AT_INLINE_CACHE");
_Static_assert(offsetof(cairn_priv_lane, inline_cache) == 112, "CRN_AT_LANE_INLINE_CACHE");
_Static_assert(offsetof(crn_packed_site, line) == offsetof(crn_site, line), "which it is");
_Static_assert(offsetof(cairn_priv_lane, edge_cache) == 24, "WAYS");
_Static_assert(offsetof(cairn_priv_lane, host_counters) == 80, "HOST_COUNTERS");
_Static_assert(offsetof(cairn_priv_lane, host_counters_end) == 88, "HOST_COUNTERS_END");
_Static_assert(offsetof(cairn_priv_lane, edge_cache_mask) == 32, "EDGE_CACHE_MASK");
_Static_assert(offsetof(cairn_priv_lane, nodes) == 96, "CRN_AT_NODES");
_Static_assert(offsetof(cairn_priv_lane, node_mask) == 104, "CRN_AT_NODE_MASK");
_Static_assert(offsetof(crn_tree, hash) == 4 && offsetof(crn_tree, nodes) == 8, "TREE_WORDS");
_Static_assert(sizeof(crn_node) == 8, "NODE_WORDS");
_Static_assert(CAIRN_PRIV_TREE_NODE_OFFSETS == 65536, "CRN_COUNTERS_TO_NODE_OFFSETS");
_Static_assert(sizeof(cairn_priv_cached_edge) == 16 && offsetof(cairn_priv_cached_edge, key) == 0,
               "a cached");
_Static_assert(offsetof(cairn_priv_cached_edge, edge) == 8, "a cached's slot");
