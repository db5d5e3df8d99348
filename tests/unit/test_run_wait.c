/* SPDX-License-Identifier: MIT
 *
 * test_run_wait.c - how cairn run starts a program, and what it says if that fails. Linked with
 * ld's --wrap=write.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run/run.h"
#include "support/cases.h"

ssize_t __real_write(int file, const void *bytes, size_t size);
ssize_t __wrap_write(int file, const void *bytes, size_t size);

static int problem; /* errno with which the next write fails; 0: it does not */
static int ends;    /* number of calls of a watch's `end` */

ssize_t __wrap_write(int file, const void *bytes, size_t size)
{
    if (!problem)
        return __real_write(file, bytes, size);
    errno = problem;
    problem = 0;
    return -1;
}

static bool kill_it(void *data, int process)
{
    siginfo_t info;
    (void)data;
    return kill(process, SIGKILL) == 0 &&
           waitid(P_PID, (id_t)process, &info, WEXITED | WNOWAIT) == 0;
}

static bool fail_to_write(void *data, int process)
{
    (void)process;
    problem = *(const int *)data;
    return true;
}

static bool refuse(void *data, int process)
{
    (void)data;
    (void)process;
    return false;
}

static void count_end(void *data)
{
    (void)data;
    ends++;
}

static int start(const char *path, const crn_run_watch *watch, int *status)
{
    char name[] = "program", script[] = "exit 7", option[] = "-c";
    char *words[] = {name, option, script, NULL};
    crn_run run = {.path = path, .program = words};
    *status = -1;
    ends = 0;
    return crn_run_wait(&run, watch, status);
}

static void a_program_runs_or_it_says_why_not(void **state)
{
    (void)state;
    int status;
    assert_int_equal(start("/bin/sh", NULL, &status), 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_int_equal(start("/does/not/exist", NULL, &status), ENOENT);
    crn_run_watch watch = {NULL, refuse, count_end};
    assert_int_equal(start("/bin/sh", &watch, &status), -1);
    assert_int_equal(ends, 0);
}

static void a_process_that_is_killed_before_it_executes_the_program_has_its_own_status(void **state)
{
    (void)state;
    int status;
    crn_run_watch watch = {NULL, kill_it, count_end};
    signal(SIGPIPE, SIG_DFL); /* would end this program */
    assert_int_equal(start("/bin/sh", &watch, &status), 0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(ends, 1);
}

static void a_process_that_cannot_be_told_to_begin_was_not_run(void **state)
{
    (void)state;
    int status, reason = EIO;
    crn_run_watch watch = {&reason, fail_to_write, count_end};
    assert_int_equal(start("/bin/sh", &watch, &status), EIO);
    assert_int_equal(ends, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_runs_or_it_says_why_not),
        cmocka_unit_test(
            a_process_that_is_killed_before_it_executes_the_program_has_its_own_status),
        cmocka_unit_test(a_process_that_cannot_be_told_to_begin_was_not_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
