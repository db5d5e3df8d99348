/* SPDX-License-Identifier: MIT
 *
 * Is switched on and off many times while threads call, throw, jump, begin, end and fork.
 * Arguments: the number of periods; "forks".
 */
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOIPA __attribute__((noipa))

static volatile bool over;
static volatile long sink;

NOIPA int leaf(int n)
{
    sink = sink + n;
    return n + 1;
}

NOIPA int deep(int depth)
{
    return depth ? deep(depth - 1) + leaf(depth) : leaf(0);
}

NOIPA void thrower(int depth)
{
    if (!depth)
        throw depth;
    thrower(depth - 1);
    sink = sink + 1;
}

NOIPA int catcher(int depth)
{
    try {
        thrower(depth);
    } catch (int) {
        return leaf(depth);
    }
    return 0;
}

static thread_local jmp_buf target;

NOIPA void jumper(int depth)
{
    if (!depth)
        longjmp(target, 1);
    jumper(depth - 1);
    sink = sink + 1;
}

NOIPA int setter(int depth)
{
    if (setjmp(target) == 0)
        jumper(depth);
    return leaf(depth);
}

NOIPA int tail_called(int n)
{
    return leaf(n);
}

NOIPA int tail(int n)
{
    return tail_called(n + 1);
}

NOIPA void handled(int)
{
    leaf(1);
}

NOIPA void *brief(void *data)
{
    deep(5);
    return data;
}

/* Lives through all periods, and catches exceptions itself. */
NOIPA void *loop(void *data)
{
    for (int i = 0; !over; i++) {
        try {
            sink = sink + deep(i % 20) + catcher(i % 7) + setter(i % 5) + tail(i);
            if (i % 3 == 0)
                thrower(2);
        } catch (...) {
            leaf(2);
        }
        pthread_t thread;
        if (i % 50 == 0 && pthread_create(&thread, nullptr, brief, nullptr) == 0)
            pthread_join(thread, nullptr);
    }
    return data;
}

static long resident_kb()
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &pages, &resident) != 2)
        abort();
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void make_child()
{
    int status;
    pid_t child = fork();
    if (!child) {
        deep(10);
        catcher(3);
        _exit(0);
    }
    waitpid(child, &status, 0);
    if (status)
        abort();
}

int main(int count, char **arguments)
{
    enum { THREADS = 3, PAUSE_US = 4000, WARM = 20 };
    int periods = count > 1 ? atoi(arguments[1]) : 0;
    long before = 0;
    pthread_t threads[THREADS];
    signal(SIGUSR1, handled);
    for (auto &thread : threads)
        pthread_create(&thread, nullptr, loop, nullptr);
    for (int i = 0; i < periods; i++) {
        raise(SIGUSR2);
        usleep(PAUSE_US);
        for (auto &thread : threads)
            pthread_kill(thread, SIGUSR1);
        if (count > 2)
            make_child();
        raise(SIGUSR2);
        usleep(PAUSE_US);
        before = i == WARM ? resident_kb() : before;
    }
    printf("%ld\n", resident_kb() - before);
    over = true;
    for (auto &thread : threads)
        pthread_join(thread, nullptr);
    return 0;
}
