/* SPDX-License-Identifier: MIT
 *
 * cases_cut.c - somebody cuts the capture while it is written, or writes over it; and SIGBUS of the
 * program's own, which is what a cut file comes as.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

enum { PAGE = 4096, THREADS = 4, ROUNDS = 200 };

/* ---- the capture ---- */

/* With a profile: how long its file is. */
static off_t size_of_capture(void)
{
    struct stat status = {0};
    must(!profile || stat(capture_path, &status) == 0, "stat");
    return status.st_size;
}

static void cut(off_t size)
{
    must(!profile || truncate(capture_path, size) == 0, "truncate");
}

/* It goes on, with contexts that are there and new ones, and knows what has happened. */
static void go_on(void)
{
    work(ROUNDS);
    grow(1000, MANY_COUNT - 1000);
    work(ROUNDS);
    printf("goes on\n");
    must(!profile || cairn_profile_status(profile) == CAIRN_E_CUT, "its status says nothing");
    checked();
}

CASE(capture_is_cut_to_nothing, NO_CAPTURE)
{
    work(ROUNDS);
    grow(0, 1000);
    cut(0);
    go_on();
}

CASE(capture_is_cut_in_the_middle, NO_CAPTURE)
{
    work(ROUNDS);
    grow(0, 1000);
    cut(size_of_capture() / 2);
    go_on();
}

/* Wherever it is: from the header alone to all but a page. Each time in a process of its own. */
CASE(capture_is_cut_anywhere, LATE | NO_CAPTURE | NO_SANITIZER)
{
    off_t most = PAGE;
    for (off_t size = 0; size < most; size += 3 * (off_t)PAGE + 1) {
        pid_t child = fork();
        must(child >= 0, "fork");
        if (child == 0) {
            alarm(120);
            begin();
            work(10);
            grow(0, 500);
            if (size == 0 && profile) /* the parent is told how far to go */
                own->finished = (uint64_t)size_of_capture();
            cut(size);
            work(10);
            grow(500, 500);
            end();
            _exit(0);
        }
        int status;
        must(waitpid(child, &status, 0) == child, "waitpid");
        if (status)
            printf("cut to %lld: status %x\n", (long long)size, (unsigned)status);
        most = (off_t)own->finished;
    }
    checked();
}

static void write_over(void)
{
    static char bytes[PAGE];
    memset(bytes, 'x', sizeof bytes);
    int file = open(capture_path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    must(file >= 0, "open");
    for (int i = 0; i < 2000; i++)
        must(write(file, bytes, sizeof bytes) == (ssize_t)sizeof bytes, "write");
    close(file);
}

/* As by a shell, where its name stands behind a >, and the program has an event in between. */
CASE(capture_is_written_over, NO_CAPTURE)
{
    work(ROUNDS);
    grow(0, 1000);
    cut(0);
    work(1);
    if (profile)
        write_over();
    go_on();
}

/* It has none, but there is a thread of the profile's that looks. */
CASE(capture_is_written_over_in_between, NO_CAPTURE)
{
    work(ROUNDS);
    grow(0, 1000);
    if (profile && mode_has_thread()) {
        write_over();
        while (cairn_profile_status(profile) == CAIRN_OK)
            usleep(1000);
    } else {
        cut(0);
    }
    go_on();
}

static _Atomic int working;
static _Atomic bool is_cut;

static void *work_on(void *data)
{
    cairn_lane *lane = begin_thread();
    work(10);
    working++;
    while (!is_cut)
        work(1);
    work(ROUNDS);
    strand = NULL;
    stack = NULL;
    cairn_lane_close(lane);
    return data;
}

CASE(capture_is_cut_while_threads_work, NO_CAPTURE)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        must(pthread_create(&threads[i], NULL, work_on, NULL) == 0, "pthread_create");
    while (working < THREADS)
        work(1);
    cut(0);
    is_cut = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    go_on();
}

CASE(capture_is_cut_and_the_program_forks, NO_CAPTURE)
{
    work(ROUNDS);
    enter(DEEP);
    cut(0);
    for (int events = 0; events < 2; events++) {
        pid_t child = fork();
        must(child >= 0, "fork");
        if (child == 0) {
            work(10);
            _exit(0);
        }
        await(child, "child");
        work(10);
    }
    leave();
    go_on();
}

/* A child's memory is the parent's file until it records something. */
CASE(capture_is_cut_between_fork_and_first_event, NO_CAPTURE)
{
    int ends[2];
    char byte;
    must(pipe2(ends, O_CLOEXEC) == 0, "pipe");
    grow(0, 1000);
    enter(DEEP);
    pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
        close(ends[1]);
        must(read(ends[0], &byte, 1) == 0, "read");
        leave();
        work(10);
        printf("child goes on\n");
        exit(0);
    }
    cut(0);
    close(ends[1]);
    close(ends[0]);
    await(child, "child");
    leave();
    go_on();
}

/* ---- a SIGBUS of its own ---- */

static char *map_short_file(void)
{
    int file = memfd_create("own", MFD_CLOEXEC);
    must(file >= 0 && ftruncate(file, PAGE) == 0, "memfd_create");
    char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    must(page != MAP_FAILED && ftruncate(file, 0) == 0, "mmap");
    close(file);
    return page;
}

CASE(bus_error_of_its_own, 0)
{
    work(ROUNDS);
    checked();
    *(volatile char *)map_short_file() = 1;
}

CASE(bus_error_of_its_own_on_a_cut_capture, NO_CAPTURE)
{
    work(ROUNDS);
    cut(0);
    work(ROUNDS);
    checked();
    *(volatile char *)map_short_file() = 1;
}

static sigjmp_buf back;
static char *short_page;

static void say_fault(int signal, siginfo_t *info, void *context)
{
    sigset_t mask;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    printf("signal %d, code %d, %s, context %d, masked %d %d\n", signal, info->si_code,
           info->si_addr == short_page ? "its page" : "elsewhere", context != NULL,
           sigismember(&mask, SIGBUS), sigismember(&mask, SIGUSR1));
    siglongjmp(back, 1);
}

static void catch_faults(int flags)
{
    struct sigaction action = {.sa_sigaction = say_fault, .sa_flags = SA_SIGINFO | flags};
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGUSR1);
    sigaction(SIGBUS, &action, NULL);
}

static void fault(void)
{
    if (!sigsetjmp(back, 1))
        *(volatile char *)short_page = 1;
}

CASE(bus_error_with_a_handler_from_before, LATE)
{
    short_page = map_short_file();
    catch_faults(0);
    begin();
    work(ROUNDS);
    fault();
    fault();
    work(ROUNDS);
    checked();
}

CASE(bus_error_with_a_handler_from_before_on_a_cut_capture, LATE | NO_CAPTURE)
{
    short_page = map_short_file();
    catch_faults(SA_NODEFER | SA_ONSTACK);
    begin();
    work(ROUNDS);
    fault();
    cut(0);
    work(ROUNDS);
    fault();
    go_on();
}

CASE(bus_error_with_a_handler_for_once, LATE)
{
    short_page = map_short_file();
    catch_faults((int)SA_RESETHAND);
    begin();
    work(ROUNDS);
    fault();
    checked();
    fault();
}

CASE(bus_error_with_a_handler_from_afterwards, 0)
{
    short_page = map_short_file();
    catch_faults(0);
    work(ROUNDS);
    fault();
    end();
    fault();
    begin();
    fault();
    checked();
}

static struct sigaction chained;

/* As libraries do that catch crashes. */
static void go_on_to_the_one_before(int signal, siginfo_t *info, void *context)
{
    printf("chained\n");
    if (chained.sa_flags & SA_SIGINFO)
        chained.sa_sigaction(signal, info, context);
    else
        sigaction(signal, &chained, NULL);
}

CASE(bus_error_with_a_handler_that_chains, 0)
{
    struct sigaction action = {.sa_sigaction = go_on_to_the_one_before, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &action, &chained);
    end();
    begin();
    work(ROUNDS);
    checked();
    *(volatile char *)map_short_file() = 1;
}

CASE(bus_error_that_is_sent, 0)
{
    work(ROUNDS);
    checked();
    kill(getpid(), SIGBUS);
    for (;;)
        pause();
}

CASE(bus_error_that_is_sent_to_a_thread, 0)
{
    work(ROUNDS);
    checked();
    raise(SIGBUS);
}

static void *wait_for_it(void *data)
{
    sigset_t set;
    siginfo_t info;
    sigemptyset(&set);
    sigaddset(&set, SIGBUS);
    while (sigwaitinfo(&set, &info) < 0)
        ;
    printf("waited for signal %d, code %d, own %d\n", info.si_signo, info.si_code,
           info.si_pid == getpid());
    return data;
}

/* All of the program's threads have it blocked: none of ours may take it. */
CASE(bus_error_that_is_waited_for, LATE)
{
    sigset_t set;
    pthread_t thread;
    sigemptyset(&set);
    sigaddset(&set, SIGBUS);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    begin();
    for (int i = 0; i < 20; i++) {
        kill(getpid(), SIGBUS);
        work(10);
        must(pthread_create(&thread, NULL, wait_for_it, NULL) == 0, "pthread_create");
        pthread_join(thread, NULL);
    }
    checked();
}

CASE(bus_error_ignored, LATE)
{
    signal(SIGBUS, SIG_IGN);
    begin();
    work(ROUNDS);
    kill(getpid(), SIGBUS);
    raise(SIGBUS);
    work(ROUNDS);
    checked();
}
