/* SPDX-License-Identifier: MIT
 *
 * stack.h - internals of strands that keep only a stack of blocks.
 */
#ifndef CRN_RUNTIME_STACK_H
#define CRN_RUNTIME_STACK_H

#include "runtime/runtime.h"

/* Block of a frame that came back from a profile whose graph was full: its context there is
 * [folded], so its block is not known. Unlike CAIRN_BLOCK_FOLDED it is no misuse. */
#define CRN_BLOCK_UNKNOWN ((cairn_block)(CAIRN_BLOCK_FOLDED - 1))

/* Record the events of strands that keep only a stack of blocks, in the slow path of both
 * cairn_enter and cairn_stack_enter, and so on. Thread: the lane's. */
void crn_stack_enter(cairn_strand *strand, cairn_block block);
void crn_stack_replace(cairn_strand *strand, cairn_block block);
void crn_stack_leave(cairn_strand *strand);
void crn_stack_unwind(cairn_strand *strand, cairn_mark mark);

/* Returns the number of frames on the stack, without lost ones. */
static inline size_t crn_stack_held(const cairn_strand *strand)
{
    return (size_t)(strand->only.top - strand->only.blocks);
}

/* Returns the record of the empty stack: of the root, or of the block that replaced the root. */
uint32_t crn_stack_root(cairn_strand *strand);

/* Sets the limits to the stack's own, unless each event must be slow. */
void crn_stack_disarm(cairn_strand *strand);

/* Invalidates the frames' records, because the lane has a new graph. */
void crn_stack_forget(cairn_strand *strand);

/* Makes a new strand keep only a stack of blocks. Returns false without memory. */
bool crn_stack_begin(cairn_strand *strand);

/* Makes a closed strand one with counts again. */
void crn_stack_end(cairn_strand *strand);

#endif
