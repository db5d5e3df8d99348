/* SPDX-License-Identifier: MIT
 *
 * stack.h - cache of a thread's last native stack.
 *
 * For each frame the cache has the place of its return address (its *slot*), the return address and
 * the context. If a slot of the next stack holds the same address, then that frame and all older
 * frames are unchanged, and only the younger ones are unwound. Where a frame's CFA is computed from
 * the frame pointer, the place where the frame pointer was saved must hold the same value, too.
 */
#ifndef CRN_ALLOC_STACK_H
#define CRN_ALLOC_STACK_H

#include "alloc.h"

enum {
    CRN_FRAMES_FIRST = CRN_FIRST_SIZE(1024, 16),
    CRN_LINKS = 1 << 12,   /* in the cache, in pairs */
    CRN_LINKED_FRAMES = 32 /* limit of new frames that are found by links */
};

enum { CRN_FRAME_NEEDS_BASE = 1, CRN_FRAME_HAS_SAVED = 2 };

typedef struct crn_frame {
    uintptr_t slot; /* address of its return address on the stack */
    uintptr_t pc;   /* the return address */
    cairn_context context;
    uint32_t flags;
} crn_frame;

/* The second part of a frame, in a parallel array. Set only for frames with flags. */
typedef struct crn_frame_base {
    uintptr_t base; /* NEEDS_BASE: the frame pointer, from which this or an older frame's CFA is
                       computed */
    uintptr_t saved_at, saved; /* HAS_SAVED: an older frame needs the frame pointer, which was
                                  saved there */
} crn_frame_base;

/* A frame that was unwound and is not in the cache yet. */
typedef struct crn_fresh {
    /* `base` is the frame pointer in the frame. Its function has saved the caller's frame pointer
     * at `saved_at`; 0: not saved. */
    uintptr_t slot, pc, base, saved_at;
    cairn_block block;
    uint32_t distance; /* of the frame's crn_link; 0: the frame pointer or other memory is needed */
    bool uses_base;    /* its CFA, or the place of the saved frame pointer, depends on `base` */
} crn_fresh;

/* The step from a call's return address to its caller's slot, if no frame pointer is needed for it.
 * It then depends on the return address only. */
typedef struct crn_link {
    uintptr_t pc;
    uint32_t distance; /* between the two slots, in bytes */
    cairn_block block;
} crn_link;

typedef struct crn_stack {
    crn_unwind_memory memory;
    uint32_t generation; /* the crn_unwind_generation that the cache is for */
    size_t count, capacity;
    crn_frame *frames; /* the oldest first */
    crn_frame_base *bases;
    size_t based;     /* no frame from this index on has flags */
    size_t turn;      /* index of the next frame to check in a deep stack */
    crn_fresh *fresh; /* the youngest first */
    size_t fresh_count, fresh_capacity;
    crn_link *links;
    char copy[CRN_UNWIND_PAGE];
} crn_stack;

/* End of a walk: at a cached frame, at a frame without a caller, at one that cannot be unwound; or
 * no memory. */
typedef enum crn_ending {
    CRN_END_KNOWN,
    CRN_END_OUTERMOST,
    CRN_END_NOTHING,
    CRN_END_NO_MEMORY
} crn_ending;

typedef struct crn_walk {
    crn_unwind_frame at; /* the frame that is next */
    uintptr_t slot;      /* address of at.pc on the stack */
    bool simple;         /* the stack is the thread's own and in one piece: it can be cached */
    int signals;         /* number of signal frames so far */
} crn_walk;

/* Unwinds to a cached frame or the outermost one. New frames are in `fresh`. */
crn_ending crn_walk_up(crn_stack *stack, crn_walk *walk);

#endif
