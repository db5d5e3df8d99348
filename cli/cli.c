/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

int crn_cli_finish(int status)
{
    errno = 0;
    if ((fflush(stdout) == 0 && !ferror(stdout)) || errno == EPIPE)
        return status;
    return crn_cli_fail("cannot write all of the output: %s; free some space or write elsewhere",
                        errno ? strerror(errno) : "an earlier write failed");
}
