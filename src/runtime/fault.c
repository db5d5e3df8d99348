/* SPDX-License-Identifier: MIT
 *
 * A SIGBUS handler for faults in captures (loss.h). It is installed only where a host defines
 * sigaction, and so can hide the handler from the program. Other faults get the program's own
 * action.
 */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "capture/loss.h"
#include "runtime/process.h"

/* The C library's internal name of sigaction, which hosts do not define. */
extern int __sigaction(int number, const struct sigaction *action, struct sigaction *before);

static bool installed; /* the kernel has on_fault, or the program's SIG_IGN; atomic */
static bool is_asked;  /* a host's sigaction has called cairn_priv_bus_action; atomic */
static struct sigaction actions[2]; /* the program's action, and a place for its next action */
static unsigned current;            /* index of the program's action; atomic */

static const struct sigaction *program_action(void)
{
    return &actions[__atomic_load_n(&current, __ATOMIC_ACQUIRE)];
}

static void keep(const struct sigaction *action)
{
    unsigned next = !__atomic_load_n(&current, __ATOMIC_RELAXED);
    actions[next] = *action;
    __atomic_store_n(&current, next, __ATOMIC_RELEASE);
}

static bool is_function(const struct sigaction *action)
{
    return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

/* ---- faults that are the program's ---- */

/* Ends the process by the default action: after the handler's return a fault happens again; a
 * signal that a process sent (si_code <= 0) is sent again. */
static void end_by_default(int number, const siginfo_t *info)
{
    __sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    if (info->si_code <= 0)
        syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
}

/* Calls the program's handler, with signals blocked as the kernel would. */
static void call_program(const struct sigaction *action, int number, siginfo_t *info, void *context)
{
    sigset_t mask = ((const ucontext_t *)context)->uc_sigmask;
    for (int other = 1; other < NSIG; other++)
        if (sigismember(&action->sa_mask, other) == 1)
            sigaddset(&mask, other);
    if (!(action->sa_flags & SA_NODEFER))
        sigaddset(&mask, number);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    if (action->sa_flags & SA_SIGINFO)
        action->sa_sigaction(number, info, context);
    else
        action->sa_handler(number);
}

/* Leaves a signal that a process sent to the program's own threads: blocks it in this thread, which
 * is the runtime's, and sends it again. So this process becomes its sender. */
static void leave_to_program(int number, const siginfo_t *info, ucontext_t *context)
{
    sigaddset(&context->uc_sigmask, number);
    if (info->si_code == SI_QUEUE)
        sigqueue(getpid(), number, info->si_value);
    else
        kill(getpid(), number);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    if (info->si_code > 0 && cairn_catch_fault(info->si_addr))
        return;
    if (info->si_code <= 0 && crn_own.ours) {
        leave_to_program(number, info, context);
        return;
    }
    struct sigaction action = *program_action();
    if (!is_function(&action)) {
        end_by_default(number, info);
        return;
    }
    if (action.sa_flags & (int)SA_RESETHAND)
        keep(&(struct sigaction){.sa_handler = SIG_DFL});
    call_program(&action, number, info, context);
}

/* ---- actions ---- */

/* Installs on_fault, with the flags for the stack and for restarts of the program's action. While
 * on_fault runs, all signals are blocked: their handlers may have events, whose faults would then
 * end the process. */
static int install(const struct sigaction *program)
{
    int theirs = is_function(program) ? program->sa_flags & (SA_ONSTACK | SA_RESTART) : SA_ONSTACK;
    struct sigaction own = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | theirs};
    sigfillset(&own.sa_mask);
    return __sigaction(SIGBUS, &own, NULL);
}

/* Gives the kernel the action that stands for the program's: on_fault; but SIG_IGN itself, because
 * programs that this program executes inherit that. */
static int set_action(const struct sigaction *program)
{
    return program->sa_handler == SIG_IGN ? __sigaction(SIGBUS, program, NULL) : install(program);
}

bool cairn_catch_fault(const void *address)
{
    return crn_capture_catch(address);
}

/* Sets `now` to the program's action. Returns true if sigaction is a host's, which can hide the
 * handler: such a function calls cairn_priv_bus_action, which sets `is_asked`. */
static bool is_hidden(struct sigaction *now)
{
    return sigaction(SIGBUS, NULL, now) == 0 && __atomic_load_n(&is_asked, __ATOMIC_ACQUIRE);
}

void crn_faults_catch(void)
{
    struct sigaction now;
    if (__atomic_load_n(&installed, __ATOMIC_ACQUIRE) || !is_hidden(&now))
        return;
    keep(&now);
    __atomic_store_n(&installed, set_action(&now) == 0, __ATOMIC_RELEASE);
}

bool cairn_priv_bus_is_caught(void)
{
    return __atomic_load_n(&installed, __ATOMIC_ACQUIRE);
}

int cairn_priv_bus_action(const struct sigaction *action, struct sigaction *before)
{
    __atomic_store_n(&is_asked, true, __ATOMIC_RELEASE);
    if (!__atomic_load_n(&installed, __ATOMIC_ACQUIRE))
        return __sigaction(SIGBUS, action, before);
    struct sigaction had = *program_action();
    int result = 0;
    if (action) {
        struct sigaction next = *action;
        keep(&next);
        result = set_action(&next);
        if (result != 0)
            keep(&had);
    }
    if (result == 0 && before)
        *before = had;
    return result;
}

void (*cairn_priv_bus_signal(void (*handler)(int), int flags))(int)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, before;
    if (handler == SIG_ERR) {
        errno = EINVAL;
        return SIG_ERR;
    }
    if (!(flags & SA_NODEFER))
        sigaddset(&action.sa_mask, SIGBUS);
    return cairn_priv_bus_action(&action, &before) == 0 ? before.sa_handler : SIG_ERR;
}
