/* SPDX-License-Identifier: MIT
 *
 * A flood of signals from another thread, whose handlers call functions. Prints how often each was
 * called. With an argument the handlers jump out.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

#include "noipa.h"

enum { JOBS = 1000000 };

static sigjmp_buf place;
static volatile int jumps, ended;
static volatile long jobs, requests, handled, others;

KEPT int request(int n)
{
    __atomic_fetch_add(&requests, 1, __ATOMIC_RELAXED); /* one handler may interrupt the other */
    return n + 1;
}

KEPT int job(int n)
{
    jobs = jobs + 1;
    return n + 1;
}

KEPT void handle(int number)
{
    handled = handled + 1;
    request(number);
    if (jumps)
        siglongjmp(place, 1);
}

KEPT void handle_other(int number, siginfo_t *info, void *context)
{
    (void)context;
    others = others + (info->si_signo == number && info->si_code == SI_TKILL);
    request(number);
}

KEPT void *send(void *to)
{
    while (!ended) {
        pthread_kill(*(pthread_t *)to, SIGUSR1);
        pthread_kill(*(pthread_t *)to, SIGUSR2);
    }
    return NULL;
}

KEPT void work(void)
{
    while (jobs < JOBS)
        job(1);
}

KEPT void work_with_jumps(void)
{
    sigsetjmp(place, 1);
    jumps = 1;
    work();
    jumps = 0;
}

KEPT int after_flood(int n)
{
    return n;
}

int main(int count, char **words)
{
    (void)words;
    struct sigaction action = {.sa_sigaction = handle_other, .sa_flags = SA_SIGINFO}, before;
    pthread_t sender, self = pthread_self();
    signal(SIGUSR1, handle);
    sigaction(SIGUSR2, &action, NULL);
    pthread_create(&sender, NULL, send, &self);
    if (count > 1)
        work_with_jumps();
    else
        work();
    ended = 1;
    pthread_join(sender, NULL);
    sigaction(SIGUSR2, NULL, &before);
    int same = before.sa_sigaction == handle_other && signal(SIGUSR1, SIG_DFL) == handle;
    printf("%ld %ld %ld %ld %d\n", jobs, requests, handled, others, after_flood(same));
    return 0;
}
