/* SPDX-License-Identifier: MIT
 *
 * frames.h - the entered frames of a thread.
 *
 * clang's hooks leave no place in the frame to save the strand's height. So it is saved together
 * with the address of the return address on the machine's stack. Frames left without an exit
 * (longjmp, exceptions) are found at the next event: no active frame is below one that enters or
 * leaves.
 */
#ifndef CRN_HOSTS_CLANG_FRAMES_H
#define CRN_HOSTS_CLANG_FRAMES_H

#include "../gcc/site.h"

typedef struct crn_frame {
    uintptr_t slot; /* address of its return address */
    int64_t height; /* of the strand, including the frame */
    /* Distinguishes functions that are inlined into one, which share a return address; not set by
     * sleds. */
    const void *function;
    uintptr_t back; /* the return address */
} crn_frame;

/* The frames of a thread. Below the first is one that is never left. */
typedef struct crn_frames {
    crn_frame *top; /* one past the innermost; NULL before memory is allocated */
    crn_frame *limit;
    crn_frame *bottom;
    uintptr_t low, high; /* the thread's own stack */
    bool busy;
} crn_frames;

extern __thread crn_frames crn_frames_own __attribute__((tls_model("initial-exec")));

/* Drops frames that are over and returns the place for a new frame with that slot; with `again`
 * also if a frame with the same slot exists. NULL without space: then it cannot be entered. */
crn_frame *crn_frames_enter(uintptr_t slot, bool again);

/* The same before a frame is left. NULL if there are no frames. */
crn_frame *crn_frames_leave(uintptr_t slot);

#endif
