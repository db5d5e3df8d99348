/* SPDX-License-Identifier: MIT
 *
 * What a program's children have left: x.PID.cairn beside x.cairn.
 */
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli.h"
#include "run.h"

/* x.cairn -> x.[0-9]*.cairn, whatever x is made of. */
static char *pattern_of(const char *output)
{
    static const char suffix[] = ".cairn", digits[] = ".[0-9]*";
    size_t length = strlen(output), end = sizeof suffix - 1;
    bool has = length > end && strcmp(output + length - end, suffix) == 0;
    char *pattern = crn_calloc(2 * length + sizeof digits + sizeof suffix, 1), *at = pattern;
    for (size_t i = 0; i < length - (has ? end : 0); i++) {
        if (strchr("*?[]\\", output[i]))
            *at++ = '\\';
        *at++ = output[i];
    }
    sprintf(at, "%s%s", digits, has ? suffix : "");
    return pattern;
}

void crn_run_tell_children(const crn_run *run, const struct timespec *since)
{
    if (run->quiet || !isatty(STDERR_FILENO))
        return;
    glob_t found;
    char *pattern = pattern_of(run->output);
    size_t children = 0;
    if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            struct stat status;
            children += stat(found.gl_pathv[i], &status) == 0 && S_ISREG(status.st_mode) &&
                        status.st_mtim.tv_sec >= since->tv_sec;
        }
        globfree(&found);
    }
    crn_free(pattern);
    if (children)
        fprintf(stderr, "%s: %zu %s left %s beside it: cairn report adds several captures up\n",
                crn_cli_name, children, children == 1 ? "child has" : "children have",
                children == 1 ? "a capture" : "captures");
}
