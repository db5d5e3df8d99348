/* SPDX-License-Identifier: MIT
 *
 * layout.h - byte offsets and hash constants that assembler text needs.
 *
 * The only place where they are written: the plugin (emit.cc, stub.cc, tree_code.cc,
 * small.cc) pastes them into the assembler text of profiled programs, and stub_x86_64.S
 * includes this file. offsets.c asserts that each equals what the C compiler says of the struct.
 * Preprocessor only, as the assembler reads it.
 */
#ifndef CRN_HOSTS_GCC_LAYOUT_H
#define CRN_HOSTS_GCC_LAYOUT_H

/* cairn_priv_strand */
#define CRN_STRAND_TOP 0
#define CRN_STRAND_HIGH 8
#define CRN_STRAND_LOW 16
#define CRN_STRAND_CURRENT 24
#define CRN_STRAND_LANE 32
#define CRN_STRAND_BOTTOM 40
#define CRN_STRAND_MARK 64
#define CRN_STRAND_LEAVING 72
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

/* cairn_priv_record: its block, and the cached callees; the upper half of a block's hash times
 * CALLEES is the index of its own. */
#define CRN_RECORD_BLOCK 16
#define CRN_RECORD_CALLEES 20
#define CRN_RECORD_CALLEE_FACTOR 0x9e3779b1

/* Distance in bytes from a tree's counter to the node offset of its node. */
#define CRN_COUNTERS_TO_NODE_OFFSETS 65536

/* A block's inline cache has 32 entries of 8 bytes. The upper bits of the stack pointer times
 * FACTOR are the index of an entry; or the current node offset, doubled, masked with MASK, is its
 * byte offset. */
#define CRN_INLINE_CACHE_FACTOR 0x9e3779b1
#define CRN_INLINE_CACHE_SHIFT 27
#define CRN_INLINE_CACHE_MASK 248
#define CRN_INLINE_CACHE_SIZE 256

/* A constant of this file as part of a string literal. */
#define CRN_TEXT_(value) #value
#define CRN_TEXT(value) CRN_TEXT_(value)

#endif
