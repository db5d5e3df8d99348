/* SPDX-License-Identifier: MIT */
#include "output.h"

#include <errno.h>
#include <limits.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli.h"

enum { LINKS_MAX = 40 }; /* as in the kernel */

char *crn_output_name(const char *input, const char *suffix)
{
    static const char *const known[] = {".cairn",     ".pb.gz",  ".pprof.gz", ".gz",
                                        ".pb",        ".pprof",  ".prof",     ".folded",
                                        ".collapsed", ".stacks", ".perf",     ".txt"};
    size_t length = strlen(input);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t end = strlen(known[i]);
        if (length > end && input[length - end - 1] != '/' &&
            strcmp(input + length - end, known[i]) == 0) {
            length -= end;
            break;
        }
    }
    size_t size = length + strlen(suffix) + 1;
    char *name = crn_calloc(size, 1);
    snprintf(name, size, "%.*s%s", (int)length, input, suffix);
    return name;
}

char *crn_output_target(const char *path)
{
    char *target = crn_strdup(path);
    for (int links = 0; links < LINKS_MAX; links++) {
        char end[PATH_MAX];
        ssize_t length = readlink(target, end, sizeof end - 1);
        if (length < 0)
            break; /* no link, or missing */
        end[length] = '\0';
        const char *slash = strrchr(target, '/');
        size_t folder = *end == '/' || !slash ? 0 : (size_t)(slash - target) + 1;
        char *next = crn_calloc(folder + (size_t)length + 1, 1);
        memcpy(next, target, folder);
        memcpy(next + folder, end, (size_t)length + 1);
        crn_free(target);
        target = next;
    }
    return target;
}

bool crn_output_is_same(const char *left, const char *right)
{
    struct stat a, b;
    return stat(left, &a) == 0 && stat(right, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

static bool fail(crn_output *output, int reason)
{
    crn_cli_fail("%s: %s; %s", output->name, strerror(reason ? reason : EIO),
                 reason == ENOENT   ? "check that its directory exists"
                 : reason == EACCES ? "name a file in a writable folder with -o"
                                    : "free some space, or name another file with -o");
    crn_free(output->path);
    crn_free(output->temporary);
    return false;
}

/* Sets the mode that open would use and mkstemp does not. */
static void set_mode(int descriptor)
{
    mode_t mask = umask(0);
    umask(mask);
    if (fchmod(descriptor, 0666 & ~mask) < 0)
        errno = 0; /* a file without read permission for others is still complete */
}

static bool open_temporary(crn_output *output)
{
    size_t size = strlen(output->path) + sizeof ".XXXXXX";
    output->temporary = crn_calloc(size, 1);
    snprintf(output->temporary, size, "%s.XXXXXX", output->path);
    int descriptor = mkstemp(output->temporary);
    if (descriptor < 0)
        return fail(output, errno);
    set_mode(descriptor);
    output->file = fdopen(descriptor, "wb");
    if (output->file)
        return true;
    close(descriptor);
    unlink(output->temporary);
    return fail(output, ENOMEM);
}

bool crn_output_open(crn_output *output, const char *path, const char *input)
{
    *output = (crn_output){.name = path};
    if (strcmp(path, "-") == 0) {
        output->name = "standard output";
        output->file = stdout;
        return true;
    }
    struct stat target;
    bool exists = stat(path, &target) == 0;
    if (input && crn_output_is_same(path, input))
        return crn_cli_fail("%s: is the input file; name another file with -o", path) ==
               CRN_EXIT_OK;
    output->path = crn_output_target(path);
    if (!exists || S_ISREG(target.st_mode))
        return open_temporary(output);
    output->file = fopen(path, "wb");
    return output->file || fail(output, errno);
}

bool crn_output_close(crn_output *output, bool good)
{
    bool standard = output->file == stdout;
    errno = 0;
    bool failed = standard ? fflush(stdout) != 0 : fclose(output->file) != 0;
    if (good && !failed && output->temporary)
        failed = rename(output->temporary, output->path) != 0;
    int reason = errno;
    if ((!good || failed) && output->temporary)
        unlink(output->temporary);
    if (standard && (!good || failed)) {
        /* reported here, not again at exit */
        __fpurge(stdout);
        clearerr(stdout);
    }
    if (good && failed && !(standard && reason == EPIPE))
        return fail(output, reason);
    crn_free(output->path);
    crn_free(output->temporary);
    return good;
}
