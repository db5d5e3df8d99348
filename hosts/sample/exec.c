/* SPDX-License-Identifier: MIT
 *
 * Programs that are started where this library is not: after a chroot, in a container. The loader
 * would print into them that it cannot preload the library, so functions that start programs leave
 * it out of LD_PRELOAD. They may run in a child of vfork, which has its parent's memory: what they
 * change is on the stack.
 */
#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "sample.h"

#define EXPORT __attribute__((visibility("default")))

typedef enum { EXECVE, EXECVPE, FEXECVE, EXECVEAT, SPAWN, SPAWNP } start_function;

/* A call that starts a program, without its environment. */
typedef struct start {
    start_function function;
    const char *path;
    char *const *arguments;
    int file, flags;
    pid_t *child;
    const posix_spawn_file_actions_t *actions;
    const posix_spawnattr_t *attributes;
} start;

static struct {
    const char *library; /* this library's path, as LD_PRELOAD has it */
    __typeof__(execve) *execve;
    __typeof__(execvpe) *execvpe;
    __typeof__(fexecve) *fexecve;
    __typeof__(execveat) *execveat;
    __typeof__(posix_spawn) *posix_spawn, *posix_spawnp;
} found;

/* Runs early, as a child of vfork may not find them. */
__attribute__((constructor)) static void find_functions(void)
{
    Dl_info info;
    if (dladdr(&found, &info))
        found.library = info.dli_fname;
    *(void **)&found.execve = dlsym(RTLD_NEXT, "execve");
    *(void **)&found.execvpe = dlsym(RTLD_NEXT, "execvpe");
    *(void **)&found.fexecve = dlsym(RTLD_NEXT, "fexecve");
    *(void **)&found.execveat = dlsym(RTLD_NEXT, "execveat");
    *(void **)&found.posix_spawn = dlsym(RTLD_NEXT, "posix_spawn");
    *(void **)&found.posix_spawnp = dlsym(RTLD_NEXT, "posix_spawnp");
}

static int call(const start *its, char *const environment[])
{
    switch (its->function) {
    case EXECVE:
        return found.execve(its->path, its->arguments, environment);
    case EXECVPE:
        return found.execvpe(its->path, its->arguments, environment);
    case FEXECVE:
        return found.fexecve(its->file, its->arguments, environment);
    case EXECVEAT:
        return found.execveat(its->file, its->path, its->arguments, environment, its->flags);
    case SPAWN:
        return found.posix_spawn(its->child, its->path, its->actions, its->attributes,
                                 its->arguments, environment);
    default:
        return found.posix_spawnp(its->child, its->path, its->actions, its->attributes,
                                  its->arguments, environment);
    }
}

/* ---- the environment ---- */

static const char preload[] = "LD_PRELOAD=";

/* Returns this library's entry in a list of libraries; NULL if it has none. */
static const char *entry_in(const char *list)
{
    size_t length = strlen(found.library);
    const char *at = strstr(list, found.library);
    while (at && ((at > list && !strchr(": ", at[-1])) || !strchr(": ", at[length])))
        at = strstr(at + 1, found.library);
    return at;
}

/* Returns true if there is no such file. A thread whose filter may forbid the question does not
 * ask. */
static bool is_missing(const char *library)
{
    int saved = errno;
    bool missing = !crn_sample_filtered && access(library, R_OK) != 0;
    errno = saved;
    return missing;
}

static char *const *find_preload(char *const environment[])
{
    while (environment && *environment && strncmp(*environment, preload, sizeof preload - 1) != 0)
        environment++;
    return environment && *environment && found.library &&
                   entry_in(*environment + sizeof preload - 1)
               ? environment
               : NULL;
}

/* Calls with this library left out of the variable `at` of the environment. */
static int call_without(const start *its, char *const environment[], char *const *at)
{
    size_t count = 0, length = strlen(*at), own = strlen(found.library);
    while (environment[count])
        count++;
    char *copy[count + 1], list[length + 1];
    memcpy(copy, environment, (count + 1) * sizeof *copy);
    memcpy(list, *at, length + 1);
    char *entry = list + (entry_in(*at + sizeof preload - 1) - *at), *after = entry + own;
    after += *after != 0; /* with its separator */
    memmove(entry, after, strlen(after) + 1);
    copy[at - environment] = list;
    return call(its, copy);
}

static int run(const start *its, char *const environment[])
{
    if (!found.execve)
        find_functions();
    char *const *at = find_preload(environment);
    return at && is_missing(found.library) ? call_without(its, environment, at)
                                           : call(its, environment);
}

/* ---- libc's functions ---- */

EXPORT int execve(const char *path, char *const arguments[], char *const environment[])
{
    return run(&(start){.function = EXECVE, .path = path, .arguments = arguments}, environment);
}

EXPORT int execv(const char *path, char *const arguments[])
{
    return execve(path, arguments, environ);
}

EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[])
{
    return run(&(start){.function = EXECVPE, .path = file, .arguments = arguments}, environment);
}

EXPORT int execvp(const char *file, char *const arguments[])
{
    return execvpe(file, arguments, environ);
}

EXPORT int fexecve(int file, char *const arguments[], char *const environment[])
{
    return run(&(start){.function = FEXECVE, .file = file, .arguments = arguments}, environment);
}

EXPORT int execveat(int folder, const char *path, char *const arguments[],
                    char *const environment[], int flags)
{
    return run(&(start){.function = EXECVEAT,
                        .file = folder,
                        .path = path,
                        .arguments = arguments,
                        .flags = flags},
               environment);
}

/* Defines a function that takes the program's arguments one by one, up to NULL. */
#define EXEC_LIST(name, ENVIRONMENT, function)                                                     \
    EXPORT int name(const char *path, const char *first, ...)                                      \
    {                                                                                              \
        va_list rest;                                                                              \
        size_t count = 1;                                                                          \
        va_start(rest, first);                                                                     \
        while (va_arg(rest, char *))                                                               \
            count++;                                                                               \
        va_end(rest);                                                                              \
        char *arguments[count + 1];                                                                \
        arguments[0] = (char *)first;                                                              \
        va_start(rest, first);                                                                     \
        for (size_t i = 1; i <= count; i++)                                                        \
            arguments[i] = va_arg(rest, char *);                                                   \
        char *const *environment = ENVIRONMENT;                                                    \
        va_end(rest);                                                                              \
        return function(path, arguments, environment);                                             \
    }

EXEC_LIST(execl, environ, execve)
EXEC_LIST(execlp, environ, execvpe)
EXEC_LIST(execle, va_arg(rest, char *const *), execve)

EXPORT int posix_spawn(pid_t *restrict child, const char *restrict path,
                       const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *restrict attributes, char *const arguments[],
                       char *const environment[])
{
    return run(&(start){.function = SPAWN,
                        .path = path,
                        .arguments = arguments,
                        .child = child,
                        .actions = actions,
                        .attributes = attributes},
               environment);
}

EXPORT int posix_spawnp(pid_t *restrict child, const char *restrict file,
                        const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *restrict attributes, char *const arguments[],
                        char *const environment[])
{
    return run(&(start){.function = SPAWNP,
                        .path = file,
                        .arguments = arguments,
                        .child = child,
                        .actions = actions,
                        .attributes = attributes},
               environment);
}
