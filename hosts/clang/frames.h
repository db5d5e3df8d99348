/* SPDX-License-Identifier: MIT
 *
 * frames.h - which frames of a thread have been entered.
 *
 * A frame that clang's hooks tell of has no place of its own where the height of its strand could
 * be kept. So that is kept beside the place on the machine's stack that the frame returns by. What
 * is left without an exit (by longjmp, by an exception) shows with the next event: no frame that
 * goes on lies below one that enters, nor below one that leaves.
 */
#ifndef CRN_HOSTS_CLANG_FRAMES_H
#define CRN_HOSTS_CLANG_FRAMES_H

#include "../gcc/site.h"

typedef struct crn_frame {
    uintptr_t slot; /* where its return address is */
    int64_t height; /* of the strand, with the frame */
    /* What several functions that are inlined into one, and so have one slot, are told apart by;
     * not set by sleds. */
    const void *function;
    uintptr_t back; /* the return address */
} crn_frame;

/* The thread's. Below the first frame is one that never goes. */
typedef struct crn_frames {
    crn_frame *top; /* one past the innermost; NULL before there is memory */
    crn_frame *limit;
    crn_frame *bottom;
    uintptr_t low, high; /* the thread's own stack */
    bool busy;
} crn_frames;

extern __thread crn_frames crn_frames_own __attribute__((tls_model("initial-exec")));

/* Where the frame of `slot` is to be entered, without those above that are gone by then: at a slot
 * of the same place as well if `again`. NULL if there is no room, and then it cannot be entered. */
crn_frame *crn_frames_enter(uintptr_t slot, bool again);

/* The same before a frame is left. NULL if there are none. */
crn_frame *crn_frames_leave(uintptr_t slot);

#endif
