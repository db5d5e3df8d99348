/* SPDX-License-Identifier: MIT
 *
 * Starts a program of another root, by each function of libc that starts programs.
 *
 * usage: program ROOT; ROOT/bin/echo exists. Prints "hello" and the number of each function.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ECHO = 7, BIN = 8, SPAWN = 9, WAYS = 11 };

/* Starts the program in the calling process, or in a child from SPAWN on. */
static void start(int way, char *number)
{
    char name[] = "echo", hello[] = "hello", *const arguments[] = {name, hello, number, NULL};
    int file = open(way == ECHO ? "/bin/echo" : "/bin", O_PATH);
    pid_t child;
    switch (way) {
    case 0:
        execve("/bin/echo", arguments, environ);
        break;
    case 1:
        execv("/bin/echo", arguments);
        break;
    case 2:
        execvp("echo", arguments);
        break;
    case 3:
        execvpe("echo", arguments, environ);
        break;
    case 4:
        execl("/bin/echo", "echo", "hello", number, NULL);
        break;
    case 5:
        execlp("echo", "echo", "hello", number, NULL);
        break;
    case 6:
        execle("/bin/echo", "echo", "hello", number, NULL, environ);
        break;
    case ECHO:
        fexecve(file, arguments, environ);
        break;
    case BIN:
        execveat(file, "echo", arguments, environ, 0);
        break;
    case SPAWN:
        posix_spawn(&child, "/bin/echo", NULL, NULL, arguments, environ);
        break;
    default:
        posix_spawnp(&child, "echo", NULL, NULL, arguments, environ);
    }
    wait(NULL);
}

int main(int argc, char **argv)
{
    for (int way = 0; argc == 2 && way < WAYS; way++) {
        int status;
        char number[8];
        snprintf(number, sizeof number, "%d", way);
        pid_t child = way % 2 && way < SPAWN ? vfork() : fork();
        if (child == 0) {
            if (chroot(argv[1]) == 0 && chdir("/") == 0)
                start(way, number);
            _exit(way < SPAWN);
        }
        if (waitpid(child, &status, 0) != child || status)
            printf("not started by function %d\n", way);
    }
    return 0;
}
