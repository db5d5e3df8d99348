/* SPDX-License-Identifier: MIT
 *
 * layout.h - byte offsets, hash constants and common code of assembler text.
 *
 * The plugin (emit.cc, stub.cc, tree_code.cc, small.cc) pastes them into the assembler text of
 * profiled programs, and stub_x86_64.S includes this file. offsets.c asserts that each offset is
 * that of the C struct. This file has preprocessor directives only, because the assembler reads it.
 */
#ifndef CRN_HOSTS_GCC_LAYOUT_H
#define CRN_HOSTS_GCC_LAYOUT_H

/* cairn_priv_strand */
#define CRN_STRAND_TOP 0
#define CRN_STRAND_HIGH 8
#define CRN_STRAND_HIGH_OFF 4 /* value of `high` while the profile is switched off */
#define CRN_STRAND_LOW 16
#define CRN_STRAND_CURRENT 24
#define CRN_STRAND_LANE 32
#define CRN_STRAND_BOTTOM 40
#define CRN_STRAND_GRAPH_TAG 64
#define CRN_STRAND_LEAVE_TAG 72
#define CRN_STRAND_BASE 80
#define CRN_STRAND_INLINE_CACHE 88

/* cairn_priv_lane */
#define CRN_LANE_BASE 0
#define CRN_LANE_EDGE_CACHE 24
#define CRN_LANE_EDGE_CACHE_MASK 32
#define CRN_LANE_HOST_COUNTERS 80
#define CRN_LANE_HOST_COUNTERS_END 88
#define CRN_LANE_NODES 96
#define CRN_LANE_NODE_MASK 104
#define CRN_LANE_INLINE_CACHE 112

/* cairn_priv_record: its block, and the five callee entries. The entry for a block has the index
 * (block * CALLEE_FACTOR mod 2^32) * 5 >> 32. A node offset times WORDS_INVERSE, modulo 2^32, is
 * the node index: that divides by the size of a record in words. */
#define CRN_RECORD_BLOCK 16
#define CRN_RECORD_CALLEES 20
#define CRN_RECORD_WORDS_INVERSE 0xcccccccd
#define CRN_RECORD_CALLEE_FACTOR 0x9e3779b1

/* Distance in bytes from the counter of a tree's node to the word with that node's node offset. */
#define CRN_COUNTERS_TO_NODE_OFFSETS 65536

/* A site: its block; `inline_cache` if packed, otherwise `callee_offset`. */
#define CRN_SITE_BLOCK 0
#define CRN_SITE_INLINE_CACHE 4
#define CRN_SITE_CALLEE 4

/* An entry of the edge cache, of 1 << SHIFT bytes: caller's node offset, block, callee's node
 * offset. */
#define CRN_EDGE_SHIFT 4
#define CRN_EDGE_FROM 0
#define CRN_EDGE_BLOCK 4
#define CRN_EDGE_CALLEE 12

#define CRN_EDGE_FACTOR 0x9e3779b1

/* A block's inline cache has 64 entries of 8 bytes: caller's and callee's node offset. The index of
 * an entry is the caller's node offset modulo 64: consecutive contexts have different entries,
 * because the size of a record in words is odd. */
#define CRN_INLINE_CACHE_MASK 63
#define CRN_INLINE_CACHE_SIZE 512

/* Assembler code, for stub_x86_64.S and, by CRN_TEXT, for the plugin. Arguments are registers;
 * `entry32` and `cache32` name the lower halves of `entry` and `cache`. Names after a $ are in
 * parentheses, because C++ would take the $ for a part of the name. */
/* clang-format off */
#define CRN_CACHE_INDEX(current, index)                                                            \
    movl current, index; andl $(CRN_INLINE_CACHE_MASK), index
/* Loads the inline cache's entry for the current context `current` into `entry`: the caller's node
 * offset into its lower half, the callee's into the upper. One load does this, because a signal
 * handler may change the entry. `place`: the site's inline_cache, in memory. Clobbers `cache`. */
#define CRN_CACHE_LOOK_UP(current, place, strand, entry32, entry, cache32, cache)                  \
    CRN_CACHE_INDEX(current, entry32);                                                             \
    movl place, cache32;                                                                           \
    addq CRN_STRAND_INLINE_CACHE(strand), cache;                                                   \
    movq (cache, entry, 8), entry
/* clang-format on */

/* Code or a constant of this file as a string literal. */
#define CRN_TEXT_(...) #__VA_ARGS__
#define CRN_TEXT(...) CRN_TEXT_(__VA_ARGS__)

/* crn_packed_site: the first bit of the block's flags in `column`, and the flags of --lean. */
#define CRN_SITE_FLAGS 30
#define CRN_BLOCK_COUNTED 1
#define CRN_BLOCK_COUNTABLE 2

#endif
