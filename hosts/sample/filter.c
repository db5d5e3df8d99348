/* SPDX-License-Identifier: MIT
 *
 * Threads that give up system calls (seccomp): the kernel may kill the process at a call that the
 * filter does not name. Such a thread gets no more timer signals, and when it ends the process, it
 * asks the collector to end without a system call. The collector is not filtered, and looks at the
 * thread like at others. It is one that the C library knows: the thread cannot pause it when it
 * changes the process's rights. Threads inherit the filter of their creator. Before a filter for
 * all threads is installed, sampling ends, even if the kernel then refuses the filter. Other system
 * calls that programs make by number are handled here, too.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sample.h"

/* Called before a thread installs a filter for itself and the threads that it begins later; with
 * `all_threads`, also for all others. `may_go_on`: the filter may allow changes of rights. Returns
 * true if this is the thread's first filter; then sets `mask` to the signals that the thread
 * blocked before. */
static bool before_filter(bool all_threads, bool may_go_on, sigset_t *mask)
{
    if (all_threads)
        crn_sample_end_early();
    if (crn_sample_filtered) /* its filter may forbid sigprocmask */
        return false;
    if (may_go_on && !all_threads)
        crn_sample_show();
    crn_sample_signal_block(SIG_BLOCK, mask);
    crn_sample_filtered = true;
    return true;
}

/* Undoes before_filter when the call for the thread's first filter has failed. Keeps errno. */
static void no_filter(const sigset_t *mask)
{
    int saved = errno;
    crn_sample_filtered = false;
    crn_sample_mask(SIG_SETMASK, mask, NULL);
    errno = saved;
}

EXPORT int prctl(int option, ...)
{
    static int (*real)(int, unsigned long, unsigned long, unsigned long, unsigned long);
    unsigned long arguments[4];
    va_list list;
    va_start(list, option);
    for (int i = 0; i < 4; i++)
        arguments[i] = va_arg(list, unsigned long);
    va_end(list);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "prctl");
    sigset_t mask;
    bool filters = arguments[0] == SECCOMP_MODE_FILTER && arguments[1];
    bool first = option == PR_SET_SECCOMP && before_filter(false, filters, &mask);
    int result = real(option, arguments[0], arguments[1], arguments[2], arguments[3]);
    if (first && result == -1)
        no_filter(&mask);
    return result;
}

static bool installs_filter(long number, const long arguments[])
{
    return number == SYS_seccomp &&
           (arguments[0] == SECCOMP_SET_MODE_STRICT || arguments[0] == SECCOMP_SET_MODE_FILTER);
}

/* Returns true if the filter is for all threads. A call without a filter is for none: libseccomp
 * makes such calls, which fail, to learn which flags the kernel has. */
static bool is_for_all(const long arguments[])
{
    return arguments[0] == SECCOMP_SET_MODE_FILTER && (arguments[1] & SECCOMP_FILTER_FLAG_TSYNC) &&
           arguments[2];
}

/* Handles rt_sigaction for the timers' signal: programs reset all signals so, too. Returns true if
 * the call is to be ignored. Both actions are the kernel's: handler, flags, restorer and mask. */
static bool keeps_action(const long arguments[])
{
    enum { HANDLER, WORDS = 4 };
    if (arguments[0] != __atomic_load_n(&crn_sample_signal, __ATOMIC_ACQUIRE))
        return false; /* the kernel says if addresses are wrong */
    const uintptr_t *new = (const uintptr_t *)arguments[1];
    uintptr_t *old = (uintptr_t *)arguments[2];
    __sighandler_t handler = new ? (__sighandler_t) new[HANDLER] : SIG_DFL;
    if (!crn_sample_signal_is_kept((int)arguments[0], handler))
        return false;
    if (old)
        memset(old, 0, WORDS * sizeof *old);
    return true;
}

/* Returns true for calls that rights.c handles if they are made by functions of libc. (The kernel
 * applies changes of users to the calling thread alone.) */
static bool needs_one_thread(long number)
{
    return number == SYS_unshare || number == SYS_setns || number == SYS_chroot;
}

/* libc has no function for seccomp: programs and libseccomp use this one. */
EXPORT long syscall(long number, ...)
{
    long arguments[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        arguments[i] = va_arg(list, long);
    va_end(list);
    crn_sample_find_call();
    sigset_t mask, before;
    bool filters = arguments[0] == SECCOMP_SET_MODE_FILTER && arguments[2];
    bool first =
        installs_filter(number, arguments) && before_filter(is_for_all(arguments), filters, &mask);
    if (number == SYS_exit_group)
        _exit((int)arguments[0]); /* which completes the capture */
    if (number == SYS_rt_sigaction && keeps_action(arguments))
        return 0;
    bool paused = needs_one_thread(number) && crn_sample_pause(&before);
    long result = crn_sample_real_call(number, arguments[0], arguments[1], arguments[2],
                                       arguments[3], arguments[4], arguments[5]);
    if (first && result == -1)
        no_filter(&mask);
    crn_sample_go_on(paused, &before);
    return result;
}

/* ---- threads that a filtered thread creates ---- */

typedef struct inheritance {
    void *(*start)(void *data);
    void *data;
} inheritance;

/* Begins a thread that has inherited its creator's filter, and the blocked signal. */
static void *begin_filtered(void *memory)
{
    inheritance its = *(inheritance *)memory;
    free(memory);
    crn_sample_filtered = true;
    return its.start(its.data);
}

EXPORT int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                          void *(*start)(void *), void *restrict data)
{
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    inheritance *its = crn_sample_filtered ? malloc(sizeof *its) : NULL;
    if (!its)
        return real(thread, attributes, start, data);
    *its = (inheritance){start, data};
    int result = real(thread, attributes, begin_filtered, its);
    if (result != 0)
        free(its);
    return result;
}
