/* SPDX-License-Identifier: MIT
 *
 * A program that does what samplers stumble over. It knows nothing of Cairn.
 *
 * usage: program PART; prints "done" and returns 7 if all went as it does alone.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "work.h"

static void recurse(int depth)
{
    if (depth)
        recurse(depth - 1);
    else
        work(60);
    sink++; /* no tail call */
}

/* Like `work`, with no system call, for programs that may make none. */
static void count(unsigned long turns)
{
    for (unsigned long i = 0; i < turns; i++)
        sink += i;
}

/* ---- threads ---- */

static void *ask_for_stack(void *data)
{
    pthread_attr_t attributes;
    (void)data;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        fail("pthread_getattr_np");
    pthread_attr_destroy(&attributes);
    free(malloc(100));
    return NULL;
}

/* As Java and Rust do at each thread's begin. */
static void stacks(void)
{
    for (int i = 0; i < 2000; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, ask_for_stack, NULL) != 0)
            fail("pthread_create");
        else
            pthread_join(thread, NULL);
    }
}

static void *use_little_stack(void *data)
{
    work(*(long *)data);
    return NULL;
}

static void *use_own_signal_stack(void *data)
{
    char *memory = malloc(1 << 16);
    stack_t stack = {.ss_sp = memory, .ss_size = 1 << 16};
    if (sigaltstack(&stack, NULL) != 0)
        fail("sigaltstack");
    work(*(long *)data);
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
    memset(memory, 0, 1 << 16);
    free(memory);
    return NULL;
}

static void tiny(void)
{
    pthread_t threads[8];
    pthread_attr_t attributes;
    long ms = 60;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
    for (int i = 0; i < 8; i++)
        if (pthread_create(&threads[i], &attributes,
                           i % 2 ? use_little_stack : use_own_signal_stack, &ms) != 0)
            fail("pthread_create");
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
}

/* Threads get small stacks by default: Cairn's must not. Its threads begin anew in children of fork
 * and after changes of the user. */
static void small_stacks(void)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
    if (pthread_setattr_default_np(&attributes) != 0)
        fail("pthread_setattr_default_np");
    for (int i = 0; i < 4; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            recurse(200);
            exit(3);
        }
        if (waitpid(child, &status, 0) != child || status != 3 << 8)
            fail("small stacks: child");
    }
    if (geteuid() == 0 && (seteuid(65534) != 0 || seteuid(0) != 0))
        fail("seteuid");
    recurse(200);
}

static void nothing(int number)
{
    (void)number;
}

/* Handles all real-time signals: none is left for Cairn's timers. */
static void handled(void)
{
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        signal(number, nothing);
    work(60);
}

/* Returns the size of the process's address space, in bytes. */
static size_t address_space(void)
{
    char text[64] = "";
    int file = open("/proc/self/statm", O_RDONLY);
    if (file < 0 || read(file, text, sizeof text - 1) <= 0)
        fail("statm");
    close(file);
    return strtoul(text, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

static void *use_little_memory(void *data)
{
    for (int i = 0; i < 20; i++) {
        void *volatile memory = malloc(100); /* volatile: not optimised away */
        free(memory);
        work(5);
    }
    return data;
}

/* Threads begin when there is almost no address space left. What is left stays the program's. */
static void cramped(void)
{
    enum { THREADS = 8, STACK = 1 << 16, LEFT = 176 << 10, TAKEN_MOST = 120 << 10 /* bytes */ };
    enum { ROUNDS = 10 }; /* of the collector, and more */
    static char stacks[THREADS][STACK] __attribute__((aligned(4096)));
    pthread_t threads[THREADS];
    pthread_attr_t attributes;
    size_t before = address_space();
    void *volatile memory = malloc(100); /* malloc's own memory is there before, too */
    free(memory);
    for (int same = 0; same < ROUNDS; same++) { /* until the collector has what it needs */
        work(30);
        size_t now = address_space();
        if (now != before)
            same = 0;
        before = now;
    }
    struct rlimit limit = {before + LEFT, RLIM_INFINITY};
    pthread_attr_init(&attributes);
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        fail("setrlimit");
    for (int i = 0; i < THREADS; i++) {
        pthread_attr_setstack(&attributes, stacks[i], STACK);
        if (pthread_create(&threads[i], &attributes, use_little_memory, NULL) != 0)
            fail("pthread_create");
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (!getenv("THREADS_MAY_TAKE") && address_space() > before + TAKEN_MOST) {
        errno = ENOMEM;
        fail("address space");
    }
}

static void *end_last(void *data)
{
    (void)data;
    work(60);
    puts("done");
    return NULL;
}

static void end_process(void)
{
    puts("an exit handler");
}

/* The first thread ends; the process ends with its last one, with status 0. libc writes what is
 * buffered. */
static void last(void)
{
    pthread_t thread;
    setvbuf(stdout, NULL, _IOFBF, BUFSIZ);
    atexit(end_process);
    pthread_create(&thread, NULL, end_last, NULL);
    pthread_detach(thread);
    pthread_exit(NULL);
}

/* ---- forks ---- */

static void *fork_and_wait(void *data)
{
    (void)data;
    for (int i = 0; i < 100; i++) {
        int status;
        free(malloc(1000));
        pid_t child = i % 2 ? fork() : vfork();
        if (child == 0)
            _exit(3);
        if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 3)
            fail("a child");
    }
    return NULL;
}

static void *allocate(void *data)
{
    while (!*(volatile bool *)data)
        free(malloc(64 + sink++ % 4096));
    return NULL;
}

static void forks(void)
{
    pthread_t forkers[2], allocator;
    static bool told;
    pthread_create(&allocator, NULL, allocate, &told);
    for (int i = 0; i < 2; i++)
        pthread_create(&forkers[i], NULL, fork_and_wait, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(forkers[i], NULL);
    *(volatile bool *)&told = true;
    pthread_join(allocator, NULL);
}

static void vforks(void)
{
    for (int i = 0; i < 50; i++) {
        int status;
        pid_t child = vfork();
        if (child == 0) {
            execl("/bin/true", "true", (char *)NULL);
            _exit(127);
        }
        if (waitpid(child, &status, 0) != child || status != 0)
            fail("true");
    }
    work(30);
}

/* ---- signals ---- */

static volatile sig_atomic_t ticks;

static void tick(int number)
{
    (void)number;
    int saved = errno;
    free(NULL);
    ticks++;
    errno = saved;
}

static void *send(void *data)
{
    const struct timespec rest = {.tv_nsec = 50000};
    for (int i = 0; i < 3000; i++) {
        pthread_kill(*(pthread_t *)data, SIGUSR1);
        nanosleep(&rest, NULL);
    }
    return NULL;
}

/* Signals of the program's own, ten thousand a second, while it allocates. */
static void signals(void)
{
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    pthread_t self = pthread_self(), sender;
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    pthread_create(&sender, NULL, send, &self);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 100}, {0, 100}}, NULL);
    for (uint64_t end = own_cpu() + 200000000; own_cpu() < end;)
        free(malloc(sink++ % 10000));
    pthread_join(sender, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    if (ticks < 100)
        fail("signals");
}

/* Blocks all signals and works. No signal is pending, and none ends a wait in which the thread
 * blocks none. */
static void masked(void)
{
    sigset_t all, none, pending;
    struct timespec wait = {.tv_nsec = 2000000};
    struct epoll_event event;
    int file = epoll_create1(EPOLL_CLOEXEC);
    sigfillset(&all);
    sigemptyset(&none);
    sigprocmask(SIG_BLOCK, &all, NULL);
    for (int i = 0; i < 5; i++) {
        work(30);
        if (sigpending(&pending) != 0 || !sigisemptyset(&pending))
            fail("sigpending");
        work(30);
        if (ppoll(NULL, 0, &wait, &none) != 0)
            fail("ppoll");
        work(30);
        if (pselect(0, NULL, NULL, NULL, &wait, &none) != 0)
            fail("pselect");
        work(30);
        if (epoll_pwait(file, &event, 1, 2, &none) != 0)
            fail("epoll_pwait");
    }
    close(file);
}

/* Sends itself each real-time signal, and waits for it. */
static void named(void)
{
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        sigset_t set;
        siginfo_t info = {0};
        sigemptyset(&set);
        sigaddset(&set, number);
        pthread_sigmask(SIG_BLOCK, &set, NULL);
        work(number == SIGRTMIN ? 30 : 2);
        sigqueue(getpid(), number, (union sigval){.sival_int = number});
        if (sigtimedwait(&set, &info, &(struct timespec){.tv_sec = 5}) != number ||
            info.si_value.sival_int != number)
            fail("sigtimedwait");
    }
}

/* Resets all signals by number, and works; unshares its files so, too. */
static void by_number(void)
{
    uintptr_t none[4] = {0}, old[4];
    for (int number = 1; number <= SIGRTMAX; number++)
        if (number != SIGBUS && (syscall(SYS_rt_sigaction, number, none, old, sizeof(uint64_t)) ==
                                 0) == (number == SIGKILL || number == SIGSTOP))
            fail("rt_sigaction");
    work(60);
    for (int i = 0; i < 16; i++)
        if ((i % 2 ? syscall(SYS_unshare, CLONE_NEWUSER) : unshare(CLONE_NEWUSER)) != 0 &&
            errno == EINVAL)
            fail("unshare");
    work(60);
}

/* Children that no fork handler knows of: in each one a wait for the collector would take 2 s. */
static void unknown_forks(void)
{
    for (int i = 0; i < 100; i++) {
        int status;
        pid_t child = i % 2 ? _Fork() : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (child == 0)
            exit(3);
        if (waitpid(child, &status, 0) != child || status != 3 << 8)
            fail("child");
    }
    work(60);
}

static void quick(void)
{
    work(60);
    puts("done");
    quick_exit(7);
}

/* A signal that would end the process is blocked, and pending when the process ends. */
static void pending(void)
{
    sigset_t set;
    work(60);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    kill(getpid(), SIGUSR1);
}

/* The C library knows of one thread alone: at the begin, in a child, and after the collector's
 * pause. The first thread ends alone, by the system call. */
static void alone(void)
{
    printf("at the begin %d\n", __libc_single_threaded);
    if (fork() == 0) {
        work(20);
        printf("in the child %d\n", __libc_single_threaded);
        _exit(0);
    }
    if (wait(NULL) < 0 || setegid(getegid()) != 0)
        fail("alone");
    work(60);
    printf("at the end %d\n", __libc_single_threaded);
    syscall(SYS_exit, 7);
}

/* ---- rights ---- */

/* Allows the calls of `allowed`; the process is killed at any other. */
static void allow(const int *allowed, size_t count_allowed, bool all_threads)
{
    struct sock_filter filter[64];
    unsigned short length = 0;
    filter[length++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < count_allowed; i++) {
        filter[length++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1);
        filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {length, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    long result = all_threads ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                        SECCOMP_FILTER_FLAG_TSYNC, &program)
                              : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
    if (result != 0)
        fail("seccomp");
}

/* A filter that is not there, which the kernel refuses: libseccomp asks so which calls there are.
 */
static void refused(void)
{
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) != -1 || errno != EFAULT)
        fail("seccomp");
    work(400);
}

static void refused_all(void)
{
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL) != -1 ||
        errno != EFAULT)
        fail("seccomp");
    work(400);
}

static const int few[] = {SYS_write, SYS_exit_group, SYS_rt_sigreturn};

static void work_under_filter(bool all)
{
    work(30);
    fflush(stdout);
    allow(few, sizeof few / sizeof *few, all);
    count(200000000);
    write(STDOUT_FILENO, "done\n", 5);
    syscall(SYS_exit_group, failed ? 1 : 7);
}

static void filtered(void)
{
    work_under_filter(false);
}

static void filtered_all(void)
{
    work_under_filter(true);
}

static void *end_filtered(void *data)
{
    count(100000000);
    write(STDOUT_FILENO, "done\n", 5);
    syscall(SYS_exit_group, failed ? 1 : 7);
    return data;
}

/* A thread inherits the filter of the thread that creates it, and ends the process. */
static void filtered_child(void)
{
    static const int more[] = {
        SYS_write, SYS_exit_group, SYS_rt_sigreturn, SYS_rt_sigaction,   SYS_getrandom,
        SYS_mmap,  SYS_mprotect,   SYS_munmap,       SYS_madvise,        SYS_brk,
        SYS_clone, SYS_clone3,     SYS_futex,        SYS_rt_sigprocmask, SYS_set_robust_list,
        SYS_rseq,  SYS_exit};
    pthread_t thread;
    work(30);
    fflush(stdout);
    allow(more, sizeof more / sizeof *more, false);
    if (pthread_create(&thread, NULL, end_filtered, NULL) != 0)
        fail("thread");
    pthread_join(thread, NULL);
}

/* The strictest mode: read, write, exit and the return from signals. */
static void strict(void)
{
    work(30);
    fflush(stdout);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) != 0)
        fail("seccomp");
    count(200000000);
    write(STDOUT_FILENO, "done\n", 5);
    syscall(SYS_exit, 7);
}

static void closed(void)
{
    work(30);
    for (int file = 3; file < 1024; file++)
        close(file);
    work(60);
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_NOFILE, &none);
    work(60);
}

static void list_files(const char *who)
{
    printf("%s:", who);
    for (int file = 0; file < 1024; file++)
        if (fcntl(file, F_GETFD) >= 0)
            printf(" %d", file);
    printf("\n");
}

/* Files get the numbers that they get alone, as shells expect when they redirect. */
static void files(void)
{
    list_files("at first");
    for (uint64_t end = own_cpu() + 300 * 1000000; own_cpu() < end;) {
        int file = open("/dev/null", O_RDONLY), other = open("/dev/null", O_RDONLY);
        if (other != file + 1)
            fail("numbers");
        close(other);
        close(file);
    }
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        work(30);
        list_files("child");
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    if (geteuid() == 0 && (seteuid(65534) != 0 || seteuid(0) != 0))
        fail("seteuid");
    list_files("at last");
}

/* As servers do that begin as root. */
static void user(void)
{
    work(30);
    if (geteuid() == 0 && (chdir("/") != 0 || setgid(65534) != 0 || setuid(65534) != 0))
        fail("setuid");
    work(60);
}

#define TWELVE(each)                                                                               \
    each(0) each(1) each(2) each(3) each(4) each(5) each(6) each(7) each(8) each(9) each(10)       \
        each(11)
#define INNER(n)                                                                                   \
    static void inner##n(void)                                                                     \
    {                                                                                              \
        work(5);                                                                                   \
        sink += n;                                                                                 \
    }
TWELVE(INNER)
#define NAME(n) inner##n,
static void (*const inner[])(void) = {TWELVE(NAME)};
#define OUTER(n)                                                                                   \
    static void outer##n(void)                                                                     \
    {                                                                                              \
        for (size_t i = 0; i < sizeof inner / sizeof *inner; i++)                                  \
            inner[i]();                                                                            \
        sink += n;                                                                                 \
    }
TWELVE(OUTER)
#define CALL(n) outer##n();

/* Works in so many contexts that the capture grows. */
static void widen(void)
{
    TWELVE(CALL)
}

/* As a server does that becomes root again for a moment. */
static void root_again(void)
{
    work(30);
    if (geteuid() == 0 && (seteuid(65534) != 0 || seteuid(0) != 0 || seteuid(65534) != 0))
        fail("seteuid");
    widen();
}

/* As a server does that also confines itself to an empty folder. */
static void confined(void)
{
    work(30);
    if (geteuid() == 0 && (chroot("/proc/self/fdinfo") != 0 || chdir("/") != 0 ||
                           setgid(65534) != 0 || setuid(65534) != 0))
        fail("chroot");
    widen();
}

/* The process goes on as another program, whose thread's clock goes on. */
static void becomes(void)
{
    work(200);
    execl("/proc/self/exe", "hostile", "became", NULL);
    fail("exec");
}

static void became(void)
{
    work(100);
    sink++; /* no tail call */
}

static const struct {
    const char *name;
    void (*run)(void);
} parts[] = {{"stacks", stacks},
             {"tiny", tiny},
             {"handled", handled},
             {"small-stacks", small_stacks},
             {"last", last},
             {"forks", forks},
             {"vforks", vforks},
             {"signals", signals},
             {"masked", masked},
             {"named", named},
             {"by-number", by_number},
             {"unknown-forks", unknown_forks},
             {"quick", quick},
             {"pending", pending},
             {"alone", alone},
             {"closed", closed},
             {"filtered", filtered},
             {"filtered-all", filtered_all},
             {"filtered-child", filtered_child},
             {"strict", strict},
             {"user", user},
             {"files", files},
             {"root-again", root_again},
             {"confined", confined},
             {"becomes", becomes},
             {"became", became},
             {"refused", refused},
             {"refused-all", refused_all},
             {"cramped", cramped}};

int main(int argc, char **argv)
{
    void (*run)(void) = NULL;
    if (errno)
        fail("errno at the begin");
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (argc > 1 && strcmp(argv[1], parts[i].name) == 0)
            run = parts[i].run;
    if (!run)
        return 2;
    run();
    puts("done");
    return failed ? 1 : 7;
}
