/* SPDX-License-Identifier: MIT
 *
 * Compares Cairn's unwinder with libdw's, on stacks of a real program that is interrupted at any
 * instruction; both unwinders walk the same copies:
 *
 *   bench-unwind COUNT COMMAND...           by a clock's event of the kernel
 *   bench-unwind COUNT --pid PID            the same, of a process that runs
 *   bench-unwind COUNT --stops COMMAND...   by ptrace
 *
 * Prints how many stacks are equal, and by cause those that are not.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stacks.h"

static pid_t start(char **command, int *go)
{
    int pipes[2];
    char byte;
    if (pipe2(pipes, O_CLOEXEC) != 0)
        exit(1);
    pid_t child = fork();
    if (child == 0) {
        close(pipes[1]);
        if (read(pipes[0], &byte, 1) < 0) /* until the events are open */
            _exit(127);
        if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
            _exit(127);
        execvp(command[0], command);
        _exit(127);
    }
    close(pipes[0]);
    *go = pipes[1];
    return child;
}

static bool compare_once(comparison *all, uint64_t most, bool by_stops, bool attach, int go)
{
    all->space = crn_space_of(all->process);
    all->is_stale = true;
    return by_stops ? compare_stops(all, most, go) : compare_samples(all, most, !attach, go);
}

int main(int count, char **arguments)
{
    static comparison all;
    if (count < 3) {
        fputs("usage: bench-unwind COUNT [--stops] COMMAND... | bench-unwind COUNT --pid PID\n",
              stderr);
        return 2;
    }
    uint64_t most = strtoull(arguments[1], NULL, 10);
    bool attach = strcmp(arguments[2], "--pid") == 0 && count == 4;
    bool by_stops = strcmp(arguments[2], "--stops") == 0 && count > 3;
    bool ended = true;
    while (all.compared < most && ended) { /* a program that ends runs again */
        int go = -1;
        uint64_t before = all.compared;
        all.process = attach ? atoi(arguments[3]) : start(&arguments[by_stops ? 3 : 2], &go);
        ended = compare_once(&all, most, by_stops, attach, go);
        if (all.dwfl)
            dwfl_end(all.dwfl);
        all.dwfl = NULL;
        if (!ended && !attach) {
            kill(all.process, SIGKILL);
            while (waitpid(-1, NULL, __WALL) > 0) /* each thread that was traced, too */
                ;
        }
        if (attach || all.compared == before)
            break;
    }
    show_comparison(&all);
    return all.compared < most;
}
