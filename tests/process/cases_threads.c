/* SPDX-License-Identifier: MIT
 *
 * cases_threads.c - threads that are cancelled, that end within a call, many threads, small
 * stacks.
 */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

static sem_t ready;

static void *until_cancelled(void *data)
{
    begin_thread();
    work(100);
    enter(LAST);
    sem_post(&ready);
    for (;;)
        pause();
    return data;
}

static const char *end_of(pthread_t thread)
{
    void *result;
    pthread_join(thread, &result);
    return result == PTHREAD_CANCELED ? "cancelled" : "returned";
}

CASE(thread_is_cancelled_in_a_call, 0)
{
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, until_cancelled, NULL);
        sem_wait(&ready);
        pthread_cancel(thread);
        printf("%s\n", end_of(thread));
    }
    work(100);
    checked();
}

/* The thread's own calls are no cancellation points until the last one, so neither may Cairn's
 * be. */
static void *no_point_until_the_end(void *data)
{
    pthread_cancel(pthread_self());
    begin_thread();
    grow(0, MANY_COUNT);
    work(100);
    checked();
    pthread_testcancel();
    return data;
}

CASE(thread_is_cancelled_while_the_capture_grows, 0)
{
    pthread_t thread;
    pthread_create(&thread, NULL, no_point_until_the_end, NULL);
    printf("%s\n", end_of(thread));
    work(100);
}

/* Opening and closing a profile are no cancellation points, either. */
static void *opens_and_closes(void *data)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    cairn_profile *second = NULL;
    cairn_view *view = NULL;
    pthread_cancel(pthread_self());
    if (profile)
        cairn_profile_open(&second, &options);
    cairn_view_open(&view, profile);
    cairn_view_close(view);
    cairn_profile_close(second);
    checked();
    pthread_testcancel();
    return data;
}

CASE(cancelled_thread_opens_and_closes, 0)
{
    pthread_t thread;
    work(10);
    pthread_create(&thread, NULL, opens_and_closes, NULL);
    printf("%s\n", end_of(thread));
}

static void *ends_deep_inside(void *data)
{
    begin_thread();
    enter(LAST);
    pthread_exit(data);
}

CASE(threads_end_deep_inside, 0)
{
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, ends_deep_inside, NULL);
        pthread_join(thread, NULL);
    }
    work(100);
    checked();
}

static void *short_life(void *data)
{
    cairn_lane *lane = begin_thread();
    work(1);
    cairn_lane_close(lane);
    return data;
}

CASE(thousands_of_threads, 0)
{
    for (int i = 0; i < 1000; i++) {
        pthread_t thread;
        must(pthread_create(&thread, NULL, short_life, NULL) == 0, "pthread_create");
        pthread_join(thread, NULL);
    }
    checked();
}

static void *main_thread_is_gone(void *data)
{
    pthread_t first = *(pthread_t *)data;
    pthread_join(first, NULL);
    begin_thread();
    work(100);
    printf("alone\n");
    checked();
    exit(23);
}

static void at_last(void)
{
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    printf("at exit, %d\n", sigismember(&mask, SIGTERM));
}

/* The process ends with the last of the program's threads; Cairn's threads do not keep it alive. */
CASE(main_thread_ends_alone, 0)
{
    atexit(at_last);
    work(100);
    checked();
    pthread_exit(NULL);
}

static void *ends_last(void *data)
{
    pthread_join(*(pthread_t *)data, NULL);
    begin_thread();
    work(100);
    checked();
    return NULL;
}

CASE(another_thread_ends_last, 0)
{
    static pthread_t first, second;
    first = pthread_self();
    atexit(at_last);
    work(100);
    pthread_create(&second, NULL, ends_last, &first);
    pthread_exit(NULL);
}

CASE(main_thread_ends_first, 0)
{
    static pthread_t first, second;
    first = pthread_self();
    work(100);
    pthread_create(&second, NULL, main_thread_is_gone, &first);
    pthread_exit(NULL);
}

static void *in_little_room(void *data)
{
    begin_thread();
    work(100);
    enter(LAST);
    return data;
}

CASE(smallest_stack_that_a_thread_may_have, NO_SANITIZER)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    must(pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN) == 0, "stack size");
    for (int i = 0; i < 10; i++) {
        must(pthread_create(&thread, &attributes, in_little_room, NULL) == 0, "pthread_create");
        pthread_join(thread, NULL);
    }
    checked();
}

/* ---- a debugger ---- */

static void trace(pid_t traced)
{
    int status;
    for (int i = 0; i < 5; i++) {
        if (ptrace(PTRACE_ATTACH, traced, NULL, NULL) != 0)
            _exit(1);
        waitpid(traced, &status, __WALL);
        usleep(3000);
        ptrace(PTRACE_DETACH, traced, NULL, NULL);
        usleep(3000);
    }
    _exit(0);
}

CASE(debugger_attaches_and_lets_go, 0)
{
    pid_t traced = getpid();
    int ends[2], status;
    must(pipe2(ends, O_CLOEXEC) == 0, "pipe");
    pid_t tracer = fork();
    if (tracer == 0) {
        char byte;
        if (read(ends[0], &byte, 1) == 1)
            trace(traced);
        _exit(2);
    }
    prctl(PR_SET_PTRACER, tracer);
    must(write(ends[1], "x", 1) == 1, "write");
    pid_t ended = 0;
    while (ended == 0) {
        work(10);
        ended = waitpid(tracer, &status, WNOHANG);
    }
    close(ends[0]);
    close(ends[1]);
    if (WEXITSTATUS(status) != 0)
        skip("not allowed to trace");
    checked();
}
