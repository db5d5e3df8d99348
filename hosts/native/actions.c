/* SPDX-License-Identifier: MIT
 *
 * Defines sigaction and signal, so that the runtime's handler of SIGBUS stays installed behind the
 * program's. Calls for other signals are forwarded to the next definition. libcairn-gcc also
 * defines sigaction; the symbol cairn_priv_sigaction_forwards tells it that this definition
 * forwards.
 */
#include <dlfcn.h>
#include <signal.h>

#include <cairn/host.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int sigaction(int number, const struct sigaction *restrict action,
                     struct sigaction *restrict before)
{
    static int (*next)(int, const struct sigaction *, struct sigaction *);
    if (number == SIGBUS)
        return cairn_priv_bus_action(action, before);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "sigaction");
    return next(number, action, before);
}

EXPORT int cairn_priv_sigaction_forwards(int number, const struct sigaction *restrict action,
                                         struct sigaction *restrict before)
    __attribute__((nothrow, leaf, alias("sigaction")));

EXPORT __sighandler_t signal(int number, __sighandler_t handler)
{
    static __sighandler_t (*next)(int, __sighandler_t);
    if (number == SIGBUS)
        return cairn_priv_bus_signal(handler, SA_RESTART);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "signal");
    return next(number, handler);
}
