/* SPDX-License-Identifier: MIT
 *
 * Opens the names of MLton's mlmon.out: a file, or what the program prints.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/common/cli.h"
#include "convert.h"

enum { BYTES_MAX = 64 << 20, LIMIT_S = 30 };

extern char **environ;

/* Returns true for an ELF file and for a script with #!. */
static bool is_program(const char *path)
{
    char head[4] = "";
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t size = file >= 0 ? read(file, head, sizeof head) : 0;
    if (file >= 0)
        close(file);
    return (size >= 4 && memcmp(head, "\177ELF", 4) == 0) ||
           (size >= 2 && memcmp(head, "#!", 2) == 0);
}

/* Starts the program in a process group of its own. Returns its pid; 0 on an error, with errno
 * set. */
static pid_t start(const char *path, int output)
{
    const char *const words[] = {path, "@MLton", "show-sources", "--", NULL};
    pid_t child = 0;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    errno = posix_spawn(&child, path, &actions, &attributes, (char *const *)words, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return errno ? 0 : child;
}

static int ms_left(const struct timespec *end)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    long ms = (end->tv_sec - now.tv_sec) * 1000 + (end->tv_nsec - now.tv_nsec) / 1000000;
    return ms > 0 ? (int)ms : 0;
}

/* Waits until the program exits; kills its process group at the time `end`. */
static int wait_for_end(pid_t child, const struct timespec *end)
{
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (!ms_left(end))
            kill(-child, SIGKILL);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return status;
}

/* Copies all of the program's output, until the time `end` at most. Returns NULL; or why a part is
 * missing. */
static const char *copy(int from, int to, const struct timespec *end)
{
    static char bytes[1 << 16];
    size_t all = 0;
    for (;;) {
        struct pollfd ready = {.fd = from, .events = POLLIN};
        int count = poll(&ready, 1, ms_left(end));
        if (count == 0)
            return "takes longer than 30 s to print its sources";
        if (count < 0 && errno == EINTR)
            continue; /* a read would have no limit of time */
        if (count < 0)
            return strerror(errno);
        ssize_t size = read(from, bytes, sizeof bytes);
        if (size <= 0)
            return size < 0 ? strerror(errno) : NULL;
        if ((all += (size_t)size) > BYTES_MAX)
            return "prints more than 64 MiB";
        if (write(to, bytes, (size_t)size) != size)
            return strerror(errno);
    }
}

/* Runs the program. Returns a descriptor of its output; on an error prints a message and returns
 * -1. */
static int ask(const char *path)
{
    int pipe[2] = {-1, -1}, status = 0, text = memfd_create("sources", MFD_CLOEXEC);
    pid_t child = text >= 0 && pipe2(pipe, O_CLOEXEC) == 0 ? start(path, pipe[1]) : 0;
    const char *problem = child ? NULL : strerror(errno);
    if (pipe[1] >= 0)
        close(pipe[1]);
    if (child) {
        struct timespec end;
        clock_gettime(CLOCK_MONOTONIC, &end);
        end.tv_sec += LIMIT_S;
        problem = copy(pipe[0], text, &end);
        if (problem)
            kill(-child, SIGKILL);
        status = wait_for_end(child, &end);
    }
    if (pipe[0] >= 0)
        close(pipe[0]);
    if (!problem && (!WIFEXITED(status) || WEXITSTATUS(status)))
        problem = "does not understand @MLton show-sources --: was it compiled by MLton with "
                  "-profile?";
    if (!problem && lseek(text, 0, SEEK_SET) == 0)
        return text;
    crn_cli_fail("%s: %s", path, problem);
    if (text >= 0)
        close(text);
    return -1;
}

crn_source *crn_convert_sources(const char *path, bool run)
{
    crn_error error = {0};
    crn_source *source = NULL;
    if (!is_program(path)) {
        source = crn_source_open(path, &error);
    } else if (!run) {
        crn_cli_fail("%s: is a program; add --run to run it with @MLton show-sources --", path);
        return NULL;
    } else {
        int text = ask(path);
        if (text < 0)
            return NULL;
        source = crn_source_from(text, path, &error);
    }
    if (!source)
        crn_cli_fail("%s", error.message);
    return source;
}
