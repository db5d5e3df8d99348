/* SPDX-License-Identifier: MIT
 *
 * Takes snapshots of the capture and of its program's state.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "base/memory.h"
#include "base/path.h"
#include "cli/common/clock.h"
#include "cli/common/writer.h"
#include "top.h"

/* ---- program ---- */

/* Returns when recording started, in seconds since 1970; 0 if unknown. */
static time_t started_at(const crn_profile *profile)
{
    struct tm utc = {0};
    const char *started = crn_profile_note(profile, "started", "");
    return strptime(started, "%Y-%m-%dT%H:%M:%SZ", &utc) ? timegm(&utc) : 0;
}

static double since_change(const crn_profile *profile, const struct stat *file)
{
    double changed = (double)file->st_mtim.tv_sec + (double)file->st_mtim.tv_nsec / 1e9;
    double recorded =
        (double)started_at(profile) + (double)crn_profile_note_number(profile, "recorded_ns") / 1e9;
    if (recorded > changed)
        changed = recorded;
    double age = crn_cli_clock_s(CLOCK_REALTIME) - changed;
    return age > 0 ? age : 0;
}

/* Finds the program's state. The program runs if its recorded time advances; only if it does not,
 * checks the process. */
static void set_state(crn_top_look *look, const crn_top_look *before, const struct stat *file)
{
    const char *state = crn_profile_note(look->profile, "state", "");
    if (strcmp(state, "recording") != 0) {
        look->state = strcmp(state, "stopped") == 0 ? CRN_TOP_STOPPED : CRN_TOP_ENDED;
        return;
    }
    look->state = CRN_TOP_RUNNING;
    if (before && before->profile &&
        crn_profile_note_number(before->profile, "recorded_ns") !=
            crn_profile_note_number(look->profile, "recorded_ns"))
        return;
    crn_writer writer =
        crn_writer_of((long)crn_profile_note_number(look->profile, "process"), file->st_ino);
    if (writer == CRN_WRITER_SUSPENDED) {
        look->state = CRN_TOP_SUSPENDED;
    } else if (writer == CRN_WRITER_GONE) {
        look->state = CRN_TOP_KILLED;
        look->changed = since_change(look->profile, file);
    }
}

/* Measures the program's processor time if process `pid` maps the file: otherwise the program runs
 * on another machine, or the pid was reused. */
static void measure_cpu(crn_top_look *look, const crn_top_look *before, const struct stat *file)
{
    bool same = before && before->profile && before->run == look->run;
    long pid = (long)crn_profile_note_number(look->profile, "process");
    clockid_t clock;
    struct timespec used;
    look->cpu = look->cpu_s = -1;
    if (look->state != CRN_TOP_RUNNING)
        return;
    look->here = same && before->here ? true : crn_writer_of(pid, file->st_ino) == CRN_WRITER_RUNS;
    if (!look->here || clock_getcpuclockid((pid_t)pid, &clock) != 0 ||
        clock_gettime(clock, &used) != 0)
        return;
    look->cpu_s = (double)used.tv_sec + (double)used.tv_nsec / 1e9;
    look->cpu_at = crn_cli_clock_s(CLOCK_MONOTONIC);
    if (same && before->cpu_s >= 0 && look->cpu_at > before->cpu_at)
        look->cpu = (look->cpu_s - before->cpu_s) / (look->cpu_at - before->cpu_at);
}

/* ---- child processes ---- */

/* Returns true for a dot followed by digits and dots: what a child's file name has before the
 * suffix. */
static bool is_numbers(const char *text, size_t length)
{
    return length > 1 && text[0] == '.' && strspn(text, ".0123456789") >= length;
}

/* Parts of file names: x.cairn has its children's captures, x.PID.cairn, beside it. */
typedef struct family {
    const char *stem, *end;
    size_t stem_length, end_length;
} family;

static family family_of(const char *path)
{
    static const char end[] = ".cairn";
    const char *name = crn_path_name(path);
    size_t length = strlen(name), end_length = sizeof end - 1;
    if (!crn_path_ends(name, end))
        return (family){name, "", length, 0};
    return (family){name, end, length - end_length, end_length};
}

static bool is_child(const family *family, const char *name)
{
    size_t length = strlen(name), both = family->stem_length + family->end_length;
    return length > both && strncmp(name, family->stem, family->stem_length) == 0 &&
           strcmp(name + length - family->end_length, family->end) == 0 &&
           is_numbers(name + family->stem_length, length - both);
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void put_names(char *to, size_t size, char **names, size_t count)
{
    size_t used = 0;
    if (count)
        qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 0; i < count; i++) {
        int put = snprintf(to + used, size - used, "%s%s", used ? ", " : "", names[i]);
        used += (size_t)put < size - used ? (size_t)put : 0;
        to[used] = 0;
        crn_free(names[i]);
    }
    crn_free(names);
}

/* Lists the children's captures of this run: those modified since `started`. */
static void find_children(char *to, size_t size, const char *path, time_t started)
{
    family family = family_of(path);
    char *directory = crn_strdup(path), **names = NULL;
    directory[family.stem - path] = 0;
    DIR *files = opendir(*directory ? directory : ".");
    crn_free(directory);
    size_t count = 0;
    struct stat info;
    for (struct dirent *file; files && (file = readdir(files));) {
        if (!is_child(&family, file->d_name) ||
            fstatat(dirfd(files), file->d_name, &info, 0) != 0 || info.st_mtime < started)
            continue;
        names = crn_realloc(names, count + 1, sizeof *names);
        names[count++] = crn_strdup(file->d_name);
    }
    if (files)
        closedir(files);
    put_names(to, size, names, count);
}

/* ---- snapshots ---- */

static bool same_run(const crn_profile *before, const crn_profile *now)
{
    static const char *const facts[] = {"process", "started", "command", "library"};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (strcmp(crn_profile_note(before, facts[i], ""), crn_profile_note(now, facts[i], "")) !=
            0)
            return false;
    return crn_profile_note_number(now, "recorded_ns") >=
           crn_profile_note_number(before, "recorded_ns");
}

static void copy_lanes(crn_lanes *to, const crn_lanes *from)
{
    to->count = from->count;
    to->lanes = crn_calloc(from->count, sizeof *to->lanes);
    if (from->count)
        memcpy(to->lanes, from->lanes, from->count * sizeof *to->lanes);
}

static const crn_profile *as_read(const crn_top_look *look)
{
    return look->read ? look->read : look->profile;
}

static void compare(crn_top_look *look, const crn_top_look *before)
{
    const crn_profile *earlier = before ? as_read(before) : NULL;
    look->run = before ? before->run : 0;
    if (earlier && !same_run(earlier, look->profile)) {
        look->run++;
        earlier = NULL;
    }
    look->since = crn_since_make(earlier, look->profile);
    look->samples = crn_profile_note_number(look->profile, "samples");
    if (!earlier)
        return;
    look->interval = (double)(look->taken_ns - before->taken_ns) / 1e9;
    uint64_t samples = crn_profile_note_number(earlier, "samples");
    look->samples -= samples < look->samples ? samples : 0;
    copy_lanes(&look->lanes_before, &before->lanes);
}

/* Replaces addresses by functions. The difference was computed before, on addresses: which
 * functions a path of addresses becomes depends on the whole profile, so that paths of two
 * snapshots need not match. */
static void name_functions(crn_top_look *look, crn_symbols_cache *names, bool lines)
{
    if (!crn_symbols_wanted(look->profile))
        return;
    crn_symbols_place *places;
    crn_profile *named = crn_symbols_resolve_cached(look->profile, names, &places);
    crn_profile *gained = crn_symbols_resolve_cached(&look->since.profile, names, NULL);
    for (uint32_t m = 0; lines && m < look->profile->metric_count; m++)
        look->gained[m] = crn_top_address_costs(&look->since.profile, places, m);
    if (crn_since_rename(&look->since, named, gained)) {
        for (uint32_t i = 0; i < look->lanes.count; i++) {
            uint32_t *block = &look->lanes.lanes[i].current;
            *block = *block < look->profile->block_count ? places[*block].block : 0;
        }
        look->read = look->profile;
        look->profile = named;
        look->places = places;
    } else {
        crn_profile_free(named);
        crn_free(places);
    }
}

/* Returns the processor seconds of ended child processes, which read symbols. */
static double helpers_so_far(void)
{
    struct rusage use = {0};
    getrusage(RUSAGE_CHILDREN, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

crn_top_look crn_top_look_take(const char *path, const crn_top_look *before, crn_top_needs needs,
                               crn_symbols_cache *names)
{
    crn_top_look look = {0};
    uint64_t cost = crn_cli_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    double helpers = helpers_so_far();
    crn_error error = {0};
    struct stat file = {0};
    bool there = stat(path, &file) == 0 || errno != ENOENT;
    /* The spans before the profile, which then has their blocks. */
    crn_trace *trace = needs.view == CRN_TOP_SPANS ? crn_trace_load(path, &error) : NULL;
    uint64_t began = crn_cli_clock_ns(CLOCK_MONOTONIC);
    look.profile = crn_profile_load(path, &error);
    look.taken_ns = began + (crn_cli_clock_ns(CLOCK_MONOTONIC) - began) / 2;
    if (look.profile) {
        set_state(&look, before, &file);
        compare(&look, before);
        measure_cpu(&look, before, &file);
        find_children(look.children, sizeof look.children, path, started_at(look.profile));
        if (needs.view == CRN_TOP_LANES && !crn_lanes_load(&look.lanes, path, &error))
            look.lanes = (crn_lanes){0};
        bool same = before && look.run == before->run;
        if (trace)
            look.spans = crn_top_spans_make(trace, look.profile, same ? before->spans : NULL,
                                            needs.deadlines);
        if (before && !same)
            crn_symbols_cache_forget(names);
        name_functions(&look, names, needs.view == CRN_TOP_SOURCE);
    } else {
        look.state = there ? CRN_TOP_UNREADABLE : CRN_TOP_WAITING;
        snprintf(look.problem, sizeof look.problem, "%s", error.message);
    }
    crn_trace_free(trace);
    look.helpers = helpers_so_far() - helpers;
    look.cost = (double)(crn_cli_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cost) / 1e9 + look.helpers;
    return look;
}

double crn_top_wait(const crn_top_choice *choice, double cost)
{
    double least = 20 * cost; /* at most a twentieth of a processor */
    return choice->delay > least ? choice->delay : least;
}
