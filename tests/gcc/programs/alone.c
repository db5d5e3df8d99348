/* SPDX-License-Identifier: MIT
 *
 * A program with one thread. Prints its way, whether the C library knew of one thread alone at the
 * begin and does so at the end, the number of threads that the kernel knows, and errno.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int handled;

static void handle(int number)
{
    handled += number == SIGBUS;
}

static void *run(void *data)
{
    return data;
}

static unsigned threads(void)
{
    struct stat folder;
    return stat("/proc/self/task", &folder) == 0 ? (unsigned)folder.st_nlink - 2 : 0;
}

__attribute__((noipa)) static int step(int n)
{
    usleep(300);
    return n + 1;
}

__attribute__((noipa)) static void work(void)
{
    int n = 0;
    while (n < 100)
        n = step(n);
}

/* A process sends the signal while the program blocks it. */
static void take_bus(void)
{
    sigset_t bus;
    sigemptyset(&bus);
    sigaddset(&bus, SIGBUS);
    signal(SIGBUS, handle);
    sigprocmask(SIG_BLOCK, &bus, NULL);
    kill(getpid(), SIGBUS);
    work();
    int early = handled;
    sigprocmask(SIG_UNBLOCK, &bus, NULL);
    printf("%d%d ", early, handled);
}

/* Returns the group of a thread; -1: it has ended. */
static int group_of(const char *thread)
{
    char path[64], line[256];
    int group = -1;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/status", thread);
    FILE *file = fopen(path, "r");
    while (file && group < 0 && fgets(line, sizeof line, file))
        if (sscanf(line, "Gid: %*d %d", &group) != 1)
            group = -1;
    if (file)
        fclose(file);
    return group;
}

/* Changes the group, if the user may. No thread keeps the old one. */
static void change_group(void)
{
    gid_t other = geteuid() == 0 ? 65534 : getegid();
    if (setegid(other) != 0)
        printf("not set ");
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        int group = *entry->d_name == '.' ? -1 : group_of(entry->d_name);
        if (group >= 0 && (gid_t)group != other)
            printf("not all set ");
    }
    if (folder)
        closedir(folder);
}

/* The child shares the memory, and has no thread but its own. */
static void take_vfork(void)
{
    pid_t child = vfork();
    if (child == 0)
        _exit(setegid(getegid()));
    waitpid(child, NULL, 0);
}

/* Prints the error. The kernel refuses both to a process with several threads. */
static void change_namespace(const char *way)
{
    int result = strcmp(way, "user namespace") == 0
                     ? unshare(CLONE_NEWUSER)
                     : setns(open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC), CLONE_NEWNS);
    printf("%d ", result == 0 ? 0 : errno);
}

static void take_way(const char *way)
{
    pthread_t thread;
    if (strcmp(way, "bus") == 0)
        take_bus();
    else if (strcmp(way, "cut") == 0 && truncate("x.cairn", 0) != 0)
        printf("not cut ");
    else if (strcmp(way, "group") == 0)
        change_group();
    else if (strcmp(way, "thread") == 0 || strcmp(way, "cut after thread") == 0) {
        if (pthread_create(&thread, NULL, run, NULL) == 0)
            pthread_join(thread, NULL);
        if (strcmp(way, "thread") != 0 && (truncate("x.cairn", 0) != 0 || usleep(100000) != 0))
            printf("not cut ");
    } else if (strcmp(way, "vfork") == 0) {
        take_vfork();
    } else if (strstr(way, "namespace")) {
        change_namespace(way);
    } else if (strcmp(way, "fork") == 0 && fork() != 0)
        wait(NULL);
}

int main(int count, char **words)
{
    const char *way = words[count - 1];
    char alone = __libc_single_threaded;
    work();
    take_way(way);
    errno = ECHILD;
    work();
    int error = errno;
    printf("%s %d%d %u %d\n", way, alone, __libc_single_threaded, threads(), error == ECHILD);
    fflush(stdout);
    if (strcmp(way, "end") == 0)
        pthread_exit(NULL);
    return 0;
}
