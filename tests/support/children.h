/* SPDX-License-Identifier: MIT
 *
 * children.h - runs parts of a test in children of fork.
 */
#ifndef TESTS_SUPPORT_CHILDREN_H
#define TESTS_SUPPORT_CHILDREN_H

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/cases.h"
#include "support/scratch.h"

/* In the child: restores default signal actions, so that a fault ends it, and limits its time. */
static inline void child_begin(unsigned seconds)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS};
    for (size_t i = 0; i < COUNT(faults); i++)
        signal(faults[i], SIG_DFL);
    alarm(seconds);
}

/* Waits for the child; fails unless its status is 0. */
static inline void child_await(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status)
        fail_msg("the child's status is %x", (unsigned)status);
}

/* Sleeps a moment, for a loop that waits for something a child does. Fails if the child has ended
 * instead. */
static inline void child_pause(pid_t child)
{
    siginfo_t ended = {0};
    usleep(10);
    if (waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid)
        fail_msg("the child has ended: code %d, status %d", ended.si_code, ended.si_status);
}

/* Returns the path of the child's capture: x.cairn -> x.PID.cairn */
static inline char *child_path(char path[SCRATCH_PATH], const char *parent, pid_t child)
{
    snprintf(path, SCRATCH_PATH, "%.*s.%d.cairn", (int)(strlen(parent) - strlen(".cairn")), parent,
             (int)child);
    return path;
}

#endif
