/* SPDX-License-Identifier: MIT
 *
 * Periods: the process's profile is switched on and off while the process runs, and each period
 * leaves a capture of its own.
 *
 * One profile, in memory, serves all periods, so blocks, contexts and strands keep their numbers
 * and addresses, and memory does not grow with the number of periods. A period begins with figures
 * of 0, and each thread with an empty stack. A helper thread, which lives as long as the period,
 * writes the capture at its end.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "plat/clock.h"
#include "runtime/process.h"
#include "runtime/siblings.h"

static struct {
    cairn_profile *profile; /* opened at the first period; never freed */
    crn_helper helper;
    cairn_priv_period_ended *ended; /* called when a period's capture is written */
    char *path;                     /* path of the present or last period's capture */
    unsigned number;                /* the number in that path */
    bool on;                        /* a period is recorded; under the process's lock */
    bool asked;                     /* the period shall end; atomic */
    bool inherited; /* this process is a child of fork that goes on with its parent's period, in a
                       file */
} period;

/* ---- the capture's name ---- */

enum { SPACE = 64 /* bytes for numbers and the suffix in a path */ };

/* Returns `out` as an absolute path with the process's number in it: in place of %p, or before the
 * suffix. Free it with crn_free. Returns NULL without memory. */
static char *base_of(const char *out)
{
    static const char suffix[] = ".cairn";
    char *path = crn_process_named(out);
    char *base = path ? crn_try_calloc(PATH_MAX + strlen(path) + SPACE, 1) : NULL;
    if (base) {
        size_t length = strlen(path), end = sizeof suffix - 1;
        bool has = length >= end && strcmp(path + length - end, suffix) == 0;
        if (*path != '/' && getcwd(base, PATH_MAX))
            strcat(base, "/");
        strncat(base, path, has ? length - end : length);
        if (strcmp(path, out) == 0) /* it has no %p */
            sprintf(base + strlen(base), ".%d", (int)getpid());
        strcat(base, suffix);
    }
    crn_free(path);
    return base;
}

static bool is_there(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

/* Sets the path of the capture to BASE.NUMBER.cairn, with the next number that no file has. Returns
 * false without memory. */
static bool choose_path(const char *base)
{
    size_t stem = strlen(base) - strlen(".cairn");
    crn_free(period.path);
    period.path = crn_try_calloc(stem + SPACE, 1);
    do
        if (period.path)
            snprintf(period.path, stem + SPACE, "%.*s.%u.cairn", (int)stem, base, ++period.number);
    while (period.path && is_there(period.path));
    return period.path;
}

static cairn_error write_capture(void)
{
    if (is_there(period.path) && !choose_path(period.profile->child.origin))
        return CAIRN_E_MEMORY;
    return cairn_profile_snapshot(period.profile, period.path);
}

/* ---- the end ---- */

/* Under the process's lock. */
static void stop(void)
{
    period.on = false;
    crn_process_show(NULL);
    cairn_profile_disable(period.profile);
    crn_profile_stop_threads(period.profile);
}

static void finish(void)
{
    cairn_error error = write_capture();
    period.ended(error ? NULL : period.path, error);
}

/* Writes the capture without the process's lock, for which threads that end and forks would wait.
 */
static void *run(void *data)
{
    enum { WAIT_NS = 500000000 };
    bool goes_on = true;
    while (goes_on && !__atomic_load_n(&period.asked, __ATOMIC_ACQUIRE))
        goes_on = crn_helper_wait(&period.helper, crn_clock_monotonic() + WAIT_NS);
    crn_process_lock();
    bool stops = period.on && __atomic_load_n(&period.asked, __ATOMIC_ACQUIRE);
    if (stops)
        stop();
    crn_process_unlock();
    if (stops)
        finish();
    return data;
}

void cairn_priv_period_ask_end(void)
{
    __atomic_store_n(&period.asked, true, __ATOMIC_RELEASE);
    crn_helper_wake(&period.helper);
}

/* ---- the process ---- */

static void begin_child(void)
{
    period.helper.running = false;
    period.number = 0;
    if (!period.on)
        return;
    period.inherited = true;
    period.profile->in_memory = false;
}

static void end_helper(void)
{
    crn_helper_stop(&period.helper);
}

static bool end_process(void)
{
    if (!period.on || period.inherited)
        return false;
    if (crn_profile_locks_are_free(period.profile)) {
        stop();
        finish();
    }
    return true;
}

/* ---- the begin ---- */

static bool has_profile(void)
{
    static const crn_process_periods calls = {begin_child, end_helper, end_process};
    if (period.profile)
        return crn_profile_begin_again(period.profile);
    period.profile = crn_process_open_in_memory();
    if (period.profile)
        crn_process_use_periods(&calls);
    return period.profile;
}

/* Chooses the names of the capture, and of those that children of fork make. */
static bool choose_paths(const char *out)
{
    crn_free(period.profile->child.origin);
    period.profile->child.origin = base_of(out);
    return period.profile->child.origin && choose_path(period.profile->child.origin);
}

static bool begin(const char *out)
{
    if (crn_process_has_ended() || period.on || period.inherited)
        return false;
    crn_helper_stop(&period.helper); /* the last period's helper has ended, or is about to */
    __atomic_store_n(&period.asked, false, __ATOMIC_RELEASE);
    bool begun = has_profile() && choose_paths(out) &&
                 crn_helper_start(&period.helper, "cairn-period", run, NULL);
    if (begun)
        crn_process_show(period.profile);
    else if (period.profile)
        cairn_profile_disable(period.profile);
    period.on = begun;
    return begun;
}

const char *cairn_priv_period_begin(const char *out, cairn_priv_period_ended *ended)
{
    int saved = errno, cancelling;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    crn_own.busy = true;
    crn_process_lock();
    period.ended = ended;
    bool begun = begin(out);
    crn_process_unlock();
    crn_own.busy = false;
    pthread_setcancelstate(cancelling, NULL);
    errno = saved;
    return begun ? period.path : NULL;
}

/* ---- threads ---- */

/* Gives a strand of an earlier period an empty stack and a new tag. What is entered then is below
 * the root. The slow path recognises the leaves of frames from earlier periods: their heights are
 * at most `floor`, and their saved callers have another tag. */
static void begin_again(cairn_strand *strand)
{
    enum { MOST = 1 << 20, MARGIN = 2 /* a tail call compares with the word above its frame */ };
    cairn_lane *lane = crn_lane_of(strand);
    size_t depth = (size_t)(strand->hot.top - strand->stack) - 1;
    uint32_t floor = (depth < MOST ? (uint32_t)depth : 0) + MARGIN;
    CAIRN_PRIV_PUT(strand->hot.current, CRN_RECORD_ROOT * CRN_RECORD_WORDS);
    strand->lost = 0;
    while ((size_t)(strand->end - strand->stack) <= floor + 1)
        if (!crn_strand_grow(strand))
            floor = 0;
    for (uint32_t i = 0; i <= floor; i++)
        strand->stack[1 + i] = CRN_RECORD_ROOT * CRN_RECORD_WORDS;
    strand->hot.top = strand->stack + 1 + floor;
    strand->hot.floor = floor;
    crn_redirect_forget(lane);
    crn_lane_settle(lane);
    crn_strand_disarm(strand);
}

cairn_strand *cairn_priv_period_follow(bool on)
{
    cairn_strand *strand = cairn_priv_thread_strand ? cairn_priv_thread_strand : crn_own.parked;
    if (!on) {
        crn_own.parked = strand;
        crn_thread_set_strand(NULL);
        return NULL;
    }
    if (!strand)
        strand = cairn_priv_thread_begin();
    if (!strand)
        return NULL;
    int saved = errno;
    crn_own.parked = NULL;
    begin_again(strand);
    crn_thread_set_strand(strand);
    errno = saved;
    return strand;
}
