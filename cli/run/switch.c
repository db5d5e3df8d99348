/* SPDX-License-Identifier: MIT
 *
 * cairn attach, for programs of cairn cc --standby that were started with CAIRN_SWITCH: switches
 * their own recording on and off. hosts/gcc/switch.c is the other end.
 */
#include "switch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cairn/host.h>

#include "cli/common/cli.h"
#include "cli/common/clock.h"
#include "cli/common/output.h"

/* A process that can be switched. */
typedef struct switched {
    int process;
    uint64_t address; /* of its cairn_priv_switch */
    cairn_priv_switch page;
} switched;

/* Finds the cairn_priv_switch in the list of the process's mappings. Returns false if the process
 * has none. */
static bool find_page(switched *found)
{
    char path[64], line[4096 + 128];
    snprintf(path, sizeof path, "/proc/%d/maps", found->process);
    FILE *maps = fopen(path, "re");
    while (maps && !found->address && fgets(line, sizeof line, maps)) {
        unsigned long begin;
        if (strstr(line, CAIRN_PRIV_SWITCH_NAME) && sscanf(line, "%lx-", &begin) == 1)
            found->address = begin;
    }
    if (maps)
        fclose(maps);
    return found->address != 0;
}

/* Reads the page, again if it was read before. Returns false if the process has ended, or may not
 * be read. */
static bool look(switched *at)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", at->process);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    cairn_priv_switch page;
    ssize_t size = file < 0 ? -1 : pread(file, &page, sizeof page, (off_t)at->address);
    if (file >= 0)
        close(file);
    if (size != (ssize_t)sizeof page || page.magic != CAIRN_PRIV_SWITCH_MAGIC)
        return false;
    page.path[sizeof page.path - 1] = '\0';
    at->page = page;
    return true;
}

enum { SIGNAL_NAME = 24 };

/* Writes the name of the signal that switches recording: "SIGUSR2", or "signal 37". */
static char *signal_name(const switched *at, char name[SIGNAL_NAME])
{
    const char *known = sigabbrev_np(at->page.signal); /* NULL for real-time signals */
    if (known)
        snprintf(name, SIGNAL_NAME, "SIG%s", known);
    else
        snprintf(name, SIGNAL_NAME, "signal %d", at->page.signal);
    return name;
}

/* Says that the program has an action of its own for the signal. */
static void say_taken(const switched *at, char *why, size_t size)
{
    char name[SIGNAL_NAME];
    snprintf(why, size, "it handles %s itself", signal_name(at, name));
}

bool crn_run_can_switch(int process, char *why, size_t size)
{
    switched found = {.process = process};
    *why = '\0';
    if (!find_page(&found))
        return false;
    if (!look(&found))
        snprintf(why, size, "its memory may not be read (ptrace_scope)");
    else if (found.page.taken)
        say_taken(&found, why, size);
    return !*why;
}

/* ---- waiting ---- */

static volatile sig_atomic_t told; /* the user has pressed Ctrl-C */

static void tell(int number)
{
    (void)number;
    told = 1;
}

static void wait_a_moment(double most_s)
{
    const double step_s = 0.02;
    double wait_s = most_s < step_s ? most_s : step_s;
    struct timespec time = {.tv_nsec = (long)(wait_s * 1e9)};
    if (wait_s > 0)
        nanosleep(&time, NULL);
}

static const double patience_s = 30;

/* Waits until the process has acted on the signal that switches recording on. Before that, a second
 * one would be lost, as both are the same signal. Returns false after half a minute, or if the user
 * has pressed Ctrl-C; true also if the process ends. */
static bool wait_until_on(switched *at, uint32_t captures)
{
    double until = crn_cli_clock_s(CLOCK_MONOTONIC) + patience_s;
    while (look(at) && at->page.state == CAIRN_PRIV_SWITCH_OFF && at->page.captures == captures) {
        if (told || crn_cli_clock_s(CLOCK_MONOTONIC) >= until)
            return false;
        wait_a_moment(1);
    }
    return true;
}

/* Waits until the time is over, the user has pressed Ctrl-C, or the process is not recorded any
 * more. Returns false in the last case. */
static bool wait_until_told(switched *at, uint64_t for_ns)
{
    double until = crn_cli_clock_s(CLOCK_MONOTONIC) + (double)for_ns * 1e-9;
    uint32_t captures = at->page.captures;
    bool there = true;
    while (there && !told && (!for_ns || crn_cli_clock_s(CLOCK_MONOTONIC) < until)) {
        wait_a_moment(for_ns ? until - crn_cli_clock_s(CLOCK_MONOTONIC) : 1);
        there = look(at) && at->page.captures == captures;
    }
    return there;
}

/* Waits until the capture is written. Returns false after half a minute, or if the user has pressed
 * Ctrl-C (again); true also if the process ends. */
static bool wait_for_capture(switched *at, uint32_t captures)
{
    double until = crn_cli_clock_s(CLOCK_MONOTONIC) + patience_s;
    told = 0;
    while (look(at) && at->page.captures == captures) {
        if (told || crn_cli_clock_s(CLOCK_MONOTONIC) >= until)
            return false;
        wait_a_moment(1);
    }
    return true;
}

/* ---- the capture ---- */

static bool copy(FILE *from, FILE *to)
{
    static char bytes[65536];
    size_t size;
    while ((size = fread(bytes, 1, sizeof bytes, from)) > 0)
        if (fwrite(bytes, 1, size, to) != size)
            return false;
    return !ferror(from);
}

/* Moves the capture to `output`. Its path is as the process sees it, whose root may be another. On
 * an error prints a message and returns false. */
static bool move(const switched *at, const char *output)
{
    char seen[sizeof at->page.path + 64];
    snprintf(seen, sizeof seen, "/proc/%d/root%s", at->process, at->page.path);
    FILE *from = fopen(seen, "re");
    if (!from) { /* the process has ended */
        snprintf(seen, sizeof seen, "%s", at->page.path);
        from = fopen(seen, "re");
    }
    if (!from) {
        crn_cli_fail("%s: %s", at->page.path, strerror(errno));
        return false;
    }
    crn_output to;
    bool good = crn_output_open(&to, output, seen);
    if (good)
        good = crn_output_close(&to, copy(from, to.file));
    fclose(from);
    if (good)
        unlink(seen);
    return good;
}

/* ---- the whole ---- */

static const char has_ended[] = "it has ended";

static int fail(const switched *at, const char *what)
{
    return crn_cli_fail("process %d: %s", at->process, what);
}

/* Sends the signal that switches recording on or off, unless the program has by now an action of
 * its own for it. Returns false if it was not sent, and stores why not in `why`. */
static bool turn(switched *at, char *why, size_t size)
{
    *why = '\0';
    if (!look(at))
        snprintf(why, size, "%s", has_ended);
    else if (at->page.taken)
        say_taken(at, why, size);
    else if (kill(at->process, at->page.signal) != 0)
        snprintf(why, size, "%s", strerror(errno));
    return !*why;
}

/* Switches recording on, waits, and switches it off. Returns an exit status of cli.h. */
static int record(switched *at, const crn_run *run, uint64_t for_ns)
{
    bool talks = !run->quiet && isatty(STDERR_FILENO);
    uint32_t captures = at->page.captures;
    char why[128], name[SIGNAL_NAME];
    if (!turn(at, why, sizeof why))
        return fail(at, why);
    if (!wait_until_on(at, captures))
        return crn_cli_fail("process %d has not acted on %s yet, and will record itself when it "
                            "does; kill -%d %d ends that then",
                            at->process, signal_name(at, name), at->page.signal, at->process);
    fprintf(stderr, "%s: the program records itself, with exact counts%s\n", crn_cli_name,
            !talks   ? ""
            : for_ns ? "; Ctrl-C ends it early"
                     : "; until it ends, or Ctrl-C");
    if (at->page.captures != captures || !wait_until_told(at, for_ns))
        return CRN_EXIT_OK;
    bool waits = look(at) && at->page.state == CAIRN_PRIV_SWITCH_WANTED;
    if (!turn(at, why, sizeof why))
        return crn_cli_fail("process %d could not be switched off: %s", at->process, why);
    if (waits)
        return fail(at, "none of its functions that record themselves was called; "
                        "--outside samples it");
    if (!wait_for_capture(at, captures))
        return fail(at, "it has not written its capture yet");
    return CRN_EXIT_OK;
}

int crn_run_switch(const crn_run *run, int process, uint64_t for_ns)
{
    switched at = {.process = process};
    crn_run_end_signals before;
    if (!find_page(&at) || !look(&at))
        return fail(&at, has_ended);
    if (at.page.state != CAIRN_PRIV_SWITCH_OFF)
        return fail(&at, "it is recorded already");
    told = 0;
    crn_run_catch_end(tell, &before);
    int status = record(&at, run, for_ns);
    crn_run_catch_no_end(&before);
    if (status != CRN_EXIT_OK)
        return status;
    if (!*at.page.path)
        return fail(&at, at.page.error ? cairn_error_text((cairn_error)at.page.error)
                                       : "it has ended without a capture");
    if (!move(&at, run->output))
        return CRN_EXIT_BAD;
    crn_run_finish(run, 0, 0);
    return CRN_EXIT_OK;
}
