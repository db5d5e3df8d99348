/* SPDX-License-Identifier: MIT
 *
 * stack.h - what is remembered of a thread's native stack.
 *
 * For each frame of the last stack: where its return address lay, and its context. Of the next
 * stack, those frames are the same whose return addresses are where they were and say the same,
 * they and all older ones; only what is above them is unwound. Where the CFA of a frame comes from
 * its frame pointer, the place where that was saved must hold what it held, too.
 */
#ifndef CRN_ALLOC_STACK_H
#define CRN_ALLOC_STACK_H

#include "alloc.h"

enum {
    CRN_FRAMES_FIRST = CRN_FIRST_SIZE(1024, 16),
    CRN_SEGMENT_FRAMES = 8,
    CRN_SEGMENTS = 1 << 11,
    CRN_HINTS = 1 << 8
};

enum { CRN_FRAME_NEEDS_BASE = 1, CRN_FRAME_HAS_SAVED = 2 };

typedef struct crn_frame {
    uintptr_t slot; /* where its return address lies: of the call that it has made */
    uintptr_t pc;   /* which is this */
    cairn_context context;
    uint32_t flags;
} crn_frame;

/* Of frames with flags, at the same place in another array. */
typedef struct crn_frame_base {
    uintptr_t base; /* NEEDS_BASE: this or an older frame's CFA comes from the frame pointer */
    uintptr_t saved_at, saved; /* HAS_SAVED: it was saved there, and an older frame needs it */
} crn_frame_base;

/* A frame that is new, and is not yet in the list. */
typedef struct crn_fresh {
    uintptr_t slot, pc, base, saved_at;
    cairn_block block;
    bool uses_base;
} crn_fresh;

/* How far it is from a call's slot to its caller's, where the call's address alone decides it. */
typedef struct crn_hint {
    uintptr_t pc;
    uintptr_t distance;
} crn_hint;

/* Return addresses that were once found between an older frame and a call, at fixed places: where
 * they are found again, the same code has called the same code, for nothing but these addresses
 * has decided where each of them lay. */
typedef struct crn_segment {
    uintptr_t pc, caller_pc; /* of the call; of the older frame */
    uint32_t distance;       /* from slot to slot */
    uint32_t count;
    cairn_context caller;                   /* that the frames' contexts are of */
    uint32_t offsets[CRN_SEGMENT_FRAMES];   /* of slots, from that of the call. The oldest comes */
    uintptr_t pcs[CRN_SEGMENT_FRAMES];      /* first; what is more than there are frames is the */
    cairn_block blocks[CRN_SEGMENT_FRAMES]; /* call once more */
    cairn_context contexts[CRN_SEGMENT_FRAMES];
} crn_segment;

typedef struct crn_stack {
    crn_unwind_memory memory;
    uint32_t generation; /* of the code */
    size_t count, room;
    crn_frame *frames; /* the oldest first; room for a segment more than `room` */
    crn_frame_base *bases;
    size_t based;     /* no frame from here on has flags */
    size_t turn;      /* the next frame of a deep stack to be looked at */
    crn_fresh *fresh; /* the youngest first */
    size_t fresh_count, fresh_room;
    crn_segment *segments;
    crn_hint hints[CRN_HINTS];
    char copy[CRN_UNWIND_PAGE];
} crn_stack;

/* How a walk ended: at a frame that is known, at one that has no caller, at one that we cannot
 * unwind; or there was no memory. */
typedef enum crn_ending {
    CRN_END_KNOWN,
    CRN_END_OUTERMOST,
    CRN_END_NOTHING,
    CRN_END_NO_MEMORY
} crn_ending;

typedef struct crn_walk {
    crn_unwind_frame at;
    uintptr_t slot;
    bool simple; /* the stack is the thread's own, and in one piece: it can be remembered */
    int signals;
} crn_walk;

/* Unwinds until a frame is known or there is no other; what is new is in `fresh`. */
crn_ending crn_walk_up(crn_stack *stack, crn_walk *walk);

#endif
