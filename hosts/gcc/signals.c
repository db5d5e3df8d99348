/* SPDX-License-Identifier: MIT
 *
 * Defers signals that arrive while the strand is *held*: while the runtime works on it (hold.c).
 *
 * A handler that ran then could not record its calls, and one that jumps would leave locks held.
 * Blocking signals would cost two system calls each time the strand is held. So this file
 * interposes the functions that install handlers, and the kernel calls `deliver` in place of the
 * program's handler. `deliver` calls that handler at once unless the strand is held. If it is,
 * `deliver` queues the signal again, and the interrupted code continues with signals blocked. When
 * the strand is released they are unblocked, and the kernel delivers the signal.
 *
 * Handlers of synchronous signals are installed as they are: those signals cannot wait. The runtime
 * calls the handler of SIGBUS, if the fault is not in the capture.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cairn/host.h>

#include "interpose.h"
#include "runtime.h"

__thread crn_held crn_site_held;

typedef void take_signal(int number, siginfo_t *info, void *context);
typedef int action_function(int number, const struct sigaction *action, struct sigaction *before);
typedef __sighandler_t handler_function(int number, __sighandler_t handler);

enum { SIGNALS = 65 };

/* The program's handler of each signal, and flags of its action; atomic. A handler stays here when
 * the program installs SIG_DFL or SIG_IGN, because a `deliver` that has begun in another thread
 * still calls it. */
static uintptr_t handlers[SIGNALS];

#define WITH_INFO ((uintptr_t)1 << 63) /* SA_SIGINFO */
#define ONCE ((uintptr_t)1 << 62)      /* SA_RESETHAND */

static struct sigaction actions_once[SIGNALS]; /* by signal: the action, if it has SA_RESETHAND */

static uintptr_t load(int number)
{
    return __atomic_load_n(&handlers[number], __ATOMIC_RELAXED);
}

static void store(int number, uintptr_t handler)
{
    __atomic_store_n(&handlers[number], handler, __ATOMIC_RELAXED);
}

static take_signal *function_of(uintptr_t handler)
{
    handler &= ~(WITH_INFO | ONCE);
    take_signal *function;
    memcpy(&function, &handler, sizeof function);
    return function;
}

/* ---- the C library's functions ---- */

#ifdef CRN_STATIC

extern action_function __real_sigaction;
extern handler_function __real_signal, __real_bsd_signal, __real_ssignal, __real_sigset;

#endif

static int real_sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    CRN_REAL(action_function, sigaction);
    return real(number, action, before);
}

/* ---- delivery ---- */

/* Installs a handler with SA_RESETHAND again, because the kernel has set the action to SIG_DFL
 * before it called `deliver`. */
static void install_again(int number)
{
    struct sigaction now;
    if (real_sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
        real_sigaction(number, &actions_once[number], NULL);
}

static bool queue(int number, siginfo_t *info, bool with_info)
{
    pid_t process = getpid(), thread = gettid();
    if (with_info)
        return syscall(SYS_rt_tgsigqueueinfo, process, thread, number, info) == 0;
    return syscall(SYS_tgkill, process, thread, number) == 0;
}

/* Queues the signal again, and lets the interrupted code continue with signals blocked. If handlers
 * are nested, the outermost gets here last, so the mask that it interrupted is the one to be
 * restored. Returns false if the kernel's queue is full. */
static bool defer(int number, siginfo_t *info, ucontext_t *context, uintptr_t handler)
{
    uint64_t mine, interrupted;
    crn_site_block_signals(&mine);
    if (handler & ONCE)
        install_again(number);
    if (!queue(number, info, handler & WITH_INFO)) {
        crn_site_restore_signals(mine);
        return false;
    }
    memcpy(&interrupted, &context->uc_sigmask, sizeof interrupted);
    crn_site_held.before = interrupted;
    crn_site_held.blocked = true;
    interrupted |= CRN_SITE_DEFERRABLE;
    memcpy(&context->uc_sigmask, &interrupted, sizeof interrupted);
    return true;
}

/* The handler that the kernel calls. */
static void deliver(int number, siginfo_t *info, void *context)
{
    uintptr_t handler = load(number);
    if (crn_site_held.busy) {
        int saved = errno;
        bool deferred = defer(number, info, context, handler);
        errno = saved;
        if (deferred)
            return;
    }
    function_of(handler)(number, info, context);
}

/* ---- an action of Cairn's own ---- */

static struct {
    int number; /* 0: none */
    struct sigaction action;
    uint32_t *replaced;
} ours;

void crn_site_install(int number, const struct sigaction *action, uint32_t *replaced)
{
    struct sigaction before = {.sa_handler = SIG_DFL};
    real_sigaction(number, NULL, &before);
    bool is_free = before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN;
    if (!is_free || real_sigaction(number, action, NULL) != 0) {
        *replaced = 1;
        return;
    }
    ours.action = *action;
    ours.replaced = replaced;
    ours.number = number;
}

/* If Cairn has an action for the signal: puts SIG_DFL in place of that action in `before`, which
 * the program gets; NULL: it wants none. `replaces`: the program has installed its own action. */
static void hide(int number, struct sigaction *before, bool replaces)
{
    if (number != ours.number)
        return;
    if (before && before->sa_handler == ours.action.sa_handler)
        *before = (struct sigaction){.sa_handler = SIG_DFL};
    if (replaces)
        __atomic_store_n(ours.replaced, 1, __ATOMIC_RELEASE);
}

/* ---- installation ---- */

action_function CRN_INTERPOSED(sigaction);
handler_function CRN_INTERPOSED(signal), CRN_INTERPOSED(bsd_signal), CRN_INTERPOSED(ssignal),
    CRN_INTERPOSED(sigset), CRN_INTERPOSED(sysv_signal), CRN_INTERPOSED(__sysv_signal);

static bool is_deferrable(int number)
{
    return number > 0 && number < SIGNALS && CRN_SITE_DEFERRABLE >> (number - 1) & 1;
}

static __sighandler_t as_handler(take_signal *function)
{
    __sighandler_t handler;
    memcpy(&handler, &function, sizeof handler);
    return handler;
}

/* Returns true for handlers of the program; false for `deliver`, SIG_DFL, SIG_IGN, SIG_HOLD and
 * SIG_ERR. */
static bool is_function(__sighandler_t handler)
{
    return (uintptr_t)handler + 1 > (uintptr_t)SIG_HOLD + 1 && handler != as_handler(deliver);
}

CRN_EXPORTED int CRN_INTERPOSED(sigaction)(int number, const struct sigaction *action,
                                           struct sigaction *before)
{
    if (number == SIGBUS)
        return cairn_priv_bus_action(action, before);
    if (!is_deferrable(number))
        return real_sigaction(number, action, before);
    uintptr_t had = load(number);
    struct sigaction own;
    bool wrap = action && is_function(action->sa_handler);
    if (wrap) {
        own = *action;
        own.sa_sigaction = deliver;
        if (own.sa_flags & SA_RESETHAND)
            actions_once[number] = own;
        store(number, (uintptr_t)action->sa_handler | (own.sa_flags & SA_SIGINFO ? WITH_INFO : 0) |
                          (own.sa_flags & SA_RESETHAND ? ONCE : 0));
    }
    int result = real_sigaction(number, wrap ? &own : action, before);
    if (result != 0 && wrap)
        store(number, had);
    if (result == 0)
        hide(number, before, action);
    if (result == 0 && before && before->sa_sigaction == deliver)
        before->sa_sigaction = function_of(had);
    return result;
}

static __sighandler_t install(handler_function *real, int number, __sighandler_t handler)
{
    if (number == SIGBUS && handler != SIG_HOLD)
        return cairn_priv_bus_signal(handler, SA_RESTART);
    if (!is_deferrable(number))
        return real(number, handler);
    uintptr_t had = load(number);
    bool wrap = is_function(handler);
    if (wrap)
        store(number, (uintptr_t)handler);
    __sighandler_t before = real(number, wrap ? as_handler(deliver) : handler);
    if (before == SIG_ERR && wrap)
        store(number, had);
    struct sigaction shown = {.sa_handler = before};
    hide(number, &shown, before != SIG_ERR);
    before = shown.sa_handler;
    return before == as_handler(deliver) ? as_handler(function_of(had)) : before;
}

#define INSTALLER(name)                                                                            \
    CRN_EXPORTED __sighandler_t CRN_INTERPOSED(name)(int number, __sighandler_t handler)           \
    {                                                                                              \
        CRN_REAL(handler_function, name);                                                          \
        return install(real, number, handler);                                                     \
    }

INSTALLER(signal)
INSTALLER(bsd_signal)
INSTALLER(ssignal)
INSTALLER(sigset)

/* Installs a handler as System V's signal does. Programs compiled with -std=c11, for example, call
 * that. */
static __sighandler_t install_once(int number, __sighandler_t handler)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = (int)SA_RESETHAND | SA_NODEFER};
    struct sigaction before;
    if (handler == SIG_ERR) {
        errno = EINVAL;
        return SIG_ERR;
    }
    return CRN_INTERPOSED(sigaction)(number, &action, &before) == 0 ? before.sa_handler : SIG_ERR;
}

CRN_EXPORTED __sighandler_t CRN_INTERPOSED(sysv_signal)(int number, __sighandler_t handler)
{
    return install_once(number, handler);
}

CRN_EXPORTED __sighandler_t CRN_INTERPOSED(__sysv_signal)(int number, __sighandler_t handler)
{
    return install_once(number, handler);
}

#ifdef CRN_STATIC

bool crn_site_defers_signals(void)
{
    return true;
}

#else

extern action_function crn_own_sigaction
    __attribute__((alias("sigaction"), CRN_COPY_ATTRIBUTES(sigaction) visibility("hidden")));

bool crn_site_defers_signals(void)
{
    void *found = dlsym(RTLD_DEFAULT, "sigaction");
    action_function *used;
    memcpy(&used, &found, sizeof used);
    return used == crn_own_sigaction ||
           found == dlsym(RTLD_DEFAULT, "cairn_priv_sigaction_forwards");
}

#endif
