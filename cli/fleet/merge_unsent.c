/* SPDX-License-Identifier: MIT
 *
 * Merges captures that could not be sent: adds up their figures, so that totals survive.
 *
 * An interrupted merge counts nothing twice. A merge writes a journal with the names of the merged
 * capture and its sources, then the merged capture; then it deletes the sources, and the journal.
 * crn_watch_recover completes a merge whose capture is whole, and undoes any other.
 */
#include "merge_unsent.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/common/terminal.h"
#include "spans/spans.h"

#define JOURNAL_NAME ".cairn-agent.merge"
/* Notes of a merged capture: what was merged; and that the database may show a part of it, so that
 * it is not merged with others. */
#define NOTE_MERGED "merged_unsent"
#define NOTE_BEGUN "sent_in_part"

/* Captures that become one: of one service, with equal labels. */
typedef struct group {
    char *key; /* the labels */
    crn_merge *merge;
    const crn_watched **sources;
    size_t count, room;
    uint64_t spans; /* spans left out */
} group;

typedef struct groups {
    group *list;
    size_t count;
} groups;

/* ---- the journal ---- */

static bool journal_write(const crn_watch *watch, const char *merged, const group *group)
{
    char *path = crn_watch_path(watch, JOURNAL_NAME);
    char *part = crn_watch_path(watch, JOURNAL_NAME ".new");
    FILE *file = fopen(part, "we");
    if (file)
        fprintf(file, "%s\n", merged);
    for (size_t i = 0; file && i < group->count; i++)
        fprintf(file, "%" PRIu64 " %s\n", (uint64_t)group->sources[i]->info.st_ino,
                group->sources[i]->name);
    bool good = file && fflush(file) == 0 && fsync(fileno(file)) == 0;
    if (file)
        fclose(file);
    good = good && rename(part, path) == 0 && crn_watch_sync(watch->folder);
    if (!good)
        crn_cli_fail("%s: %s; captures cannot be merged", path, strerror(errno));
    crn_free(part);
    crn_free(path);
    return good;
}

static void journal_end(const crn_watch *watch)
{
    char *path = crn_watch_path(watch, JOURNAL_NAME);
    unlink(path);
    crn_free(path);
}

/* Deletes a source, unless its name is another file's by now. */
static void delete_source(const crn_watch *watch, const char *name, uint64_t inode)
{
    struct stat info;
    char *path = crn_watch_path(watch, name);
    if (!strchr(name, '/') && lstat(path, &info) == 0 && info.st_ino == inode)
        crn_watch_unlink(path);
    crn_free(path);
}

static bool is_whole(const char *path)
{
    crn_error error = {0};
    crn_profile *profile = crn_profile_load(path, &error);
    bool whole = profile && crn_profile_note(profile, NOTE_MERGED, NULL);
    crn_profile_free(profile);
    return whole;
}

void crn_watch_recover(const crn_watch *watch)
{
    char *journal = crn_watch_path(watch, JOURNAL_NAME), merged[NAME_MAX + 1], name[NAME_MAX + 1];
    FILE *file = fopen(journal, "re");
    crn_free(journal);
    if (!file)
        return;
    uint64_t inode;
    bool named = fscanf(file, "%255[^\n]", merged) == 1 && !strchr(merged, '/');
    char *path = crn_watch_path(watch, named ? merged : "");
    bool whole = named && is_whole(path);
    while (whole && fscanf(file, "%" SCNu64 " %255[^\n]", &inode, name) == 2)
        delete_source(watch, name, inode);
    if (named && !whole)
        crn_watch_unlink(path);
    crn_free(path);
    fclose(file);
    journal_end(watch);
}

/* ---- groups ---- */

/* Returns the labels with which the capture is sent, except the command line's. Free it with
 * crn_free. */
static char *key_of(const char *path, const crn_profile *profile)
{
    crn_fleet_labels labels = {.count = 0};
    crn_fleet_labels_read(&labels, path);
    crn_fleet_labels_add_own(&labels, profile);
    size_t size = 1;
    for (size_t i = 0; i < labels.count; i++)
        size += strlen(labels.list[i].key) + strlen(labels.list[i].value) + 2;
    char *key = crn_calloc(size, 1), *at = key;
    for (size_t i = 0; i < labels.count; i++)
        at += sprintf(at, "%s=%s\n", labels.list[i].key, labels.list[i].value);
    crn_free(labels.texts);
    return key;
}

/* Returns the key's group, made if needed. Takes the key. */
static group *group_of(groups *groups, char *key, const crn_profile *profile)
{
    for (size_t g = 0; g < groups->count; g++)
        if (strcmp(groups->list[g].key, key) == 0 &&
            crn_merge_fits(groups->list[g].merge, profile, NULL)) {
            crn_free(key);
            return &groups->list[g];
        }
    groups->list = crn_realloc(groups->list, groups->count + 1, sizeof *groups->list);
    group *group = &groups->list[groups->count++];
    *group = (struct group){.key = key, .merge = crn_merge_new()};
    return group;
}

static uint64_t spans_of(const char *path)
{
    crn_span_store *store = crn_store_open(path, NULL);
    uint64_t count = store ? store->count : 0;
    crn_store_close(store);
    return count;
}

static void note_spans_left_out(crn_profile *profile, uint64_t spans)
{
    char text[24];
    uint64_t dropped = crn_profile_note_number(profile, "spans_dropped");
    snprintf(text, sizeof text, "%" PRIu64, dropped + spans);
    if (spans)
        crn_profile_put_note(profile, "spans_dropped", text);
}

/* Writes the profile to `path`, synced to the disk with its folder. */
static bool save(const crn_watch *watch, const crn_profile *profile, const char *path)
{
    return crn_cli_save(profile, path) == CRN_EXIT_OK && crn_watch_sync(path) &&
           crn_watch_sync(watch->folder);
}

/* Removes the spans from a capture that is not merged, because the database may show a part of its
 * run. */
static void reduce(const crn_watch *watch, crn_watched *capture, const char *path,
                   crn_profile *profile)
{
    uint64_t spans = spans_of(path);
    if (!spans)
        return;
    note_spans_left_out(profile, spans);
    crn_profile_put_note(profile, NOTE_MERGED, "1");
    crn_profile_put_note(profile, NOTE_BEGUN, "1");
    if (save(watch, profile, path) && lstat(path, &capture->info) == 0)
        crn_terminal_format(stdout,
                            "%s: %" PRIu64 " spans are left out, as it was not sent and the folder "
                            "is large\n",
                            path, spans);
    crn_push_state_free(capture->state);
    capture->state = NULL;
}

/* Adds a capture to its group. Returns false if it stays as it is, because it may grow or cannot be
 * read. */
static bool collect(groups *groups, const crn_watch *watch, crn_watched *capture)
{
    char *path = crn_watched_path(watch, capture);
    crn_profile *profile = crn_cli_load(path);
    bool whole = profile && !crn_cli_is_recording(profile);
    if (whole && (capture->begun || crn_profile_note(profile, NOTE_BEGUN, NULL))) {
        reduce(watch, capture, path, profile);
    } else if (whole) {
        group *group = group_of(groups, key_of(path, profile), profile);
        group->spans += spans_of(path);
        crn_merge_add(group->merge, profile);
        CRN_GROW(group->sources, group->count, group->room);
        group->sources[group->count++] = capture;
    }
    crn_profile_free(profile);
    crn_free(path);
    return whole;
}

/* ---- one group ---- */

/* Copies the labels of the first source, which all sources have. */
static bool copy_labels(const char *from, const char *to)
{
    crn_fleet_labels labels = {.count = 0};
    bool good = true;
    if (crn_fleet_labels_read(&labels, from))
        good = crn_fleet_labels_write(&labels, to);
    crn_free(labels.texts);
    return good;
}

static void merge_group(const crn_watch *watch, const group *group, crn_profile *profile,
                        size_t number)
{
    char name[80], what[120];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(name, sizeof name, "merged-%lld.%09ld-%zu.cairn", (long long)now.tv_sec, now.tv_nsec,
             number);
    snprintf(what, sizeof what, "%zu captures that could not be sent; %" PRIu64 " spans left out",
             group->count, group->spans);
    note_spans_left_out(profile, group->spans);
    crn_profile_put_note(profile, NOTE_MERGED, what);
    char *path = crn_watch_path(watch, name), *first = crn_watched_path(watch, group->sources[0]);
    if (journal_write(watch, name, group)) {
        if (copy_labels(first, path) && save(watch, profile, path)) {
            for (size_t i = 0; i < group->count; i++)
                delete_source(watch, group->sources[i]->name, group->sources[i]->info.st_ino);
            crn_terminal_format(stdout, "%s: merged from %s, as the folder is large\n", path, what);
        } else {
            crn_watch_unlink(path);
        }
        journal_end(watch);
    }
    crn_free(first);
    crn_free(path);
}

void crn_watch_merge(crn_watch *watch, uint64_t bytes)
{
    uint64_t whole = crn_watch_size(watch);
    groups groups = {0};
    if (whole <= bytes)
        return;
    for (size_t i = 0; i < watch->count && whole > bytes - bytes / 4; i++) {
        crn_watched *capture = &watch->captures[i];
        uint64_t size = crn_watched_size(capture);
        if (!capture->finished && !strchr(capture->name, '\n') && collect(&groups, watch, capture))
            whole -= size;
    }
    for (size_t g = 0; g < groups.count; g++) {
        group *group = &groups.list[g];
        crn_profile *profile = crn_merge_end(group->merge);
        if (group->count > 1 || group->spans)
            merge_group(watch, group, profile, g);
        crn_profile_free(profile);
        crn_free((void *)group->sources);
        crn_free(group->key);
    }
    crn_free(groups.list);
}
