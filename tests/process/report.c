/* SPDX-License-Identifier: MIT
 *
 * report.c - everything that a program can find out about itself. Three necessary effects of
 * profiling are left out: threads named "cairn", the capture's descriptor, and the signal of
 * timers.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "program.h"

/* Captures that are written. */
static struct stat captures[16];
static int capture_count;

void report_without(const char *path)
{
    if (capture_count < 16 && stat(path, &captures[capture_count]) == 0)
        capture_count++;
}

void report_with_all(void)
{
    capture_count = 0;
}

static bool is_capture(int file, int flags)
{
    struct stat found;
    if (file <= STDERR_FILENO || !(flags & FD_CLOEXEC) || fstat(file, &found) != 0)
        return false;
    for (int i = 0; i < capture_count; i++)
        if (found.st_ino == captures[i].st_ino && found.st_dev == captures[i].st_dev)
            return true;
    return false;
}

static void report_signals(void)
{
    sigset_t mask, waiting;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    sigpending(&waiting);
    for (int signal = 1; signal < NSIG; signal++) {
        struct sigaction action;
        if (signal == SIGRTMAX - 1 || sigaction(signal, NULL, &action) != 0)
            continue;
        bool usual = action.sa_handler == SIG_DFL;
        bool masked = sigismember(&mask, signal), pending = sigismember(&waiting, signal);
        if (usual && !masked && !pending)
            continue;
        printf("signal %d:%s%s%s flags %x\n", signal,
               usual                          ? " default"
               : action.sa_handler == SIG_IGN ? " ignored"
                                              : " handled",
               masked ? " masked" : "", pending ? " pending" : "", (unsigned)action.sa_flags);
    }
    stack_t stack;
    sigaltstack(NULL, &stack);
    printf("alternate stack: %s, %zu\n", stack.ss_flags & SS_DISABLE ? "no" : "yes",
           stack.ss_flags & SS_DISABLE ? 0 : stack.ss_size);
}

/* A child's capture is created at the child's first event. */
static void leave_out_childs(void)
{
    char path[512];
    size_t length = capture_path ? strlen(capture_path) : 0;
    if (length <= strlen(".cairn") || length > sizeof path - 32)
        return;
    snprintf(path, sizeof path, "%.*s.%d.cairn", (int)(length - strlen(".cairn")), capture_path,
             (int)getpid());
    report_without(path);
}

static void report_descriptors(void)
{
    leave_out_childs();
    printf("descriptors:");
    for (int file = 0; file < 4096; file++) {
        int flags = fcntl(file, F_GETFD);
        if (flags < 0 || is_capture(file, flags))
            continue;
        printf(" %d(%x)", file, (unsigned)flags);
    }
    int next = open("/", O_RDONLY | O_CLOEXEC);
    printf("; next %d\n", next);
    if (next >= 0)
        close(next);
}

static void report_limits(void)
{
    for (int resource = 0; resource < RLIM_NLIMITS; resource++) {
        struct rlimit limit;
        if (getrlimit((__rlimit_resource_t)resource, &limit) == 0)
            printf("limit %d: %llx %llx\n", resource, (unsigned long long)limit.rlim_cur,
                   (unsigned long long)limit.rlim_max);
    }
}

static int count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks)
        return 0;
    int count = 0;
    for (struct dirent *task; (task = readdir(tasks));) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *file = task->d_name[0] == '.' ? NULL : fopen(path, "re");
        if (!file)
            continue;
        count += !fgets(name, sizeof name, file) || strncmp(name, "cairn", strlen("cairn")) != 0;
        fclose(file);
    }
    closedir(tasks);
    return count;
}

/* The system may list a thread for a moment after it was joined. */
static void report_threads(void)
{
    int least = count_threads();
    for (int i = 0; i < 20 && least > 1; i++) {
        usleep(500);
        int count = count_threads();
        least = count < least ? count : least;
    }
    printf("threads: %d\n", least);
}

static void report_rest(void)
{
    for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++) {
        struct itimerval timer;
        getitimer((__itimer_which_t)which, &timer);
        printf("timer %d: every %ld us\n", which,
               timer.it_interval.tv_sec * 1000000L + timer.it_interval.tv_usec);
    }
    mode_t mask = umask(0);
    umask(mask);
    char directory[512] = "", name[32] = "";
    bool found = getcwd(directory, sizeof directory) != NULL;
    prctl(PR_GET_NAME, name);
    printf("umask %o, directory %s, name %s, nice %d, scheduler %d, dumpable %d\n", (unsigned)mask,
           found ? directory : "none", name, getpriority(PRIO_PROCESS, 0), sched_getscheduler(0),
           prctl(PR_GET_DUMPABLE));
    cpu_set_t processors;
    sched_getaffinity(0, sizeof processors, &processors);
    printf("processors %d, session leader %d, group leader %d\n", CPU_COUNT(&processors),
           getsid(0) == getpid(), getpgrp() == getpid());
}

void report(void)
{
    errno = 0;
    report_signals();
    report_descriptors();
    report_limits();
    report_threads();
    report_rest();
    fflush(stdout);
}
