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

/* Gives the signal to the program, which wants it for itself, and chooses another one. */
static void give_up(void)
{
    __atomic_store_n(&crn_sample_signal, crn_sample_signal_choose(), __ATOMIC_RELEASE);
    crn_sample_threads_renew();
}

static bool is_own(int number)
{
    return number && number == __atomic_load_n(&crn_sample_signal, __ATOMIC_ACQUIRE);
}

/* Gives the sampler's signal up if the program installs a handler for it. Ignores the call if the
 * program resets the signal to its default or ignores it, as programs do for all signals. */
EXPORT int sigaction(int number, const struct sigaction *restrict new,
                     struct sigaction *restrict old)
{
    if (number == SIGBUS)
        return cairn_priv_bus_action(new, old);
    if (!is_own(number))
        return __sigaction(number, new, old);
    if (new &&new->sa_handler != SIG_DFL &&new->sa_handler != SIG_IGN) {
        give_up();
        __sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        return __sigaction(number, new, old);
    }
    if (old)
        *old = (struct sigaction){.sa_handler = SIG_DFL};
    return 0;
}

EXPORT __sighandler_t signal(int number, __sighandler_t handler)
{
    struct sigaction new = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
    sigaddset(&new.sa_mask, number);
    return sigaction(number, &new, &old) == 0 ? old.sa_handler : SIG_ERR;
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
