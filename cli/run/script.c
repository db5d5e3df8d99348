/* SPDX-License-Identifier: MIT
 *
 * Runs scripts whose first line names an interpreter (#!).
 */
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "cli/common/cli.h"
#include "run.h"

enum { DEPTH_MAX = 5 }; /* as in the kernel */

/* Parses the #! line like the kernel: an interpreter, and the rest as one argument, "" if there is
 * none. Both are in `line`. Returns false without such a line. */
static bool read_line(const char *path, char line[PATH_MAX], char **interpreter, char **argument)
{
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return false;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t size = read(file, line, PATH_MAX - 1);
    close(file);
    line[size > 0 ? size : 0] = '\0';
    if (strncmp(line, "#!", 2) != 0)
        return false;
    line[strcspn(line, "\n")] = '\0';
    *interpreter = line + 2 + strspn(line + 2, " \t");
    *argument = *interpreter + strcspn(*interpreter, " \t");
    if (**argument)
        *(*argument)++ = '\0';
    *argument += strspn(*argument, " \t");
    for (char *end = *argument + strlen(*argument); end > *argument && strchr(" \t", end[-1]);
         end--)
        end[-1] = '\0';
    return **interpreter != '\0';
}

char *crn_run_script_interpreter(const char *path)
{
    char line[PATH_MAX], *interpreter, *argument;
    bool suffixed = crn_run_suffix(path);
    if (!read_line(path, line, &interpreter, &argument) || (suffixed && access(path, X_OK) != 0))
        return NULL;
    if (strcmp(crn_path_name(interpreter), "env") == 0)
        interpreter = argument;
    if (suffixed && (!*interpreter || *interpreter == '-'))
        return NULL;
    return crn_run_is_interpreter(interpreter) ? NULL : crn_strdup(interpreter);
}

/* Changes a run of #!/usr/bin/env NAME into one of NAME, so that NAME is profiled, not env. */
static bool leave_env(crn_run *run, int *count, const char *argument)
{
    char found[PATH_MAX];
    if (!*argument || *argument == '-' || strpbrk(argument, "= \t"))
        return crn_cli_fail("%s: its first line names no interpreter to profile: write cairn run "
                            "INTERPRETER %s",
                            run->path, run->path) == CRN_EXIT_OK;
    if (!crn_run_find_on_path(argument, found))
        return crn_cli_fail("%s: its interpreter, %s, is not on the PATH", run->path, argument) ==
               CRN_EXIT_OK;
    char **program = crn_calloc((size_t)*count + 2, sizeof *program);
    program[0] = crn_strdup(argument);
    program[1] = crn_strdup(run->path);
    memcpy(program + 2, run->program + 1, ((size_t)*count - 1) * sizeof *program);
    run->program = program;
    run->path = crn_strdup(found);
    ++*count;
    return true;
}

bool crn_run_script(crn_run *run, int count)
{
    char line[PATH_MAX], *interpreter, *argument;
    /* NAME of #!/usr/bin/env may be a script, too. */
    for (int depth = 0; depth < DEPTH_MAX; depth++) {
        if (!read_line(run->path, line, &interpreter, &argument))
            return crn_run_choose_sampler(run, run->path);
        if (strcmp(crn_path_name(interpreter), "env") != 0)
            return crn_run_choose_sampler(run, interpreter); /* the kernel starts the interpreter */
        if (!leave_env(run, &count, argument))
            return false;
    }
    return crn_cli_fail("%s: too many scripts that name other scripts as interpreter", run->path) ==
           CRN_EXIT_OK;
}
