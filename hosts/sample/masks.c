/* SPDX-License-Identifier: MIT
 *
 * Functions with sets of signals: those that block signals, and those that wait for blocked ones.
 * Threads that block all signals do not block the timers' signal. If they did, their samples would
 * come when they unblock it: all at one place, and in `ppoll` or `sigsuspend`, which then end.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>

#include "sample.h"

/* Defines `real` as a pointer to libc's function of that name. */
#define FIND_REAL(name)                                                                            \
    static __typeof__(name) *real;                                                                 \
    if (!real)                                                                                     \
    *(void **)&real = dlsym(RTLD_NEXT, #name)

enum { NAMED_MOST = 8 }; /* real-time signals in a set that names them, rather than all signals */

/* Called with each set that the program blocks or waits for. Real-time signals in a set of a few
 * are the program's own: if the sampler has taken one of them, it takes another. The handler stays,
 * as a thread may just be about to run it. */
static void find_named(const sigset_t *set)
{
    uint64_t found = 0;
    if (crn_sample_filtered) /* its filter may forbid what follows */
        return;
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        found |= (uint64_t)(sigismember(set, number) == 1) << (number - 1);
    if (!found || __builtin_popcountll(found) > NAMED_MOST)
        return;
    __atomic_or_fetch(&crn_sample_named, found, __ATOMIC_RELAXED);
    int own = __atomic_load_n(&crn_sample_signal, __ATOMIC_ACQUIRE);
    if (!own || !crn_sample_signal_is_named(own))
        return;
    crn_sample_signal_change(crn_sample_signal_choose());
    crn_sample_signal_block(SIG_UNBLOCK, NULL);
}

static sigset_t without_own(const sigset_t *set)
{
    find_named(set);
    sigset_t without = *set;
    int own = __atomic_load_n(&crn_sample_signal, __ATOMIC_ACQUIRE);
    if (own)
        sigdelset(&without, own);
    return without;
}

/* As without_own, for functions that report a missing set (NULL). */
static const sigset_t *set_without_own(const sigset_t *set, sigset_t *without)
{
    const sigset_t *volatile given = set; /* libc declares that it is never NULL */
    if (!given)
        return NULL;
    *without = without_own(set);
    return without;
}

/* ---- blocking ---- */

/* Returns the set that is to be blocked or unblocked in place of the program's. Threads with a
 * filter (seccomp) have the timers' signal blocked: see filter.c. */
static sigset_t set_for(int how, const sigset_t *set)
{
    sigset_t changed = without_own(set);
    int own = __atomic_load_n(&crn_sample_signal, __ATOMIC_ACQUIRE);
    if (own && crn_sample_filtered && how == SIG_SETMASK)
        sigaddset(&changed, own);
    return changed;
}

EXPORT int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    if (!set)
        return crn_sample_mask(how, set, old);
    sigset_t changed = set_for(how, set);
    return crn_sample_mask(how, &changed, old);
}

EXPORT int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    int error = pthread_sigmask(how, set, old);
    if (error)
        errno = error;
    return error ? -1 : 0;
}

void crn_sample_signal_block(int how, sigset_t *before)
{
    sigset_t own;
    int number = __atomic_load_n(&crn_sample_signal, __ATOMIC_ACQUIRE);
    sigemptyset(&own);
    if (number)
        sigaddset(&own, number);
    crn_sample_mask(how, &own, before);
}

/* Finds libc's function early, as a signal handler may call it. */
__attribute__((constructor)) static void find_early(void)
{
    int saved = errno;
    crn_sample_mask(SIG_BLOCK, NULL, NULL);
    errno = saved;
}

/* ---- waiting ---- */

EXPORT int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info,
                        const struct timespec *restrict timeout)
{
    FIND_REAL(sigtimedwait);
    sigset_t without;
    return real(set_without_own(set, &without), info, timeout);
}

EXPORT int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info)
{
    FIND_REAL(sigwaitinfo);
    sigset_t without;
    return real(set_without_own(set, &without), info);
}

EXPORT int sigwait(const sigset_t *restrict set, int *restrict number)
{
    FIND_REAL(sigwait);
    sigset_t without;
    return real(set_without_own(set, &without), number);
}

EXPORT int signalfd(int file, const sigset_t *set, int flags)
{
    FIND_REAL(signalfd);
    sigset_t without;
    return real(file, set_without_own(set, &without), flags);
}
