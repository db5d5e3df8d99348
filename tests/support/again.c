/* SPDX-License-Identifier: MIT
 *
 * again.c - see again.h.
 */
#include "support/again.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/cases.h"
#include "support/scratch.h"

int again_play(const again_role *roles, size_t count, const char *name)
{
    alarm(120);
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, roles[i].name) == 0) {
            roles[i].run();
            return 0;
        }
    return WRONG;
}

_Noreturn void again_begin(const char *name)
{
    enum { COMMAND_SIZE = 3 * PATH_MAX };
    const char *emulator = getenv("CAIRN_TEST_EMULATOR");
    char path[PATH_MAX], command[COMMAND_SIZE];
    if (!emulator) {
        execl("/proc/self/exe", name, name, NULL);
    } else if (realpath("/proc/self/exe", path)) {
        snprintf(command, sizeof command, "exec %s -0 '%s' '%s' '%s'", emulator, name, path, name);
        execl("/bin/sh", "sh", "-c", command, NULL);
    }
    _exit(127);
}

static pid_t start(const char *name, const char *path, const char *variable, const char *value)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    if (path)
        setenv("CAIRN_OUT", path, 1);
    else
        unsetenv("CAIRN_OUT");
    if (variable)
        setenv(variable, value, 1);
    again_begin(name);
}

pid_t again_run(const char *name, const char *path, const char *variable, const char *value,
                int expected)
{
    int status = 0;
    pid_t child = start(name, path, variable, value);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != expected)
        fail_msg("%s: its status is %x", name, (unsigned)status);
    return child;
}

recorded again_record(const char *name)
{
    char path[SCRATCH_PATH], file[64];
    static int runs;
    snprintf(file, sizeof file, "run-%d.cairn", ++runs);
    again_run(name, scratch_path(path, file), NULL, NULL, 0);
    recorded recorded = recorded_load(path);
    assert_string_equal(crn_profile_note(recorded.profile, "state", ""), "closed");
    return recorded;
}
