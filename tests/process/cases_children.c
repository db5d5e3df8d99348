/* SPDX-License-Identifier: MIT
 *
 * cases_children.c - fork, vfork, exec, spawn, daemons. A child's events are in a capture of its
 * own, not in its parent's.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

extern char **environ;

static char *const reporter[] = {(char *)"program", (char *)"--report", NULL};

static const char *self(void)
{
    static char path[512];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    must(length > 0, "/proc/self/exe");
    path[length] = 0;
    return path;
}

static pid_t fork_quietly(void)
{
    fflush(stdout);
    pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0)
        count_for_child();
    return child;
}

CASE(child_works_and_exits, 0)
{
    work(100);
    enter(LAST);
    pid_t child = fork_quietly();
    if (child == 0) {
        leave(); /* returns from the parent's call */
        work(1000);
        grow(0, MANY_COUNT);
        report();
        exit(11);
    }
    leave();
    work(100);
    await(child, "child");
    work(100);
    checked();
}

CASE(child_closes_the_profile, 0)
{
    enter(LAST);
    pid_t child = fork_quietly();
    if (child == 0) {
        leave();
        work(100);
        end();
        report();
        _exit(12);
    }
    leave();
    await(child, "child");
    work(100);
    checked();
}

CASE(children_of_children, 0)
{
    for (int i = 0; i < 5; i++) {
        pid_t child = fork_quietly();
        work(20);
        if (child == 0) {
            pid_t grandchild = fork_quietly();
            work(20);
            if (grandchild == 0)
                _exit(13);
            await(grandchild, "grandchild");
            _exit(14);
        }
        await(child, "child");
    }
    checked();
}

CASE(child_closes_all_descriptors, 0)
{
    enter(LAST);
    pid_t child = fork_quietly();
    if (child == 0) {
        closefrom(3);
        leave();
        grow(0, MANY_COUNT);
        report();
        _exit(15);
    }
    await(child, "child");
    leave();
    grow(0, 3000);
    checked();
}

CASE(forks_after_closing_all_descriptors, 0)
{
    grow(0, 1000);
    closefrom(3);
    int file = open(self(), O_RDONLY | O_CLOEXEC);
    pid_t child = fork_quietly();
    if (child == 0) {
        grow(1000, 3000);
        report();
        _exit(16);
    }
    await(child, "child");
    close(file);
    grow(1000, 1000);
    checked();
}

CASE(parent_goes_first, 0)
{
    int ends[2];
    char byte;
    must(pipe2(ends, O_CLOEXEC) == 0, "pipe");
    work(100);
    pid_t child = fork_quietly();
    if (child == 0) {
        close(ends[1]);
        if (read(ends[0], &byte, 1) == 0)
            work(100);
        printf("the child goes on\n");
        exit(0);
    }
    enter(LAST);
    checked();
    _exit(17);
}

static void *fork_on_a_thread(void *data)
{
    begin_thread();
    work(100);
    pid_t child = fork_quietly();
    if (child == 0) {
        work(100);
        _exit(18);
    }
    work(100);
    await(child, "child");
    return data;
}

/* A sanitizer's own memory is inconsistent in such a child. */
CASE(forks_while_other_threads_work, NO_SANITIZER)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, fork_on_a_thread, NULL);
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, fork_on_a_thread, NULL);
    work(100);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    checked();
}

/* ---- exec ---- */

CASE(becomes_another_program, 0)
{
    work(1000);
    enter(LAST);
    checked();
    execv(self(), reporter);
}

CASE(cannot_become_another_program, 0)
{
    work(100);
    int result = execv("/nowhere/at/all", reporter);
    printf("%d %s\n", result, strerror(errno));
    work(100);
    checked();
}

CASE(child_becomes_another_program, 0)
{
    work(100);
    pid_t child = fork_quietly();
    if (child == 0) {
        work(10);
        execv(self(), reporter);
    }
    await(child, "child");
    work(100);
    checked();
}

/* A child of vfork shares its parent's memory, so its events count in the parent. */
CASE(vfork_and_exec, 0)
{
    const char *program = self();
    work(100);
    fflush(stdout);
    pid_t child = vfork();
    if (child == 0) {
        enter(WORK);
        leave();
        execv(program, reporter);
        _exit(19);
    }
    await(child, "child");
    work(100);
    checked();
}

CASE(posix_spawn_of_a_program, 0)
{
    pid_t child;
    work(100);
    fflush(stdout);
    must(posix_spawn(&child, self(), NULL, NULL, reporter, environ) == 0, "posix_spawn");
    work(100);
    await(child, "child");
    checked();
}

CASE(system_and_popen, 0)
{
    char line[64] = "";
    work(100);
    printf("%x\n", (unsigned)system("exit 5"));
    FILE *pipe = popen("echo from a shell; ls /proc/self/fd | wc -l", "r");
    must(pipe != NULL, "popen");
    while (fgets(line, sizeof line, pipe))
        printf("%s", line);
    printf("%x\n", (unsigned)pclose(pipe));
    work(100);
    checked();
}

/* The child's environment has no variable of Cairn's, and LD_* as the program set it. */
CASE(environment_is_its_own, 0)
{
    for (char **variable = environ; *variable; variable++)
        printf("%s\n", *variable);
    checked();
}

/* ---- daemons ---- */

static void daemonise(void)
{
    truth *shared = own;
    pid_t first = fork_quietly();
    if (first != 0) {
        while (!shared->finished)
            usleep(100);
        await(first, "first child");
        return;
    }
    setsid();
    if (fork_quietly() != 0)
        _exit(20);
    must(chdir("/") == 0, "chdir");
    umask(027);
    closefrom(3);
    leave();
    work(100);
    grow(0, MANY_COUNT);
    report();
    shared->finished = 1;
    exit(0);
}

CASE(becomes_a_daemon, NO_SANITIZER)
{
    work(100);
    enter(LAST);
    daemonise();
    leave();
    checked();
}

/* Opens the profile in the daemon. */
CASE(profiles_itself_as_a_daemon, LATE)
{
    fflush(stdout);
    if (fork() != 0)
        _exit(21);
    setsid();
    if (fork() != 0)
        _exit(22);
    must(chdir("/") == 0, "chdir");
    closefrom(3);
    begin();
    work(100);
    grow(0, MANY_COUNT);
    checked();
}

CASE(daemon_of_the_library, NO_SANITIZER)
{
    work(100);
    fflush(stdout);
    enter(LAST);
    checked();
    pid_t before = getpid();
    must(daemon(1, 1) == 0, "daemon");
    count_for_child();
    leave();
    work(100);
    printf("%s\n", getpid() != before ? "another process" : "the same process");
}
