/* SPDX-License-Identifier: MIT
 *
 * Captures of other processes of a run: x.PID.cairn beside x.cairn, or all of x.%p.cairn.
 */
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "run.h"

static const char own_number[] = "%p"; /* the pid in the name of a capture */

bool crn_run_is_pattern(const char *output)
{
    return strstr(output, own_number) != NULL;
}

/* x.cairn -> x.[0-9]*.cairn, x.%p.cairn -> x.[0-9]*.cairn, with x escaped. */
static char *pattern_of(const char *output)
{
    static const char suffix[] = ".cairn", digits[] = "[0-9]*";
    size_t length = strlen(output), end = sizeof suffix - 1;
    bool is = crn_run_is_pattern(output);
    bool has = !is && length > end && strcmp(output + length - end, suffix) == 0;
    char *pattern = crn_calloc(length + 2, sizeof digits), *at = pattern;
    for (size_t i = 0; i < length - (has ? end : 0); i++) {
        if (is && strncmp(output + i, own_number, sizeof own_number - 1) == 0) {
            at = stpcpy(at, digits);
            i += sizeof own_number - 2;
            continue;
        }
        if (strchr("*?[]\\", output[i]))
            *at++ = '\\';
        *at++ = output[i];
    }
    if (!is)
        sprintf(at, ".%s%s", digits, has ? suffix : "");
    return pattern;
}

size_t crn_run_captures_beside(const crn_run *run, const struct timespec *since)
{
    glob_t found;
    char *pattern = pattern_of(run->output);
    size_t count = 0;
    if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            struct stat status;
            count += stat(found.gl_pathv[i], &status) == 0 && S_ISREG(status.st_mode) &&
                     status.st_mtim.tv_sec >= since->tv_sec;
        }
        globfree(&found);
    }
    crn_free(pattern);
    return count;
}
