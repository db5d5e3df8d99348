/* SPDX-License-Identifier: MIT
 *
 * cases_death.c - the ways in which a program ends.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "program.h"

static void descend(unsigned depth)
{
    enter(DEEP);
    if (depth > 0)
        descend(depth - 1);
    else
        checked();
}

CASE(returns_from_main, 0)
{
    work(2000);
    checked();
}

CASE(exits_deep_inside, 0)
{
    work(1000);
    descend(1000);
    exit(3);
}

CASE(exits_at_once, 0)
{
    work(1000);
    descend(1000);
    _exit(4);
}

CASE(quick_exit_deep_inside, 0)
{
    work(1000);
    descend(10);
    quick_exit(5);
}

static void work_at_exit(void)
{
    cairn_strand_unwind(strand, 0);
    work(1000);
    enter(LAST);
    printf("at exit\n");
    checked();
}

CASE(works_in_an_exit_handler, 0)
{
    atexit(work_at_exit);
    work(100);
    descend(10);
    exit(6);
}

static void close_at_exit(void)
{
    cairn_strand_unwind(strand, 0);
    work(100);
    end();
    checked();
    report();
}

CASE(closes_in_an_exit_handler, 0)
{
    atexit(close_at_exit);
    work(100);
    descend(10);
    exit(7);
}

static void *exit_meanwhile(void *data)
{
    begin_thread();
    work(1000);
    checked();
    exit(*(int *)data);
}

CASE(exits_from_another_thread, 0)
{
    pthread_t thread;
    int status = 8;
    enter(LAST);
    pthread_create(&thread, NULL, exit_meanwhile, &status);
    for (;;)
        pause();
}

CASE(aborts, 0)
{
    work(1000);
    descend(100);
    abort();
}

CASE(segmentation_fault, 0)
{
    work(1000);
    descend(100);
    raise(SIGSEGV);
}

/* A real fault, not a signal that was sent. */
CASE(writes_where_nothing_is, 0)
{
    volatile char *guarded = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    work(1000);
    descend(100);
    *guarded = 1;
}

CASE(bus_error, 0)
{
    FILE *file = tmpfile();
    volatile char *gone = mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fileno(file), 0);
    work(1000);
    checked();
    *gone = 1;
}

CASE(illegal_instruction, 0)
{
    work(1000);
    checked();
    __builtin_trap();
}

CASE(kills_itself, 0)
{
    work(1000);
    descend(100);
    kill(getpid(), SIGKILL);
}

CASE(terminates_itself, 0)
{
    work(1000);
    descend(100);
    raise(SIGTERM);
}

static void signal_parent_soon(int signal)
{
    pid_t parent = getpid();
    if (fork() == 0) {
        while (!own->checked)
            usleep(1000);
        usleep(20000);
        kill(parent, signal);
        _exit(0);
    }
}

CASE(is_killed, LATE | ONE_UNDER_WAY)
{
    begin();
    signal_parent_soon(SIGKILL);
    checked();
    for (;;)
        work(1);
}

CASE(is_interrupted, LATE | ONE_UNDER_WAY)
{
    signal(SIGINT, SIG_DFL); /* a shell's background job inherits that it is ignored */
    begin();
    signal_parent_soon(SIGINT);
    checked();
    for (;;)
        work(1);
}

CASE(is_killed_while_its_capture_grows, LATE | ONE_UNDER_WAY)
{
    begin();
    signal_parent_soon(SIGKILL);
    checked();
    for (unsigned i = 0; i < MANY_COUNT; i++)
        grow(i, 1);
    for (;;)
        work(1);
}

CASE(stops_and_goes_on, 0)
{
    pid_t parent = getpid();
    work(1000);
    pid_t child = fork();
    if (child == 0) {
        while (!own->finished) {
            usleep(3000);
            kill(parent, SIGCONT);
        }
        _exit(0);
    }
    raise(SIGSTOP);
    own->finished = 1;
    work(1000);
    await(child, "child");
    checked();
}

/* ---- the stack overflows ---- */

/* Frames are large, so that nothing else matters for the overflow. */
__attribute__((noinline)) static int overflow(volatile char *above)
{
    volatile char frame[4096];
    frame[0] = *above;
    enter(DEEP);
    return frame[0] ? 0 : overflow(frame) + frame[1];
}

static void small_stack(void)
{
    setrlimit(RLIMIT_STACK, &(const struct rlimit){1 << 20, RLIM_INFINITY});
}

CASE(stack_overflow, ONE_UNDER_WAY)
{
    char begin = 0;
    small_stack();
    work(1000);
    checked();
    overflow(&begin);
}

static void on_overflow(int signal, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    static const char text[] = "caught\n";
    if (write(1, text, sizeof text - 1) < 0)
        _exit(9);
    _exit(signal);
}

CASE(stack_overflow_that_is_caught, ONE_UNDER_WAY)
{
    static char memory[1 << 16];
    char begin = 0;
    small_stack();
    sigaltstack(&(const stack_t){.ss_sp = memory, .ss_size = sizeof memory}, NULL);
    struct sigaction action = {.sa_sigaction = on_overflow, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGSEGV, &action, NULL);
    report();
    work(1000);
    checked();
    overflow(&begin);
}
