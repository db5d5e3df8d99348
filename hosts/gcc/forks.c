/* SPDX-License-Identifier: MIT
 *
 * Interposes _Fork, clone and syscall, for whose children the C library calls no fork handlers:
 * events of the children must not reach the parent's capture. If the program makes the system call
 * itself, the child notices it in its next slow path (hold.c).
 */
#include <errno.h>
#include <linux/sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interpose.h"
#include "runtime.h"

typedef pid_t fork_function(void);
typedef int clone_function(int (*run)(void *), void *stack, int flags, void *argument, ...);
typedef long syscall_function(long number, ...);

fork_function CRN_INTERPOSED(_Fork);
clone_function CRN_INTERPOSED(clone);
syscall_function CRN_INTERPOSED(syscall);

#ifdef CRN_STATIC
extern fork_function __real__Fork __attribute__((weak));
extern clone_function __real_clone;
extern syscall_function __real_syscall;
#endif

CRN_EXPORTED pid_t CRN_INTERPOSED(_Fork)(void)
{
    CRN_REAL(fork_function, _Fork);
    pid_t child = real ? real() : (pid_t)syscall(SYS_fork);
    if (child == 0)
        cairn_priv_process_begin_unseen();
    return child;
}

/* ---- clone ---- */

typedef struct work {
    int (*run)(void *argument);
    void *argument;
} work;

static int run_in_child(void *data)
{
    const work *own = data;
    cairn_priv_process_begin_unseen();
    return own->run(own->argument);
}

CRN_EXPORTED int CRN_INTERPOSED(clone)(int (*run)(void *), void *stack, int flags, void *argument,
                                       ...)
{
    CRN_REAL(clone_function, clone);
    va_list rest;
    va_start(rest, argument);
    pid_t *parent = va_arg(rest, pid_t *);
    void *tls = va_arg(rest, void *);
    pid_t *child = va_arg(rest, pid_t *);
    va_end(rest);
    work own = {run, argument}; /* the child has a copy of this stack */
    if (flags & CLONE_VM || !run)
        return real(run, stack, flags, argument, parent, tls, child);
    return real(run_in_child, stack, flags, &own, parent, tls, child);
}

/* ---- syscall ---- */

/* Returns true if the call makes a process with memory of its own. */
static bool makes_process(long number, long first)
{
    uint64_t flags;
    switch (number) {
    case SYS_fork:
        return true;
    case SYS_clone:
        return !(first & CLONE_VM);
    case SYS_clone3:
        memcpy(&flags, (const void *)first, sizeof flags);
        return !(flags & CLONE_VM);
    default:
        return false;
    }
}

CRN_EXPORTED long CRN_INTERPOSED(syscall)(long number, ...)
{
    CRN_REAL(syscall_function, syscall);
    enum { ARGUMENTS = 6 };
    long a[ARGUMENTS];
    va_list rest;
    va_start(rest, number);
    for (int i = 0; i < ARGUMENTS; i++)
        a[i] = va_arg(rest, long);
    va_end(rest);
    long result = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (result == 0 && makes_process(number, a[0]))
        cairn_priv_process_begin_unseen();
    return result;
}
