/* SPDX-License-Identifier: MIT
 *
 * frames.h - the entered frames of a thread.
 *
 * clang's hooks leave no place in the frame to save the strand's height. So an array has it, with
 * the frame's *slot*: the address of the return address on the machine's stack. Frames left without
 * an exit (longjmp, exceptions) are found at the next event: a frame that enters or leaves has the
 * lowest slot of all active frames on its stack.
 */
#ifndef CRN_HOSTS_CLANG_FRAMES_H
#define CRN_HOSTS_CLANG_FRAMES_H

#include "../gcc/site.h"

typedef struct crn_frame {
    uintptr_t slot; /* address of its return address */
    int64_t height; /* of the strand, including the frame */
    /* Distinguishes functions inlined into one function, which share its slot; not set by sleds. */
    const void *function;
    uintptr_t back; /* the return address */
} crn_frame;

/* The frames of a thread. The one at `bottom` is never left. */
typedef struct crn_frames {
    crn_frame *top;   /* one past the innermost; NULL before memory is allocated */
    crn_frame *limit; /* end of the memory */
    crn_frame *bottom;
    uintptr_t low, high; /* bounds of the thread's own stack */
    bool busy;           /* crn_frames_enter is running; a signal handler then enters nothing */
} crn_frames;

extern __thread crn_frames crn_frames_own __attribute__((tls_model("initial-exec")));

/* Drops frames that are over, with `again` also those with the same slot, and returns the place for
 * a new frame. Returns NULL without space or a strand, and while the thread is busy: the function
 * cannot be entered. */
crn_frame *crn_frames_enter(uintptr_t slot, bool again);

/* Drops frames that are over before a frame is left, and returns the top. Returns NULL if the
 * thread has entered nothing or is busy. */
crn_frame *crn_frames_leave(uintptr_t slot);

#endif
