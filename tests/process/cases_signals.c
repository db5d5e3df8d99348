/* SPDX-License-Identifier: MIT
 *
 * cases_signals.c - the program's own signals are not affected.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "program.h"

static volatile sig_atomic_t handled;

static void count(int signal)
{
    (void)signal;
    handled = handled + 1;
}

static void handle(int signal, void (*handler)(int), int flags)
{
    sigaction(signal, &(const struct sigaction){.sa_handler = handler, .sa_flags = flags}, NULL);
}

static void every(__itimer_which_t which, long microseconds)
{
    setitimer(which,
              &(const struct itimerval){.it_interval.tv_usec = microseconds,
                                        .it_value.tv_usec = microseconds},
              NULL);
}

static void work_until_handled(int times)
{
    while (handled < times)
        work(10);
}

CASE(own_profiling_timer, 0)
{
    handle(SIGPROF, count, SA_RESTART);
    every(ITIMER_PROF, 4000);
    report();
    work_until_handled(5);
    every(ITIMER_PROF, 0);
    checked();
}

CASE(own_virtual_timer, 0)
{
    handle(SIGVTALRM, count, 0);
    every(ITIMER_VIRTUAL, 4000);
    report();
    work_until_handled(5);
    every(ITIMER_VIRTUAL, 0);
    checked();
}

CASE(own_signals_at_10_khz, 0)
{
    handle(SIGALRM, count, SA_RESTART);
    every(ITIMER_REAL, 100);
    grow(0, MANY_COUNT);
    work_until_handled(200);
    every(ITIMER_REAL, 0);
    checked();
}

CASE(own_thread_timer, 0)
{
    timer_t timer;
    handle(SIGRTMIN + 3, count, 0);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 3};
    must(timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) == 0, "timer_create");
    const struct itimerspec period = {{0, 4000000}, {0, 4000000}};
    timer_settime(timer, 0, &period, NULL);
    work_until_handled(5);
    timer_delete(timer);
    checked();
}

CASE(all_signals_blocked, LATE)
{
    sigset_t all, waiting;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    begin();
    every(ITIMER_REAL, 1000);
    for (sigemptyset(&waiting); !sigismember(&waiting, SIGALRM); sigpending(&waiting))
        work(100);
    every(ITIMER_REAL, 0);
    raise(SIGUSR1);
    report();
    sigemptyset(&all);
    sigaddset(&all, SIGUSR1);
    sigaddset(&all, SIGALRM);
    printf("%d then %d then %d\n", sigtimedwait(&all, NULL, &(const struct timespec){0, 0}),
           sigtimedwait(&all, NULL, &(const struct timespec){0, 0}),
           sigtimedwait(&all, NULL, &(const struct timespec){0, 0}));
    checked();
}

static void block_one(void)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    sigprocmask(SIG_BLOCK, &one, NULL);
}

/* A signal to the process is delivered to any thread that does not block it. Delivered to Cairn's
 * thread it would end the program. */
static void wait_for_one(void)
{
    sigset_t one;
    int right = 0;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    for (int i = 0; i < 20; i++) {
        work(10);
        kill(getpid(), SIGUSR1);
        siginfo_t info;
        right += sigwaitinfo(&one, &info) == SIGUSR1 && info.si_pid == getpid();
    }
    printf("%d\n", right);
    checked();
}

CASE(waits_for_signals_that_it_blocked_before, LATE)
{
    block_one();
    begin();
    wait_for_one();
}

CASE(waits_for_signals_that_it_blocks_later, 0)
{
    block_one();
    wait_for_one();
}

static pthread_t main_thread;
static volatile sig_atomic_t elsewhere;

static void note_thread(int signal)
{
    count(signal);
    elsewhere = elsewhere + !pthread_equal(pthread_self(), main_thread);
}

CASE(signals_reach_the_main_thread, 0)
{
    main_thread = pthread_self();
    handle(SIGUSR2, note_thread, 0);
    for (int i = 0; i < 20; i++) {
        kill(getpid(), SIGUSR2);
        work(10);
    }
    printf("%d handled, %d elsewhere\n", (int)handled, (int)elsewhere);
    checked();
}

static char alternate[1 << 16];
static volatile sig_atomic_t on_alternate;

static void look_where(int signal)
{
    volatile char here = 0;
    count(signal);
    on_alternate = on_alternate + (&here >= alternate && &here < alternate + sizeof alternate);
}

CASE(alternate_stack, 0)
{
    sigaltstack(&(const stack_t){.ss_sp = alternate, .ss_size = sizeof alternate}, NULL);
    handle(SIGALRM, look_where, SA_ONSTACK);
    report();
    every(ITIMER_REAL, 1000);
    work_until_handled(10);
    every(ITIMER_REAL, 0);
    printf("%s\n", on_alternate == handled ? "all on it" : "not all on it");
    checked();
}

static sigjmp_buf back;

static void jump(int signal)
{
    (void)signal;
    siglongjmp(back, 1);
}

/* Jumps out of the program's own loop, outside all calls; the strand's mark gives the height to
 * unwind to. */
CASE(jumps_out_of_a_handler, 0)
{
    volatile int jumps = 0;
    handle(SIGALRM, jump, 0);
    cairn_mark mark = cairn_strand_mark(strand);
    while (jumps < 20) {
        if (sigsetjmp(back, 1) == 0) {
            enter(WORK);
            enter(WORK_INNER);
            setitimer(ITIMER_REAL, &(const struct itimerval){.it_value.tv_usec = 500}, NULL);
            for (;;)
                ;
        }
        jumps = jumps + 1;
        cairn_strand_unwind(strand, mark);
        work(10);
    }
    printf("%d jumps\n", jumps);
    checked();
}

CASE(ignored_signals, LATE)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    begin();
    int ends[2];
    must(pipe(ends) == 0, "pipe");
    close(ends[0]);
    errno = 0;
    ssize_t wrote = write(ends[1], "x", 1);
    printf("%zd %s\n", wrote, strerror(errno));
    close(ends[1]);
    raise(SIGHUP);
    work(1000);
    checked();
}

CASE(broken_pipe, 0)
{
    int ends[2];
    must(pipe(ends) == 0, "pipe");
    close(ends[0]);
    work(1000);
    checked();
    must(write(ends[1], "x", 1) == 1, "write");
}

/* The signals are sent repeatedly, because one alone may come too early. */
CASE(own_signals_interrupt, 0)
{
    int ends[2], interrupted = 0;
    char byte;
    must(pipe(ends) == 0, "pipe");
    handle(SIGALRM, count, 0);
    for (int i = 0; i < 10; i++) {
        work(50);
        every(ITIMER_REAL, 3000);
        interrupted +=
            i % 2 ? pause() < 0 && errno == EINTR : read(ends[0], &byte, 1) < 0 && errno == EINTR;
        every(ITIMER_REAL, 0);
    }
    printf("%d interrupted\n", interrupted);
    close(ends[0]);
    close(ends[1]);
    checked();
}
