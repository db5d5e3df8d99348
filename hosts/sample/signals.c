/* SPDX-License-Identifier: MIT
 *
 * Hides the timers' signal from the program: interposes functions that set its action or wait for
 * it. The runtime's handler of SIGBUS stays installed behind the program's.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>

#include <cairn/host.h>

#include "sample.h"

#define EXPORT __attribute__((visibility("default")))

extern int __sigaction(int number, const struct sigaction *new, struct sigaction *old);

int crn_sample_signal_choose(void)
{
    int own = __atomic_load_n(&crn_sample_signal, __ATOMIC_ACQUIRE);
    for (int number = SIGRTMAX - 3; number > SIGRTMIN; number--) {
        struct sigaction action;
        if (number != own && __sigaction(number, NULL, &action) == 0 &&
            action.sa_handler == SIG_DFL && crn_sample_handle(number))
            return number;
    }
    return 0;
}

static bool is_own(int number)
{
    return number && number == __atomic_load_n(&crn_sample_signal, __ATOMIC_ACQUIRE);
}

/* Called when the program sets the action of a signal. Gives the sampler's signal up if the program
 * installs a handler for it. Returns true if the call is to be ignored: the program resets,
 * ignores or holds the sampler's signal, as programs do with all signals. */
static bool is_kept(int number, __sighandler_t handler)
{
    if (!is_own(number))
        return false;
    if (handler == SIG_DFL || handler == SIG_IGN || handler == SIG_HOLD)
        return true;
    crn_sample_signal_change(crn_sample_signal_choose());
    __sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    return false;
}

EXPORT int sigaction(int number, const struct sigaction *restrict new,
                     struct sigaction *restrict old)
{
    if (number == SIGBUS)
        return cairn_priv_bus_action(new, old);
    if (!is_kept(number, new ? new->sa_handler : SIG_DFL))
        return __sigaction(number, new, old);
    if (old)
        *old = (struct sigaction){.sa_handler = SIG_DFL};
    return 0;
}

/* ---- the older functions that set an action; each has several names in libc ---- */

typedef __sighandler_t setter(int number, __sighandler_t handler);

/* Sets an action by the libc function of that name; that of SIGBUS with `flags`. */
static __sighandler_t set(const char *name, setter **real, int flags, int number,
                          __sighandler_t handler)
{
    struct sigaction new = {.sa_handler = handler, .sa_flags = flags}, old;
    if (is_kept(number, handler))
        return SIG_DFL;
    if (number == SIGBUS && handler != SIG_HOLD)
        return cairn_priv_bus_action(&new, &old) == 0 ? old.sa_handler : SIG_ERR;
    if (!*real)
        *(void **)real = dlsym(RTLD_NEXT, name);
    return (*real)(number, handler);
}

#define SETTER(name, flags)                                                                        \
    EXPORT __sighandler_t name(int number, __sighandler_t handler);                                \
    EXPORT __sighandler_t name(int number, __sighandler_t handler)                                 \
    {                                                                                              \
        static setter *real;                                                                       \
        return set(#name, &real, flags, number, handler);                                          \
    }

SETTER(signal, SA_RESTART)
SETTER(bsd_signal, SA_RESTART)
SETTER(ssignal, SA_RESTART)
SETTER(__sysv_signal, (int)(SA_RESETHAND | SA_NODEFER)) /* `signal` in strictly standard C */
SETTER(sysv_signal, (int)(SA_RESETHAND | SA_NODEFER))
SETTER(sigset, 0)

EXPORT int sigignore(int number)
{
    return sigaction(number, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
}

EXPORT int siginterrupt(int number, int interrupts)
{
    static int (*real)(int, int);
    if (is_own(number))
        return 0;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "siginterrupt");
    return real(number, interrupts);
}

/* Finds `signal` early, as a signal handler may call it. */
__attribute__((constructor)) static void find_signal(void)
{
    signal(SIGKILL, SIG_DFL); /* has no effect */
}

/* ---- waiting for sets of signals ---- */

static sigset_t without_own(const sigset_t *set)
{
    sigset_t without = *set;
    int own = __atomic_load_n(&crn_sample_signal, __ATOMIC_ACQUIRE);
    if (own)
        sigdelset(&without, own);
    return without;
}

EXPORT int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info,
                        const struct timespec *restrict timeout)
{
    static int (*real)(const sigset_t *, siginfo_t *, const struct timespec *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "sigtimedwait");
    sigset_t without = without_own(set);
    return real(&without, info, timeout);
}

EXPORT int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info)
{
    static int (*real)(const sigset_t *, siginfo_t *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "sigwaitinfo");
    sigset_t without = without_own(set);
    return real(&without, info);
}

EXPORT int sigwait(const sigset_t *restrict set, int *restrict number)
{
    static int (*real)(const sigset_t *, int *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "sigwait");
    sigset_t without = without_own(set);
    return real(&without, number);
}

EXPORT int signalfd(int file, const sigset_t *set, int flags)
{
    static int (*real)(int, const sigset_t *, int);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "signalfd");
    sigset_t without = without_own(set);
    return real(file, &without, flags);
}
