/* SPDX-License-Identifier: MIT
 *
 * A program that changes its rights in unusual moments. It knows nothing of Cairn but the name of
 * its thread.
 *
 * usage: program PART; prints "done" and returns 7 if all threads have the rights of the first one.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

enum { NOBODY = 65534, LATE_MS = 3000, SOON_MS = 200 };

/* ---- rights of all threads ---- */

/* Returns the lines Uid, Gid and Groups of a thread; free them. NULL: it has ended. */
static char *rights_of(const char *thread)
{
    char path[64], line[512], *all = NULL;
    size_t size;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/status", thread);
    FILE *file = fopen(path, "r"), *to = file ? open_memstream(&all, &size) : NULL;
    while (to && fgets(line, sizeof line, file))
        if (strncmp(line, "Uid", 3) == 0 || strncmp(line, "G", 1) == 0)
            fputs(line, to);
    if (to)
        fclose(to);
    if (file)
        fclose(file);
    return all;
}

static void compare_threads(void)
{
    char first[16];
    snprintf(first, sizeof first, "%d", (int)getpid());
    char *expected = rights_of(first);
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char *found = *entry->d_name == '.' ? NULL : rights_of(entry->d_name);
        if (found && expected && strcmp(found, expected) != 0)
            printf("a thread has\n%snot\n%s", found, expected);
        free(found);
    }
    if (!folder || !expected)
        fail("/proc/self/task");
    if (folder)
        closedir(folder);
    free(expected);
}

/* Only root can change them. */
static void change_user(void)
{
    if (geteuid() == 0 &&
        (setresgid(NOBODY, NOBODY, NOBODY) != 0 || setresuid(NOBODY, NOBODY, NOBODY) != 0))
        fail("setresuid");
    compare_threads();
}

static void change_group(void)
{
    if (setegid(geteuid() == 0 ? NOBODY : getegid()) != 0)
        fail("setegid");
    compare_threads();
}

/* ---- parts ---- */

static void user(void)
{
    work(30);
    change_group();
    work(30);
    if (geteuid() == 0 && setegid(0) != 0)
        fail("setegid");
    change_user();
    work(30);
}

/* A filter that allows everything: the thread goes on, but Cairn cannot know that. */
static void filtered(void)
{
    struct sock_filter allows = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {1, &allows};
    work(30);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
        fail("seccomp");
    change_user();
    work(100);
}

static struct {
    int stopped;  /* 1: Cairn's thread is stopped; -1: it cannot be; atomic */
    int asked;    /* the second thread is about to change the group; atomic */
    int released; /* Cairn's thread goes on; atomic */
} * shared;

static void share(void)
{
    const int both = PROT_READ | PROT_WRITE;
    shared = mmap(NULL, sizeof *shared, both, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static void await(const int *word)
{
    while (!__atomic_load_n(word, __ATOMIC_ACQUIRE))
        usleep(1000);
}

/* Returns the number of Cairn's thread; 0: there is none. */
static pid_t cairns_thread(pid_t process)
{
    char path[64], name[32];
    pid_t found = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && !found && (entry = readdir(folder));) {
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/comm", (int)process, entry->d_name);
        FILE *file = *entry->d_name == '.' ? NULL : fopen(path, "r");
        if (file && fgets(name, sizeof name, file) && strcmp(name, "cairn-sample\n") == 0)
            found = atoi(entry->d_name);
        if (file)
            fclose(file);
    }
    if (folder)
        closedir(folder);
    return found;
}

/* Stops Cairn's thread until `ms` after the second thread has asked. The same without Cairn, but
 * for the stop. Ends without exit handlers. */
static void stop_thread(pid_t process, unsigned ms)
{
    pid_t thread = cairns_thread(process);
    bool held = thread && ptrace(PTRACE_SEIZE, thread, 0, 0) == 0 &&
                ptrace(PTRACE_INTERRUPT, thread, 0, 0) == 0 &&
                waitpid(thread, NULL, __WALL) == thread;
    __atomic_store_n(&shared->released, !held, __ATOMIC_RELEASE);
    __atomic_store_n(&shared->stopped, thread && !held ? -1 : 1, __ATOMIC_RELEASE);
    await(&shared->asked);
    usleep(ms * 1000);
    __atomic_store_n(&shared->released, 1, __ATOMIC_RELEASE);
    if (held)
        ptrace(PTRACE_DETACH, thread, 0, 0);
    execl("/bin/true", "true", (char *)NULL);
    abort();
}

static void stop_long(pid_t process)
{
    stop_thread(process, LATE_MS);
}

static void stop_briefly(pid_t process)
{
    stop_thread(process, SOON_MS);
}

/* Starts a child that calls run() with this process, and sets `stopped`. Returns the child; 0: the
 * kernel does not allow it. */
static pid_t hold(void (*run)(pid_t process))
{
    share();
    pid_t own = getpid(), child = fork();
    prctl(PR_SET_PTRACER, child, 0, 0, 0);
    if (child == 0)
        run(own);
    await(&shared->stopped);
    if (shared->stopped == 1)
        return child;
    puts("not allowed");
    __atomic_store_n(&shared->asked, 1, __ATOMIC_RELEASE);
    waitpid(child, NULL, 0);
    return 0;
}

/* The thread does not end in time. */
static void late(void)
{
    work(30);
    pid_t child = hold(stop_long);
    __atomic_store_n(&shared->asked, 1, __ATOMIC_RELEASE);
    if (child && setegid(getegid()) != 0)
        fail("setegid");
    waitpid(child, NULL, 0);
    work(30);
}

static void *change_first(void *data)
{
    change_group();
    return data;
}

static void *wait_to_change(void *data)
{
    usleep(SOON_MS * 1000);
    __atomic_store_n(&shared->asked, 1, __ATOMIC_RELEASE);
    change_group();
    if (!shared->released)
        puts("a thread did not wait for the other one's change");
    return data;
}

/* Two threads change the group at once: Cairn's thread ends before both changes. */
static void two(void)
{
    pthread_t threads[2];
    work(30);
    pid_t child = hold(stop_briefly);
    if (!child)
        return;
    if (pthread_create(threads, NULL, change_first, NULL) != 0 ||
        pthread_create(threads + 1, NULL, wait_to_change, NULL) != 0)
        fail("thread");
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    waitpid(child, NULL, 0);
    compare_threads();
}

#ifdef __x86_64__
/* Returns true if a thread that has stopped at a system call wakes all who wait for something. */
static bool wakes_all(pid_t thread)
{
    struct user_regs_struct words;
    return ptrace(PTRACE_GETREGS, thread, 0, &words) == 0 && words.orig_rax == SYS_futex &&
           (int)words.rdx == INT_MAX;
}
#else
static bool wakes_all(pid_t thread)
{
    return thread == 0;
}
#endif

/* Sends a child a signal the first time that it wakes all who wait for something. Returns when the
 * child has ended. */
static void interrupt_waker(pid_t child)
{
    int status, is_sent = 0;
    bool traced = ptrace(PTRACE_SEIZE, child, 0, PTRACE_O_TRACESYSGOOD) == 0 &&
                  ptrace(PTRACE_INTERRUPT, child, 0, 0) == 0;
    __atomic_store_n(&shared->stopped, traced ? 1 : -1, __ATOMIC_RELEASE);
    while (waitpid(child, &status, __WALL) == child && WIFSTOPPED(status)) {
        bool calls = WSTOPSIG(status) == (SIGTRAP | 0x80), event = status >> 16;
        if (calls && !is_sent && wakes_all(child))
            is_sent = syscall(SYS_tgkill, child, child, SIGUSR1) == 0;
        ptrace(PTRACE_SYSCALL, child, 0, calls || event ? 0 : WSTOPSIG(status));
    }
}

static void handle(int number)
{
    if (setegid(getegid()) != 0)
        _exit(number);
}

/* A handler changes the group in the midst of exit(). */
static void ends(void)
{
    share();
    signal(SIGUSR1, handle);
    work(30);
    pid_t child = fork();
    if (child == 0) {
        __atomic_store_n(&shared->asked, 1, __ATOMIC_RELEASE);
        await(&shared->stopped);
        exit(0);
    }
    await(&shared->asked);
    interrupt_waker(child);
}

static const struct {
    const char *name;
    void (*run)(void);
} parts[] = {{"user", user}, {"filtered", filtered}, {"late", late}, {"two", two}, {"ends", ends}};

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (argc > 1 && strcmp(argv[1], parts[i].name) == 0)
            parts[i].run();
    puts("done");
    return failed ? 1 : 7;
}
