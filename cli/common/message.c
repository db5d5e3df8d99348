/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

const char *crn_cli_name = "cairn";

static _Thread_local char *caught;
static _Thread_local size_t caught_size;

void crn_cli_catch(char *message, size_t size)
{
    caught = message;
    caught_size = size;
}

int crn_cli_fail(const char *format, ...)
{
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    crn_text_make_safe(message); /* may quote names of a capture */
    if (caught) {
        snprintf(caught, caught_size, "%s", message);
        return CRN_EXIT_BAD;
    }
    fflush(stdout);
    fprintf(stderr, "%s: %s\n", crn_cli_name, message);
    return CRN_EXIT_BAD;
}

/* Returns true if stdout was written, or its pipe is closed. Sets `*reason` to errno. */
static bool is_written(int *reason)
{
    errno = 0;
    bool good = fflush(stdout) == 0 && !ferror(stdout);
    *reason = errno;
    return good || errno == EPIPE;
}

static int fail_written(int reason)
{
    __fpurge(stdout); /* so that the error is reported once */
    clearerr(stdout);
    return crn_cli_fail("cannot write all of the output: %s; free some space or write elsewhere",
                        reason ? strerror(reason) : "an earlier write failed");
}

int crn_cli_finish(int status)
{
    int reason;
    return is_written(&reason) ? status : fail_written(reason);
}

void crn_cli_at_exit(void)
{
    int reason;
    if (!is_written(&reason))
        _exit(fail_written(reason));
}
