/* SPDX-License-Identifier: MIT
 *
 * A program whose split of time is known: each part does a given number of equal pieces of work,
 * reached in another way. It knows nothing of Cairn.
 *
 * usage: program split | sleep | signals | threads | forks | tree COMMAND...
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define NEVER_INLINE __attribute__((noinline))
#else
#define NEVER_INLINE __attribute__((noinline, noipa))
#endif

enum { PIECE_NS = 5000000 }; /* of processor time, so that the split is the same on any machine */

static volatile unsigned long sink;

static inline long processor_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

static inline void use_processor(long ns)
{
    for (long end = processor_time() + ns; processor_time() < end;)
        for (unsigned long i = 0; i < 10000; i++)
            sink += i;
}

NEVER_INLINE static void work(int pieces)
{
    use_processor((long)pieces * PIECE_NS);
    sink++;
}

NEVER_INLINE static void direct(void)
{
    work(10);
    sink++;
}

NEVER_INLINE static int recursive(int depth)
{
    if (depth == 0) {
        work(20);
        return 1;
    }
    int below = recursive(depth - 1);
    sink++;
    return below + 1;
}

NEVER_INLINE static int compare(const void *one, const void *other)
{
    use_processor(PIECE_NS / 100);
    return *(const int *)one - *(const int *)other;
}

NEVER_INLINE static void through_library(void)
{
    int values[128];
    for (int i = 0; i < 128; i++)
        values[i] = (i * 61) % 127;
    for (int i = 0; i < 3; i++)
        qsort(values, 128, sizeof *values, compare); /* 1,900 to 2,700 comparisons in all */
    sink += (unsigned long)values[5];
}

static void (*volatile pointer)(void) = direct;

NEVER_INLINE static void through_pointer(void)
{
    pointer();
    pointer();
    sink++;
}

static void split(void)
{
    direct();
    recursive(50);
    through_library();
    through_pointer();
}

/* ---- sleepers ---- */

NEVER_INLINE static void nap(long ms)
{
    struct timespec rest = {ms / 1000, ms % 1000 * 1000000};
    if (nanosleep(&rest, NULL) != 0)
        puts("nanosleep was interrupted");
    sink++;
}

NEVER_INLINE static void wait_in_poll(int ms)
{
    if (poll(NULL, 0, ms) != 0)
        puts("poll was interrupted");
    sink++;
}

static void *sleeper(void *data)
{
    (void)data;
    for (int i = 0; i < 4; i++) {
        nap(200);
        wait_in_poll(100);
    }
    return NULL;
}

static void sleepers(void)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, sleeper, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

/* ---- programs that use signals themselves ---- */

static volatile sig_atomic_t caught;

static void catch (int number)
{
    caught = number;
}

static void signals(void)
{
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL); /* as daemons do */
    work(10);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        signal(number, catch);
        caught = 0;
        raise(number);
        if (caught != number)
            printf("signal %d was not caught\n", number - SIGRTMIN);
    }
    work(10);
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    work(5);
    int got = sigtimedwait(&all, NULL, &(struct timespec){.tv_nsec = 50000000});
    printf("waited: %s\n", got < 0 ? strerror(errno) : "a signal");
}

/* ---- threads and forks ---- */

static void *short_lived(void *data)
{
    (void)data;
    use_processor(PIECE_NS / 50);
    return NULL;
}

static void threads(void)
{
    for (int i = 0; i < 500; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, short_lived, NULL);
        pthread_detach(thread);
        if (i % 50 == 0)
            usleep(2000);
    }
    work(5);
}

static void *forker(void *data)
{
    (void)data;
    for (int i = 0; i < 60; i++) {
        pid_t child = fork();
        if (child == 0) {
            if (i % 3 == 0)
                work(1);
            if (i % 2)
                _exit(0);
            exit(0);
        }
        int status;
        if (waitpid(child, &status, 0) != child || status != 0)
            puts("a child failed");
    }
    return NULL;
}

static void forks(void)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, forker, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(what, "split") == 0)
        split();
    else if (strcmp(what, "sleep") == 0)
        sleepers();
    else if (strcmp(what, "signals") == 0)
        signals();
    else if (strcmp(what, "threads") == 0)
        threads();
    else if (strcmp(what, "forks") == 0)
        forks();
    else
        return 2;
    puts("done");
    return 7;
}
