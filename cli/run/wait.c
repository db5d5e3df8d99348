/* SPDX-License-Identifier: MIT
 *
 * Runs a program, waits for its end, and passes on signals. Catches signals that end a command.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run.h"

static const int passed_on[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
enum { PASSED_ON = sizeof passed_on / sizeof *passed_on };

static volatile pid_t program;

/* Passes on a signal that another process sent to this one. The terminal's signals reach all
 * processes in its foreground. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    (void)context;
    int reason = errno;
    if (info->si_code <= 0 && program > 0)
        kill(program, number);
    errno = reason;
}

/* Executes the program in the child, once a byte comes from `go`. If that fails, writes errno to
 * `report`. The child is killed when its parent ends. */
static _Noreturn void become(const crn_run *run, pid_t parent, int report, int go)
{
    char byte;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || read(go, &byte, 1) != 1)
        _exit(127);
    execv(run->path, run->program);
    int reason = errno;
    if (write(report, &reason, sizeof reason) < 0)
        _exit(127);
    _exit(127);
}

int crn_run_wait(const crn_run *run, const crn_run_watch *watch, int *status)
{
    struct sigaction action = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigaction before[PASSED_ON];
    sigset_t all, mask;
    int ends[2], go[2], reason = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    if (pipe2(go, O_CLOEXEC) != 0) {
        reason = errno;
        close(ends[0]);
        close(ends[1]);
        return reason;
    }
    pid_t self = getpid();
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &mask); /* until `program` is set */
    for (int i = 0; i < PASSED_ON; i++) {
        sigaction(passed_on[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) /* ignored signals stay ignored, as under nohup */
            sigaction(passed_on[i], &action, NULL);
    }
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < PASSED_ON; i++)
            sigaction(passed_on[i], &before[i], NULL);
        sigprocmask(SIG_SETMASK, &mask, NULL);
        close(go[1]);
        become(run, self, ends[1], go[0]);
    }
    reason = child < 0 ? errno : 0;
    program = child;
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(ends[1]);
    bool watched = child > 0 && (!watch || watch->begin(watch->data, child));
    if (watched && write(go[1], "", 1) != 1)
        reason = errno;
    close(go[0]); /* only now: if the child is gone, the write would raise SIGPIPE */
    close(go[1]); /* without a byte from it, the child exits */
    int failed;   /* errno of execv */
    if (child > 0 && read(ends[0], &failed, sizeof failed) == (ssize_t)sizeof failed)
        reason = failed;
    close(ends[0]);
    while (child > 0 && waitpid(child, status, 0) < 0 && errno == EINTR) {
    }
    if (watched && watch)
        watch->end(watch->data);
    program = 0;
    for (int i = 0; i < PASSED_ON; i++)
        sigaction(passed_on[i], &before[i], NULL);
    return child > 0 && !watched ? -1 : reason;
}

/* ---- the end of a command ---- */

static const int end_signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { END_SIGNALS = sizeof end_signals / sizeof *end_signals };

void crn_run_catch_end(void (*handler)(int number), crn_run_end_signals *before)
{
    struct sigaction action = {.sa_handler = handler};
    for (int i = 0; i < END_SIGNALS; i++)
        sigaction(end_signals[i], &action, &before->actions[i]);
}

void crn_run_catch_no_end(const crn_run_end_signals *before)
{
    for (int i = 0; i < END_SIGNALS; i++)
        sigaction(end_signals[i], &before->actions[i], NULL);
}
