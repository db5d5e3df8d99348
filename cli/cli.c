/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cairn/cairn.h>

#include "base/memory.h"
#include "progress.h"

const char *crn_cli_name = "cairn";

int crn_cli_fail(const char *format, ...)
{
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    /* Names in a capture can hold anything, escape sequences too. */
    for (char *c = message; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    fflush(stdout);
    fprintf(stderr, "%s: %s\n", crn_cli_name, message);
    return CRN_EXIT_BAD;
}

crn_profile *crn_cli_load(const char *path)
{
    crn_error error = {0};
    crn_progress_begin("%s: reading %s", crn_cli_name, path);
    crn_profile *profile = crn_profile_load(path, &error);
    crn_progress_end();
    if (!profile)
        crn_cli_fail("%s", error.message);
    return profile;
}

/* A file appears when it is whole; what is no file (a device) is written as it is. */
int crn_cli_save(const crn_profile *profile, const char *path)
{
    crn_error error = {0};
    struct stat info;
    bool in_place = stat(path, &info) == 0 && !S_ISREG(info.st_mode);
    size_t size = strlen(path) + 32;
    char *temporary = crn_calloc(size, 1);
    snprintf(temporary, size, in_place ? "%s" : "%s.%ld", path, (long)getpid());
    crn_progress_begin("%s: writing %s", crn_cli_name, path);
    bool good = crn_profile_save(profile, temporary, &error);
    crn_progress_end();
    int status = CRN_EXIT_OK;
    if (!good) {
        status = crn_cli_fail("%s: %s", path, cairn_error_text((cairn_error)error.code));
    } else if (!in_place && rename(temporary, path) != 0) {
        status = crn_cli_fail("%s: %s", path, strerror(errno));
        unlink(temporary);
    }
    crn_free(temporary);
    return status;
}

int crn_cli_finish(int status)
{
    errno = 0;
    if ((fflush(stdout) == 0 && !ferror(stdout)) || errno == EPIPE)
        return status;
    return crn_cli_fail("cannot write all of the output: %s; free some space or write elsewhere",
                        errno ? strerror(errno) : "an earlier write failed");
}
