/* SPDX-License-Identifier: MIT
 *
 * Loads files, and reloads those that a program writes.
 */
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/common/clock.h"
#include "cli/common/progress.h"
#include "cli/convert/convert.h"
#include "profile/profile.h"
#include "symbols/symbols.h"
#include "view.h"

static bool is_capture(const char *path)
{
    char head[5] = "";
    struct stat about;
    /* Captures need random access, and opening a pipe would disturb its writer. */
    if (strcmp(path, "-") == 0 || (stat(path, &about) == 0 && !S_ISREG(about.st_mode)))
        return false;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* may be a pipe by now */
    ssize_t size = file < 0 ? 0 : read(file, head, sizeof head);
    if (file >= 0)
        close(file);
    /* If it cannot be opened, the capture's reader prints why. */
    return file < 0 || (size == (ssize_t)sizeof head && memcmp(head, "CAIRN", sizeof head) == 0);
}

/* Returns the profile with functions in place of addresses; `plain` itself if it has none. Keeps
 * `plain`, to which spans refer. */
static crn_profile *named(crn_profile *plain)
{
    crn_profile *profile =
        crn_symbols_wanted(plain) ? crn_symbols_resolve(plain, crn_progress_at, NULL) : plain;
    crn_live_derive(profile);
    return profile;
}

/* Sets the file's profile, of which it takes ownership. */
static void profile_take(crn_view_file *file, crn_profile *plain)
{
    file->plain = plain;
    file->profile = named(plain);
    file->known.profile = file->profile;
    for (uint32_t m = 0; m < file->profile->metric_count; m++)
        file->totals[m] = crn_metric_total(file->profile, m);
    malloc_trim(0); /* loading took twice the memory */
}

static void drop_profiles(crn_view_file *file)
{
    crn_view_transformed_clear(&file->transformed);
    crn_figure_cache_clear(&file->known);
    if (file->plain != file->profile)
        crn_profile_free(file->plain);
    crn_profile_free(file->profile);
    file->plain = file->profile = NULL;
}

/* Returns true if the capture's program ended without closing it. */
static bool is_left(const crn_view_file *file, const crn_profile *profile)
{
    crn_report report = {.path = file->path, .profile = profile};
    return crn_report_state_of(&report) == CRN_REPORT_KILLED;
}

/* Loads a capture; if its program has ended without closing it, loads it again: the program may
 * have written more, or closed it, just before it ended. Keeps only one of the large profiles. */
static crn_profile *load(crn_view_file *file, crn_error *error)
{
    file->left = false;
    crn_profile *plain = crn_profile_load(file->path, error);
    if (!plain || !is_left(file, plain))
        return plain;
    char *process = crn_strdup(crn_profile_note(plain, "process", ""));
    crn_profile_free(plain);
    plain = crn_profile_load(file->path, error);
    file->left = plain && is_left(file, plain) &&
                 strcmp(crn_profile_note(plain, "process", ""), process) == 0;
    crn_free(process);
    return plain;
}

/* Returns true if the file was replaced or written since the last call, and notes its state. */
static bool is_replaced(crn_view_file *file)
{
    struct stat about;
    if (file->foreign || stat(file->path, &about) != 0 || !S_ISREG(about.st_mode))
        return false;
    bool same = file->inode == (uint64_t)about.st_ino &&
                file->changed.tv_sec == about.st_mtim.tv_sec &&
                file->changed.tv_nsec == about.st_mtim.tv_nsec;
    file->inode = (uint64_t)about.st_ino;
    file->changed = about.st_mtim;
    return !same;
}

bool crn_view_file_read(crn_view_file *file)
{
    crn_error error = {0};
    double begin = crn_cli_clock_s(CLOCK_MONOTONIC);
    crn_profile *plain;
    file->foreign = !is_capture(file->path);
    if (file->foreign) {
        plain = crn_convert_read(file->path, &(crn_convert_options){.format = CRN_CONVERT_SHOWN});
    } else {
        is_replaced(file);
        crn_progress_begin("%s: reading %s", crn_cli_name, file->path);
        plain = load(file, &error);
        crn_progress_end();
        if (!plain)
            crn_cli_fail("%s", error.message);
    }
    if (!plain)
        return false;
    drop_profiles(file);
    crn_view_part_clear(&file->part);
    profile_take(file, plain);
    file->read_at = crn_cli_clock_s(CLOCK_MONOTONIC);
    file->cost = file->read_at - begin;
    file->generation++;
    return true;
}

/* ---- spans ---- */

typedef struct spans_read {
    crn_trace *trace;
    crn_spans *spans;
    crn_chart *chart;
    crn_counter_tracks *counters;
    crn_view_sums *sums;
} spans_read;

static void spans_free(spans_read *read)
{
    crn_view_sums_free(read->sums);
    crn_chart_free(read->chart);
    crn_counter_tracks_free(read->counters);
    crn_spans_free(read->spans);
    crn_trace_free(read->trace);
    *read = (spans_read){0};
}

static spans_read spans_load(const crn_view_file *file)
{
    crn_error error = {0};
    spans_read read = {.trace = file->foreign ? NULL : crn_trace_load(file->path, &error)};
    if (read.trace && !read.trace->span_count) {
        crn_trace_free(read.trace);
        read.trace = NULL;
    }
    if (read.trace) {
        read.spans = crn_spans_make(read.trace, file->plain->block_count);
        read.chart = crn_chart_make(read.trace);
        read.counters = crn_counter_tracks_make(read.trace);
        malloc_trim(0);
    }
    return read;
}

static void spans_take(crn_view_file *file, spans_read read)
{
    spans_read before = {file->trace, file->spans, file->chart, file->counters, file->sums};
    crn_view_choice_clear(&file->choice);
    crn_view_replay_clear(file);
    crn_view_part_clear(&file->span_part);
    spans_free(&before);
    file->trace = read.trace;
    file->spans = read.spans;
    file->chart = read.chart;
    file->counters = read.counters;
    file->sums = read.sums;
    file->looked_at = true;
}

/* Computes the figures that most pages need. */
static void prepare_figures(crn_view *view, crn_view_file *file)
{
    crn_figure_cache known = {.profile = file->profile};
    uint32_t metric = crn_metric_default(file->profile);
    crn_figure_cache_totals(&known, metric);
    crn_figure_cache_cost(&known, metric);
    crn_figure_cache_cost(&known, CRN_METRIC_CALLS);
    pthread_mutex_lock(&view->lock);
    crn_figure_cache_take(&file->known, &known);
    pthread_mutex_unlock(&view->lock);
}

/* Computes the sums over all spans, then what takes longer: explanations and the replay. The page
 * draws meanwhile; spans are not replaced before the end. */
static void prepare(crn_view *view, crn_view_file *file)
{
    enum { MANY = 1 << 18 }; /* with fewer spans, a replay is quickly made on request */
    crn_view_sums *sums = file->sums;
    bool replays = file->trace->span_count > MANY;
    while (sums->done < CRN_SUMS) {
        crn_view_sums_add(sums, file->spans, file->plain);
        pthread_mutex_lock(&view->lock);
        sums->done++;
        replays = replays && !file->no_replay;
        pthread_cond_broadcast(&view->looked);
        pthread_mutex_unlock(&view->lock);
    }
    crn_view_explain_ahead(view, file);
    crn_replay *replay = replays ? crn_view_replay_make(file) : NULL;
    malloc_trim(0);
    pthread_mutex_lock(&view->lock);
    file->replay = replay;
    file->preparing = false;
    pthread_cond_broadcast(&view->looked);
    pthread_mutex_unlock(&view->lock);
}

static crn_view_sums *sums_new(const spans_read *read)
{
    return read->trace ? crn_calloc(1, sizeof(crn_view_sums)) : NULL;
}

void crn_view_file_look(crn_view *view, crn_view_file *file)
{
    prepare_figures(view, file); /* no request reloads the profile before looked_at is true */
    spans_read read = spans_load(file);
    read.sums = sums_new(&read);
    pthread_mutex_lock(&view->lock);
    spans_take(file, read);
    file->preparing = read.trace != NULL;
    pthread_cond_broadcast(&view->looked);
    pthread_mutex_unlock(&view->lock);
    if (read.trace)
        prepare(view, file);
}

typedef struct reader {
    crn_view *view;
    size_t first, end; /* numbers of files */
} reader;

static void *read_spans(void *data)
{
    reader reader = *(const struct reader *)data;
    crn_free(data);
    for (size_t i = reader.first; i < reader.end; i++)
        crn_view_file_look(reader.view, &reader.view->files[i]);
    atomic_fetch_sub(&reader.view->readers, 1);
    return NULL;
}

int crn_view_files_look(crn_view *view, size_t first)
{
    pthread_t thread;
    reader *reader = crn_calloc(1, sizeof *reader);
    *reader = (struct reader){view, first, view->file_count};
    atomic_fetch_add(&view->readers, 1);
    int problem = pthread_create(&thread, NULL, read_spans, reader);
    if (problem) {
        atomic_fetch_sub(&view->readers, 1);
        crn_free(reader);
        return problem;
    }
    return pthread_detach(thread);
}

bool crn_view_file_spans(crn_view *view, crn_view_file *file)
{
    while (!file->looked_at)
        pthread_cond_wait(&view->looked, &view->lock);
    if (file->trace)
        return true;
    crn_cli_fail(
        "%s: has no spans; a program records them with cairn_span_begin, see cairn-spans(1)",
        file->path);
    return false;
}

crn_view_file *crn_view_file_chosen(crn_view *view, const crn_view_query *query,
                                    const crn_view_choice **choice)
{
    crn_view_file *file = crn_view_file_of(view, query);
    bool good = file && crn_view_file_spans(view, file) && crn_view_choice_of(file, query, choice);
    return good ? file : NULL;
}

/* ---- while a program writes ---- */

/* Returns true if the file may have grown. */
static bool is_growing(const crn_view_file *file)
{
    return !file->foreign && !file->left &&
           strcmp(crn_profile_note(file->plain, "state", ""), "recording") == 0;
}

crn_report_state crn_view_file_state(const crn_view_file *file)
{
    crn_report report = {.path = file->path, .profile = file->profile};
    return is_growing(file) ? CRN_REPORT_RUNNING : crn_report_state_of(&report);
}

/* Returns true if nothing was recorded between two readings. */
static bool is_same(const crn_profile *before, const crn_profile *after)
{
    static const char *const counters[] = {"recorded_ns", "samples", "state", "lanes_open"};
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        if (strcmp(crn_profile_note(before, counters[i], ""),
                   crn_profile_note(after, counters[i], "")) != 0)
            return false;
    return before->context_count == after->context_count &&
           crn_metric_total(before, CRN_METRIC_CALLS) == crn_metric_total(after, CRN_METRIC_CALLS);
}

void crn_view_file_renew(crn_view *view, crn_view_file *file)
{
    enum { SHARE = 4 }; /* reloading takes a quarter of the time at most */
    double least = SHARE * file->cost > 0.5 ? SHARE * file->cost : 0.5,
           begin = crn_cli_clock_s(CLOCK_MONOTONIC);
    bool grows = is_growing(file), replaced = file->looked_at && is_replaced(file);
    if (!file->looked_at || !(grows || replaced))
        return;
    while (file->preparing) /* a thread uses the spans */
        pthread_cond_wait(&view->looked, &view->lock);
    /* Once the program has ended, reads the rest at once. */
    bool last = grows && is_left(file, file->plain);
    if (grows && !last && begin - file->read_at < least)
        return;
    enum { LARGE = 1 << 18 }; /* contexts from which derived data is freed first */
    if (file->plain->context_count > LARGE) {
        crn_view_part_clear(&file->part);
        crn_view_transformed_clear(&file->transformed);
        crn_figure_cache_clear(&file->known);
        file->known.profile = file->profile;
        malloc_trim(0);
    }
    crn_error error = {0};
    bool left = file->left || last;
    crn_profile *plain = load(file, &error);
    file->read_at = begin;
    if (!plain) {
        file->left = left; /* load cleared it; the profile is still the old one */
        file->inode = 0;   /* the next call tries again, as for a replaced file */
        return;
    }
    if (!last && !file->left && is_same(file->plain, plain)) {
        crn_profile_free(plain);
        return;
    }
    drop_profiles(file);
    crn_view_part_clear(&file->part);
    profile_take(file, plain);
    spans_take(file, (spans_read){0}); /* frees the old spans first: they can be large */
    spans_read read = spans_load(file);
    read.sums = sums_new(&read);
    for (; read.sums && read.sums->done < CRN_SUMS; read.sums->done++)
        crn_view_sums_add(read.sums, read.spans, file->plain);
    spans_take(file, read);
    file->read_at = crn_cli_clock_s(CLOCK_MONOTONIC);
    file->cost = file->read_at - begin;
    file->generation++;
}

void crn_view_file_close(crn_view_file *file)
{
    if (!file->profile)
        return;
    crn_free(file->uploaded);
    crn_view_part_clear(&file->part);
    spans_take(file, (spans_read){0});
    drop_profiles(file);
}
