/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cairn/cairn.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/common/clock.h"
#include "run.h"

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Returns the program's exit status. If a signal ended the program, raises the same signal. */
static int end_as(int status)
{
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    int number = WTERMSIG(status);
    sigset_t only;
    fflush(stdout);
    fflush(stderr);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* the program has written its own core file */
    signal(number, SIG_DFL);
    sigemptyset(&only);
    sigaddset(&only, number);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    return 128 + number;
}

/* Returns true if the disk is full even without the existing capture. */
static bool is_full(const char *folder, const struct stat *there)
{
    enum { LEAST = 64 * 1024 /* bytes: less than a capture needs */, STAT_BLOCK = 512 };
    struct statvfs disk;
    uint64_t freed = (uint64_t)there->st_blocks * STAT_BLOCK;
    return statvfs(folder, &disk) == 0 && disk.f_blocks &&
           disk.f_bavail * disk.f_frsize + freed < LEAST;
}

/* Returns why no capture can be made at `path`; NULL if it finds no reason. */
static const char *obstacle(const char *path)
{
    struct stat there = {0};
    const char *reason = NULL;
    if (lstat(path, &there) == 0 && !S_ISREG(there.st_mode))
        return S_ISDIR(there.st_mode) ? "it is a folder" : "it is not a regular file";
    if (!crn_cli_may_replace(path))
        return "the file exists and is not a capture";
    char *folder = crn_strdup(path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = 0;
    if (access(slash ? folder : ".", W_OK | X_OK) != 0)
        reason = strerror(errno);
    else if (is_full(slash ? folder : ".", &there))
        reason = strerror(ENOSPC);
    crn_free(folder);
    return reason;
}

/* Returns true if a capture within `limit` bytes can be created; tries it in memory. */
static bool is_enough(uint64_t limit)
{
    enum { ENOUGH = 1 << 20 };
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    cairn_profile *profile = NULL;
    options.file_limit = limit;
    if (limit >= ENOUGH)
        return true;
    cairn_error error = cairn_profile_open(&profile, &options);
    if (error)
        return error != CAIRN_E_SPACE;
    cairn_profile_close(profile);
    return true;
}

static bool can_begin(const crn_run *run)
{
    const char *limit = getenv("CAIRN_FILE_LIMIT"), *reason = obstacle(run->output);
    if (reason) {
        crn_cli_fail("%s was not run, because its capture cannot be created at %s: %s; name "
                     "another file with -o",
                     run->path, run->output, reason);
        return false;
    }
    if (!limit || run->alloc || run->sampled || is_enough(strtoull(limit, NULL, 10)))
        return true;
    crn_cli_fail("%s was not run, because no capture fits into a file limit of %s: allow more with "
                 "--file-limit",
                 run->path, limit);
    return false;
}

static void say_what_to_do(const crn_run *run)
{
    if (run->quiet)
        return;
    const char *reason = obstacle(run->output);
    if (reason)
        crn_cli_fail("%s left no capture at %s: %s; name another file with -o", run->path,
                     run->output, reason);
    else if (run->alloc || run->sampled)
        crn_cli_fail("%s left no capture at %s: it ended at once, cannot write there, or does not "
                     "use libc's loader",
                     run->path, run->output);
    else
        crn_cli_fail("%s left no capture: it %s, or could not create one", run->path,
                     run->locks ? "used no mutex, condition variable or semaphore"
                                : "ended before it used libcairn");
}

/* Sets CAIRN_SINCE: processes of this run replace only captures from before the run. */
static void set_since(void)
{
    struct timespec now;
    char text[32];
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(text, sizeof text, "%lld%09ld", (long long)now.tv_sec, now.tv_nsec);
    setenv("CAIRN_SINCE", text, 1);
}

static void tell_of_others(const crn_run *run, size_t count)
{
    if (!count || run->quiet || !isatty(STDERR_FILENO))
        return;
    const char *where = crn_run_is_pattern(run->output) ? "" : " beside it";
    fprintf(stderr, "%s: %zu %s left %s%s: cairn report adds captures up\n", crn_cli_name, count,
            count == 1 ? "process has" : "processes have", count == 1 ? "a capture" : "captures",
            where);
}

/* Makes the samples the run's capture. If programs with libcairn wrote that (`there`), the samples
 * keep their own file. */
static void take_sampled(const crn_run *run, bool there, int status, uint64_t elapsed)
{
    crn_run own = *run;
    if (!there && rename(run->sampled, run->output) != 0) {
        crn_cli_fail("%s cannot be named %s: %s", run->sampled, run->output, strerror(errno));
        there = true;
    }
    own.output = there ? run->sampled : run->output;
    crn_run_finish(&own, status, elapsed);
    if (run->outside && *run->outside && !run->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "%s: %s %s, so it was sampled from outside\n", crn_cli_name, run->path,
                run->outside);
    if (!there && run->recording && !run->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "%s: %s had no effect: %s does not use libcairn, and was sampled\n",
                crn_cli_name, run->recording, run->path);
    if (there && !run->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "%s: programs that use libcairn wrote %s; %s has samples%s\n", crn_cli_name,
                run->output, run->sampled, run->stacks ? "" : " of the others");
}

int crn_run_native(const crn_run *run)
{
    struct stat before = {0}, after;
    if (!can_begin(run))
        return CRN_EXIT_BAD;
    bool was = stat(run->output, &before) == 0;
    setenv("CAIRN_OUT", run->output, 1);
    set_since();
    if (!run->alloc && run->labels->count) { /* with --alloc, crn_run_finish adds them */
        char *labels = crn_run_labels(run->labels);
        setenv("CAIRN_LABELS", labels, 1);
        crn_free(labels);
    }
    if ((run->alloc || run->locks || (run->sampled && !run->outside)) && !crn_run_preload(run))
        return CRN_EXIT_BAD;
    int status = 0;
    uint64_t began = crn_cli_clock_ns(CLOCK_MONOTONIC);
    struct timespec since;
    clock_gettime(CLOCK_REALTIME_COARSE, &since); /* the clock of file time stamps */
    int reason =
        run->outside ? crn_run_wait_outside(run, &status) : crn_run_wait(run, NULL, &status);
    if (reason < 0)
        return CRN_EXIT_BAD;
    if (reason)
        return crn_cli_fail("%s cannot be run: %s", run->path, strerror(reason));
    uint64_t elapsed = crn_cli_clock_ns(CLOCK_MONOTONIC) - began;
    unsetenv("LD_PRELOAD"); /* not for the tool's own children */
    crn_list beside = crn_run_captures_beside(run, &since);
    bool there = stat(run->output, &after) == 0 && !(was && is_same(&before, &after));
    bool pattern = crn_run_is_pattern(run->output);
    bool sampled = run->sampled && !pattern && crn_run_merge(run, &since);
    if (!there && !sampled && !(beside.count && pattern))
        say_what_to_do(run);
    else if (there && run->alloc)
        crn_run_finish(run, status, elapsed);
    if (sampled)
        take_sampled(run, there, status, elapsed);
    tell_of_others(run, beside.count);
    crn_run_captures_free(&beside);
    return end_as(status);
}
