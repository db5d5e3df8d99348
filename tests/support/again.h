/* SPDX-License-Identifier: MIT
 *
 * again.h - runs the test program again, as a process with a profile of its own.
 */
#ifndef TESTS_SUPPORT_AGAIN_H
#define TESTS_SUPPORT_AGAIN_H

#include <stdbool.h>
#include <sys/types.h>
#include <unistd.h>

#include "support/recorded.h"

/* Sanitizers do not tolerate that exit interrupts their own code, or that threads are cancelled. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

enum { WRONG = 9 /* exit status of a role that found something wrong */ };

static inline void check(bool holds)
{
    if (!holds)
        _exit(WRONG);
}

typedef struct again_role {
    const char *name;
    void (*run)(void);
} again_role;

/* Runs the role with this name, for two minutes at the most. Returns the exit status. */
int again_play(const again_role *roles, size_t count, const char *name);

/* Replaces the process, a child of fork, by this program with `role` as its only argument (run by
 * the emulator, if another processor is emulated). Does not return. */
_Noreturn void again_begin(const char *role);

/* Runs this program with `role` as its only argument, with CAIRN_OUT=`path` (NULL: not set), and
 * with `variable` if that is not NULL. Fails the test if its exit status is not `expected`. */
pid_t again_run(const char *role, const char *path, const char *variable, const char *value,
                int expected);

/* Runs it and returns the spans of its capture, which must be closed. */
recorded again_record(const char *role);

#endif
