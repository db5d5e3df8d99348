/* SPDX-License-Identifier: MIT
 *
 * test_run_switch.c - why cairn attach cannot switch a process on. The process is this program,
 * with a page like those of cairn cc --standby.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cairn/host.h>

#include "cli/common/cli.h"
#include "cli/run/switch.h"
#include "support/cases.h"

void crn_run_finish(const crn_run *run, int status, unsigned long long elapsed_ns)
{
    (void)run;
    (void)status;
    (void)elapsed_ns;
}

static cairn_priv_switch *make_page(void)
{
    int file = memfd_create(strchr(CAIRN_PRIV_SWITCH_NAME, ':') + 1, MFD_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, sizeof(cairn_priv_switch)), 0);
    cairn_priv_switch *page =
        mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    assert_true(page != MAP_FAILED);
    close(file);
    *page = (cairn_priv_switch){.magic = CAIRN_PRIV_SWITCH_MAGIC, .signal = SIGUSR2};
    return page;
}

/* Tries to switch this process. Stores what is said in `said`. */
static void refused(char *said, size_t size)
{
    crn_run run = {.quiet = true};
    crn_cli_catch(said, size);
    errno = 0;
    int status = crn_run_switch(&run, getpid(), 0);
    crn_cli_catch(NULL, 0);
    assert_int_equal(status, CRN_EXIT_BAD);
}

static void it_says_why_a_process_cannot_be_switched(void **state)
{
    (void)state;
    char said[256], expected[256], why[128];
    refused(said, sizeof said);
    snprintf(expected, sizeof expected, "process %d: it has ended", getpid());
    assert_string_equal(said, expected);

    cairn_priv_switch *page = make_page();
    assert_true(crn_run_can_switch(getpid(), why, sizeof why));
    page->taken = 1; /* after cairn attach has asked whether it can be switched */
    refused(said, sizeof said);
    snprintf(expected, sizeof expected, "process %d: it handles SIGUSR2 itself", getpid());
    assert_string_equal(said, expected);
    assert_false(crn_run_can_switch(getpid(), why, sizeof why));
    assert_string_equal(why, "it handles SIGUSR2 itself");

    page->taken = 0;
    page->signal = -1;
    refused(said, sizeof said);
    snprintf(expected, sizeof expected, "process %d: %s", getpid(), strerror(EINVAL));
    assert_string_equal(said, expected);
    munmap(page, sizeof *page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_says_why_a_process_cannot_be_switched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
