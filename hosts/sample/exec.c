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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../native/variables.h"
#include "sample.h"

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

/* ---- the environment ---- */

static const char preload[] = "LD_PRELOAD=";

static char *const *find_preload(char *const environment[])
{
    while (environment && *environment && strncmp(*environment, preload, sizeof preload - 1) != 0)
        environment++;
    return environment && *environment ? environment : NULL;
}

/* Returns true if this library's file is not there. A thread whose filter may forbid the question
 * does not ask. */
static bool is_missing(void)
{
    int saved = errno;
    bool missing = found.library && !crn_sample_filtered && access(found.library, R_OK) != 0;
    errno = saved;
    return missing;
}

static size_t entries(char *const environment[])
{
    size_t count = 0;
    while (environment[count])
        count++;
    return count;
}

/* Returns how many words `without_library` needs; 0 if the environment can stay as it is. */
static size_t words_for(char *const environment[])
{
    if (!found.execve)
        find_functions();
    char *const *at = find_preload(environment);
    if (!at || !is_missing())
        return 0;
    return entries(environment) + 1 + strlen(*at) / sizeof(char *) + 1;
}

/* Copies the environment to `words`, without this library in LD_PRELOAD. */
static char *const *without_library(char *const environment[], char *words[])
{
    size_t count = entries(environment);
    char *const *at = find_preload(environment);
    char *list = (char *)&words[count + 1];
    memcpy(words, environment, (count + 1) * sizeof *words);
    words[at - environment] = strcpy(list, *at);
    crn_preload_remove(list + sizeof preload - 1, "libcairn-sample.so");
    return words;
}

/* Sets the parameter `environment` to what the program is to get, on the caller's stack. */
#define FIT(environment)                                                                           \
    size_t count_of_words = words_for(environment);                                                \
    char *words[count_of_words + 1];                                                               \
    if (count_of_words)                                                                            \
    environment = without_library(environment, words)

/* ---- libc's functions ---- */

EXPORT int execve(const char *path, char *const arguments[], char *const environment[])
{
    FIT(environment);
    return found.execve(path, arguments, environment);
}

EXPORT int execv(const char *path, char *const arguments[])
{
    return execve(path, arguments, environ);
}

EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[])
{
    FIT(environment);
    return found.execvpe(file, arguments, environment);
}

EXPORT int execvp(const char *file, char *const arguments[])
{
    return execvpe(file, arguments, environ);
}

EXPORT int fexecve(int file, char *const arguments[], char *const environment[])
{
    FIT(environment);
    return found.fexecve(file, arguments, environment);
}

EXPORT int execveat(int folder, const char *path, char *const arguments[],
                    char *const environment[], int flags)
{
    FIT(environment);
    return found.execveat(folder, path, arguments, environment, flags);
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
    FIT(environment);
    return found.posix_spawn(child, path, actions, attributes, arguments, environment);
}

EXPORT int posix_spawnp(pid_t *restrict child, const char *restrict file,
                        const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *restrict attributes, char *const arguments[],
                        char *const environment[])
{
    FIT(environment);
    return found.posix_spawnp(child, file, actions, attributes, arguments, environment);
}

/* ---- the program before ---- */

bool crn_sample_follows_exec(void)
{
    enum { DIGITS = 10 };
    char *text = secure_getenv("CAIRN_SAMPLE_PROCESS"), own[DIGITS + 1];
    if (!text || strlen(text) != DIGITS)
        return false;
    snprintf(own, sizeof own, "%0*d", DIGITS, (int)getpid());
    bool same = strcmp(text, own) == 0;
    memcpy(text, own, DIGITS);
    return same;
}
