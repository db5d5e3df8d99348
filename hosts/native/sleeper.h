/* SPDX-License-Identifier: MIT
 *
 * sleeper.h - asks the kernel where a thread sleeps.
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

enum { CRN_SLEEPER_TEXT = 256 /* bytes */ };

/* Reads where a thread sleeps. Returns false if it runs or has ended. */
bool crn_sleeper_find(pid_t process, pid_t thread, crn_sleeper *sleeper);

/* Does the same with the contents of /proc/PROCESS/task/THREAD/syscall. Changes `text`. */
bool crn_sleeper_parse(char text[CRN_SLEEPER_TEXT], crn_sleeper *sleeper);

#endif
