/* SPDX-License-Identifier: MIT
 *
 * sleeper.h - asks the kernel where a thread sleeps.
 */
#ifndef CRN_NATIVE_SLEEPER_H
#define CRN_NATIVE_SLEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "unwind/unwind.h"

typedef struct crn_sleeper {
    crn_unwind_frame frame; /* program counter and stack pointer */
    long call;              /* number of the system call in which it sleeps; negative: none */
    uintptr_t first;        /* first argument of that call */
} crn_sleeper;

enum { CRN_SLEEPER_TEXT = 256 /* bytes */ };

/* Returns true if a thread that used so much processor time ran for nearly all of a gap (both in
 * ns). Such a thread is not looked up in /proc. */
static inline bool crn_ran_throughout(uint64_t used, uint64_t gap)
{
    enum { NEARLY = 64 };
    return used + gap / NEARLY >= gap;
}

/* Reads where a thread sleeps. Returns false if it runs or has ended. */
bool crn_sleeper_find(pid_t process, pid_t thread, crn_sleeper *sleeper);

/* Does the same with the contents of /proc/PROCESS/task/THREAD/syscall. Changes `text`. */
bool crn_sleeper_parse(char text[CRN_SLEEPER_TEXT], crn_sleeper *sleeper);

#endif
