/* SPDX-License-Identifier: MIT
 *
 * test_sources.c - a program that cairn import asks for its sources has 30 seconds. Linked with
 * ld's --wrap=poll.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/common/cli.h"
#include "cli/convert/convert.h"
#include "support/cases.h"
#include "support/scratch.h"

int __real_poll(struct pollfd *files, nfds_t count, int ms);
int __wrap_poll(struct pollfd *files, nfds_t count, int ms);

static const int *answers; /* of the next calls: 0 or errno; NULL: the system's */

int __wrap_poll(struct pollfd *files, nfds_t count, int ms)
{
    if (!answers)
        return __real_poll(files, count, ms);
    errno = *answers++;
    return errno ? -1 : 0;
}

/* Asks a program of the shell for its sources. Returns true if it printed them; otherwise stores
 * the message in `said`. */
static bool ask(const char *text, const int *next, char *said, size_t size)
{
    char path[SCRATCH_PATH];
    assert_true(scratch_write(scratch_path(path, "program"), text, strlen(text)));
    assert_int_equal(chmod(path, 0700), 0);
    crn_cli_catch(said, size);
    answers = next;
    crn_source *source = crn_convert_sources(path, true);
    answers = NULL;
    crn_cli_catch(NULL, 0);
    crn_source_close(source);
    return source != NULL;
}

static void the_limit_holds_also_after_a_signal(void **state)
{
    (void)state;
    char said[256] = "";
    assert_true(ask("#!/bin/sh\necho a\n", NULL, said, sizeof said));
    assert_false(ask("#!/bin/sh\nsleep 2\n", (const int[]){EINTR, EINTR, 0}, said, sizeof said));
    assert_non_null(strstr(said, "takes longer than 30 s"));
    assert_false(ask("#!/bin/sh\nsleep 2\n", (const int[]){ENOMEM}, said, sizeof said));
    assert_non_null(strstr(said, strerror(ENOMEM)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limit_holds_also_after_a_signal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
