/* SPDX-License-Identifier: MIT
 *
 * Hides the timers' signal from the program: interposes functions that set its action (masks.c:
 * that block it or wait for it). The runtime's handler of SIGBUS stays installed behind the
 * program's.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>

#include <cairn/host.h>

#include "sample.h"

extern int __sigaction(int number, const struct sigaction *new, struct sigaction *old);

int crn_sample_signal_choose(void)
{
    int own = __atomic_load_n(&crn_sample_signal, __ATOMIC_ACQUIRE);
    for (int number = SIGRTMAX - 3; number > SIGRTMIN; number--) {
        struct sigaction action;
        if (number != own && !crn_sample_signal_is_named(number) &&
            __sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_DFL &&
            crn_sample_handle(number))
            return number;
    }
    return 0;
}

static bool is_own(int number)
{
    return number && number == __atomic_load_n(&crn_sample_signal, __ATOMIC_ACQUIRE);
}

bool crn_sample_signal_is_kept(int number, __sighandler_t handler)
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
    bool kept = crn_sample_signal_is_kept(number, new ? new->sa_handler : SIG_DFL);
    int result = kept ? 0 : __sigaction(number, new, old);
    if (old && (kept || (result == 0 && crn_sample_handles(old))))
        *old = (struct sigaction){.sa_handler = SIG_DFL};
    return result;
}

/* ---- the older functions that set an action; each has several names in libc ---- */

typedef __sighandler_t setter(int number, __sighandler_t handler);

/* Sets an action by the libc function of that name; that of SIGBUS with `flags`. */
static __sighandler_t set(const char *name, setter **real, int flags, int number,
                          __sighandler_t handler)
{
    struct sigaction new = {.sa_handler = handler, .sa_flags = flags}, old;
    if (crn_sample_signal_is_kept(number, handler))
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
    int saved = errno;
    signal(SIGKILL, SIG_DFL); /* has no effect */
    errno = saved;
}
