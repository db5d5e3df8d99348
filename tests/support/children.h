/* SPDX-License-Identifier: MIT
 *
 * children.h - children of fork that are parts of a test.
 */
#ifndef TESTS_SUPPORT_CHILDREN_H
#define TESTS_SUPPORT_CHILDREN_H

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/cases.h"
#include "support/scratch.h"

/* In the child: a fault is to end it, and not to be taken for one of the test's; and it has so many
 * seconds. */
static inline void child_begin(unsigned seconds)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS};
    for (size_t i = 0; i < COUNT(faults); i++)
        signal(faults[i], SIG_DFL);
    alarm(seconds);
}

/* Fails if it ends in another way than with status 0. */
static inline void child_await(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status)
        fail_msg("the child's status is %x", (unsigned)status);
}

/* Where the child's capture is: x.cairn -> x.PID.cairn */
static inline char *child_path(char path[SCRATCH_PATH], const char *parent, pid_t child)
{
    snprintf(path, SCRATCH_PATH, "%.*s.%d.cairn", (int)(strlen(parent) - strlen(".cairn")), parent,
             (int)child);
    return path;
}

#endif
