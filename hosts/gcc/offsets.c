/* SPDX-License-Identifier: MIT
 *
 * Asserts that layout.h, which assembler text uses, agrees with the C structs.
 */
#include <stddef.h>

#include "layout.h"
#include "site.h"

_Static_assert(offsetof(cairn_priv_strand, top) == CRN_STRAND_TOP, "strand top");
_Static_assert(offsetof(cairn_priv_strand, high) == CRN_STRAND_HIGH, "strand high");
_Static_assert(offsetof(cairn_priv_strand, low) == CRN_STRAND_LOW, "strand low");
_Static_assert(offsetof(cairn_priv_strand, current) == CRN_STRAND_CURRENT, "strand current");
_Static_assert(offsetof(cairn_priv_strand, lane) == CRN_STRAND_LANE, "strand lane");
_Static_assert(offsetof(cairn_priv_strand, bottom) == CRN_STRAND_BOTTOM, "strand bottom");
_Static_assert(offsetof(cairn_priv_strand, graph_tag) == CRN_STRAND_GRAPH_TAG, "strand graph tag");
_Static_assert(offsetof(cairn_priv_strand, leave_tag) == CRN_STRAND_LEAVE_TAG, "strand leave tag");
_Static_assert(offsetof(cairn_priv_lane, base) == CRN_LANE_BASE, "lane base");
_Static_assert(offsetof(cairn_priv_record, calls) == 0, "a record's calls");
_Static_assert(offsetof(cairn_priv_record, block) == CRN_RECORD_BLOCK, "a record's block");
_Static_assert(offsetof(cairn_priv_record, callees) == CRN_RECORD_CALLEES, "a record's callees");
_Static_assert((uint32_t)(sizeof(cairn_priv_record) / 8 * CRN_RECORD_WORDS_INVERSE) == 1,
               "node offsets are divided by the words of a record");
_Static_assert(CAIRN_PRIV_CALLEES == 5, "the callee's index");
_Static_assert(offsetof(cairn_priv_edge, block) == 0, "an edge's block");
_Static_assert(offsetof(cairn_priv_edge, node_offset) == 4, "an edge's node offset");
_Static_assert(sizeof(crn_site) == 64, "a site");
_Static_assert(offsetof(crn_site, block) == CRN_SITE_BLOCK, "a site's block");
_Static_assert(offsetof(crn_site, callee_offset) == CRN_SITE_CALLEE, "a site's callee");
_Static_assert(sizeof(crn_packed_site) == 32, "SITE_SIZE");
_Static_assert(offsetof(crn_packed_site, block) == offsetof(crn_site, block),
               "a packed site's block");
_Static_assert(offsetof(crn_packed_site, inline_cache) == CRN_SITE_INLINE_CACHE,
               "a packed site's inline_cache");
_Static_assert(sizeof(cairn_priv_cache_entry) == 8 && offsetof(cairn_priv_cache_entry, from) == 0,
               "a cache entry");
_Static_assert(CAIRN_PRIV_INLINE_CACHE_ENTRIES * sizeof(cairn_priv_cache_entry) ==
                   CRN_INLINE_CACHE_SIZE,
               "inline cache");
_Static_assert(offsetof(cairn_priv_strand, base) == CRN_STRAND_BASE, "strand base");
_Static_assert(offsetof(cairn_priv_strand, inline_cache) == CRN_STRAND_INLINE_CACHE,
               "strand inline_cache");
_Static_assert(offsetof(cairn_priv_lane, inline_cache) == CRN_LANE_INLINE_CACHE,
               "lane inline_cache");
_Static_assert(offsetof(crn_packed_site, line) == offsetof(crn_site, line), "a site's line");
_Static_assert(offsetof(cairn_priv_lane, edge_cache) == CRN_LANE_EDGE_CACHE, "lane edge_cache");
_Static_assert(offsetof(cairn_priv_lane, host_counters) == CRN_LANE_HOST_COUNTERS,
               "lane host_counters");
_Static_assert(offsetof(cairn_priv_lane, host_counters_end) == CRN_LANE_HOST_COUNTERS_END,
               "lane host_counters_end");
_Static_assert(offsetof(cairn_priv_lane, edge_cache_mask) == CRN_LANE_EDGE_CACHE_MASK,
               "lane edge_cache_mask");
_Static_assert(offsetof(cairn_priv_lane, nodes) == CRN_LANE_NODES, "lane nodes");
_Static_assert(offsetof(cairn_priv_lane, node_mask) == CRN_LANE_NODE_MASK, "lane node_mask");
_Static_assert(offsetof(crn_tree, hash) == 4 && offsetof(crn_tree, nodes) == 8, "TREE_WORDS");
_Static_assert(sizeof(crn_node) == 8, "NODE_WORDS");
_Static_assert(offsetof(crn_lean_group, key) == 0 && offsetof(crn_lean_group, hash) == 4,
               "a group is looked up like a tree");
_Static_assert(CAIRN_PRIV_BLOCK_COUNTED == CRN_BLOCK_COUNTED &&
                   CAIRN_PRIV_BLOCK_COUNTABLE == CRN_BLOCK_COUNTABLE,
               "flags of blocks");
_Static_assert(CAIRN_PRIV_TREE_NODE_OFFSETS == CRN_COUNTERS_TO_NODE_OFFSETS,
               "CRN_COUNTERS_TO_NODE_OFFSETS");
_Static_assert(sizeof(cairn_priv_cached_edge) == 1 << CRN_EDGE_SHIFT, "edge cache entry");
_Static_assert(offsetof(cairn_priv_cached_edge, key) == CRN_EDGE_FROM, "an edge cache entry's key");
_Static_assert(CRN_EDGE_BLOCK == CRN_EDGE_FROM + 4, "the key's upper half");
_Static_assert(offsetof(cairn_priv_cached_edge, edge.node_offset) == CRN_EDGE_CALLEE,
               "an edge cache entry's callee");
