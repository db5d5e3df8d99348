/* SPDX-License-Identifier: MIT
 *
 * A program whose split of time is known: each part does a given number of equal pieces of work,
 * reached in another way. It knows nothing of Cairn.
 *
 * usage: program split | sleep | waits | signals | threads | relays | forks | faults | stopped |
 * tree COMMAND...
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../support/clock.h"

#ifdef __clang__
#define NEVER_INLINE __attribute__((noinline))
#else
#define NEVER_INLINE __attribute__((noinline, noipa))
#endif

enum { PIECE_NS = 5000000 }; /* of processor time, so that the split is the same on any machine */

static volatile unsigned long sink;

static inline void use_processor(uint64_t ns)
{
    for (uint64_t end = own_cpu() + ns; own_cpu() < end;)
        for (unsigned long i = 0; i < 10000; i++)
            sink += i;
}

NEVER_INLINE static void work(int pieces)
{
    use_processor((uint64_t)pieces * PIECE_NS);
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

static void run_three(void *(*run)(void *))
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, run, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
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
    run_three(sleeper);
}

/* Waits again and again, for a second of processor time, so that many samples come while a wait
 * begins. */
static void waits(void)
{
    int interrupted = 0;
    for (uint64_t end = own_cpu() + 1000000000; own_cpu() < end;)
        for (int i = 0; i < 1000; i++) {
            interrupted += poll(NULL, 0, 0) < 0;
            interrupted += nanosleep(&(struct timespec){.tv_nsec = 1}, NULL) < 0;
        }
    if (interrupted)
        printf("%d waits were interrupted\n", interrupted);
}

/* ---- sleep in no system call: a page that comes late, and a stop ---- */

enum { LATE_US = 500000, PAGE = 4096 };

static void *bring_page(void *data)
{
    int file = *(int *)data;
    struct uffd_msg message;
    if (read(file, &message, sizeof message) != sizeof message)
        return NULL;
    usleep(LATE_US);
    struct uffdio_zeropage page = {
        .range = {message.arg.pagefault.address & ~(uint64_t)(PAGE - 1), PAGE}};
    ioctl(file, UFFDIO_ZEROPAGE, &page);
    return NULL;
}

NEVER_INLINE static void touch(volatile char *page)
{
    sink += (unsigned char)*page;
    sink++;
}

/* Prints how many ns the page was late, or "not allowed" if the kernel does not let this user
 * handle page faults. */
static void faults(void)
{
    int file = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_api api = {.api = UFFD_API};
    char *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register range = {.range = {(uintptr_t)page, PAGE},
                                    .mode = UFFDIO_REGISTER_MODE_MISSING};
    if (file < 0 || page == MAP_FAILED || ioctl(file, UFFDIO_API, &api) != 0 ||
        ioctl(file, UFFDIO_REGISTER, &range) != 0) {
        puts("not allowed");
        return;
    }
    pthread_t thread;
    pthread_create(&thread, NULL, bring_page, &file);
    uint64_t begin = now_ns();
    touch(page);
    printf("late %" PRIu64 "\n", now_ns() - begin);
    pthread_join(thread, NULL);
}

/* Prints how many ns it was stopped. */
static void stopped(void)
{
    pid_t self = getpid(), child = fork();
    if (child == 0) {
        usleep(LATE_US / 5);
        uint64_t begin = now_ns();
        kill(self, SIGSTOP);
        usleep(LATE_US);
        kill(self, SIGCONT);
        printf("late %" PRIu64 "\n", now_ns() - begin);
        _exit(0);
    }
    work(40); /* stopped in it */
    waitpid(child, NULL, 0);
}

/* ---- programs that use signals themselves ---- */

static volatile sig_atomic_t caught;

static void catch (int number)
{
    caught = number;
}

typedef void handler(int number);

/* Names of `signal` in libc that headers give only to some programs. */
handler *bsd_signal(int number, handler *handler);
handler *__sysv_signal(int number, handler *handler);

/* Resets or ignores all signals in each way that libc has, as daemons do. */
static void reset_all(void)
{
    handler *(*const setters[])(int, handler *) = {signal,        bsd_signal,  ssignal,
                                                   __sysv_signal, sysv_signal, sigset};
    for (size_t i = 0; i < sizeof setters / sizeof *setters; i++) {
        for (int number = 1; number < NSIG; number++)
            setters[i](number, SIG_DFL);
        work(5);
    }
    for (int number = 1; number < NSIG; number++)
        sigignore(number);
    for (int number = 1; number < NSIG; number++)
        siginterrupt(number, 1);
    work(5);
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        sigset(number, SIG_HOLD);
    work(5);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void signals(void)
{
    reset_all();
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

static sem_t relay_done;

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

/* Each thread works and starts the next one, then ends, so that their number stays the same. */
static void *relay(void *data)
{
    pthread_attr_t detached;
    int left = *(int *)data - 1;
    work(12);
    *(int *)data = left;
    if (left <= 0) {
        sem_post(&relay_done);
        return NULL;
    }
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_create(&(pthread_t){0}, &detached, relay, data);
    pthread_attr_destroy(&detached);
    return NULL;
}

static void relays(void)
{
    int threads = 10;
    sem_init(&relay_done, 0, 0);
    relay(&threads); /* by this thread first */
    while (sem_wait(&relay_done) != 0) {
    }
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
    run_three(forker);
}

/* ---- programs that go on until they are told to end ---- */

static void wait_until_told(void)
{
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
}

static bool is_told(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, 0) > 0;
}

static void *survivor(void *data)
{
    (void)data;
    wait_until_told();
    work(5);
    puts("done");
    exit(7);
}

/* Ends the first thread; another one runs on. */
static void leave(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, survivor, NULL);
    puts("begun");
    pthread_exit(NULL);
}

static const struct {
    const char *name;
    void (*run)(void);
} parts[] = {{"split", split},     {"sleep", sleepers}, {"waits", waits}, {"signals", signals},
             {"threads", threads}, {"forks", forks},    {"leave", leave}, {"faults", faults},
             {"stopped", stopped}, {"relays", relays}};

/* Usage: PROGRAM PART [until-told]; told by the end of standard input, it runs once more. */
int main(int argc, char **argv)
{
    void (*run)(void) = NULL;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (argc > 1 && strcmp(argv[1], parts[i].name) == 0)
            run = parts[i].run;
    if (!run)
        return 2;
    if (argc > 2) {
        puts("begun");
        while (!is_told())
            run();
    }
    run();
    puts("done");
    return 7;
}
