/* SPDX-License-Identifier: MIT
 *
 * sleeper.h - where a thread sleeps, as the kernel tells.
 */
#ifndef CRN_NATIVE_SLEEPER_H
#define CRN_NATIVE_SLEEPER_H

#include <stdbool.h>
#include <sys/types.h>

#include "unwind/unwind.h"

typedef struct crn_sleeper {
    crn_unwind_frame frame; /* program counter and stack pointer */
    long call;              /* number of the system call in which it sleeps; negative: none */
    uintptr_t first;        /* first argument of that call */
} crn_sleeper;

/* Reads where a thread sleeps. Returns false if it runs or has ended. */
bool crn_sleeper_find(pid_t process, pid_t thread, crn_sleeper *sleeper);

#endif
