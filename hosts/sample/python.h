/* SPDX-License-Identifier: MIT
 *
 * python.h - frames of Python functions between the native ones.
 *
 * CPython runs a Python function in the C function _PyEval_EvalFrameDefault, its *loop*. One call
 * of the loop runs a chain of frames: Python functions that call each other need no C call. A walk
 * puts the chain's functions in front of each frame of the loop, as words with CRN_PYTHON_WORD set
 * that have the address of the function's code object. The structures are those of one
 * version, 3.11; of others no function is shown.
 *
 * Source: CPython 3.11, Include/internal/pycore_frame.h and pycore_runtime.h.
 */
#ifndef CRN_SAMPLE_PYTHON_H
#define CRN_SAMPLE_PYTHON_H

#include <cairn/cairn.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "unwind/unwind.h"

#define CRN_PYTHON_WORD (UINT64_C(1) << 63)

/* Looks for an interpreter in the program and its libraries, and notes its version. Takes the
 * loader's lock: call it once, before the program's first function. */
void crn_python_find(cairn_profile *profile);

typedef struct crn_python_state {
    pid_t thread;
    bool own;           /* it is the calling thread */
    bool found;         /* the thread's chain of frames was looked for */
    uintptr_t frame;    /* the next frame of the chain; 0: none */
    uintptr_t readable; /* a page of the own thread's that can be read */
} crn_python_state;

/* Lets the walk of a thread's stack add Python functions. `state` is used by the walk. Signal safe.
 */
void crn_python_prepare(crn_unwind_walk *walk, crn_python_state *state, pid_t thread);

/* Returns the block of a Python function, with file and line. From one thread only. */
cairn_block crn_python_block(uint64_t word);

#endif
