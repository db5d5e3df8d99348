/* SPDX-License-Identifier: MIT */
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/common/terminal.h"
#include "merge_unsent.h"
#include "round.h"

/* ---- into the folder ---- */

static bool copy_bytes(int from, int to)
{
    enum { PIECE = 1 << 16 };
    char *piece = crn_calloc(PIECE, 1);
    ssize_t size, put = 0;
    while ((size = read(from, piece, PIECE)) > 0 && put >= 0)
        for (ssize_t at = 0; at < size; at += put)
            if ((put = write(to, piece + at, (size_t)(size - at))) < 0)
                break;
    crn_free(piece);
    return size == 0 && put >= 0;
}

static bool copy_file(const char *from, const char *to)
{
    int source = open(from, O_RDONLY | O_CLOEXEC);
    int target = source < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool good = target >= 0 && copy_bytes(source, target) && fsync(target) == 0;
    if (source >= 0)
        close(source);
    if (target >= 0)
        close(target);
    return good;
}

/* Writes the labels, then the capture, so that no capture appears without them. */
static bool put(const char *folder, const char *capture, const char *path,
                const crn_fleet_labels *labels)
{
    crn_error error = {0};
    crn_fleet_labels all = *labels;
    char *part = crn_calloc(strlen(path) + 6, 1);
    sprintf(part, "%s.part", path);
    crn_profile *profile = crn_profile_load(capture, &error);
    if (profile)
        crn_fleet_labels_add_own(&all, profile);
    bool good = profile && (mkdir(folder, 0700) == 0 || errno == EEXIST) &&
                crn_fleet_labels_write(&all, path) && copy_file(capture, part) &&
                rename(part, path) == 0 && crn_watch_sync(folder);
    if (!good)
        crn_cli_fail("%s: cannot be kept as %s: %s", capture, path,
                     profile ? strerror(errno) : error.message);
    crn_profile_free(profile);
    if (!good) {
        unlink(part);
        crn_watch_unlink(path);
    }
    crn_free(part);
    return good;
}

bool crn_spool_put(const char *folder, const char *capture, const crn_fleet_labels *labels)
{
    static unsigned number;
    char name[80];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(name, sizeof name, "%lld.%09ld-%ld-%u.cairn", (long long)now.tv_sec, now.tv_nsec,
             (long)getpid(), number++);
    crn_watch watch = {.folder = folder};
    char *path = crn_watch_path(&watch, name);
    bool good = put(folder, capture, path, labels);
    if (good)
        crn_terminal_format(stdout, "%s: is kept as %s\n", capture, path);
    crn_free(path);
    return good;
}

/* ---- out of the folder ---- */

static void note_result(void *data, const crn_round_result *result)
{
    crn_watched *capture = result->item;
    capture->begun |= result->reached;
    if (!result->error) {
        capture->finished = true;
        crn_fleet_print_sent(stdout, result->path, result->sent);
        crn_watch_unlink(result->path);
    } else if (result->error->code == CRN_DATABASE_REFUSED) {
        crn_watch_refuse(data, capture, result->error->message);
    }
}

/* Opens the folder. Returns false if it is missing, or another process has it. */
static bool open_folder(crn_watch *watch, const char *folder)
{
    if (access(folder, F_OK) != 0 || !crn_watch_try(watch, folder))
        return false;
    crn_watch_recover(watch);
    if (crn_watch_scan(watch))
        return true;
    crn_watch_close(watch);
    return false;
}

void crn_spool_send(const char *folder, crn_database *database, bool *takes)
{
    crn_watch watch;
    crn_fleet_labels none = {.count = 0};
    *takes = true;
    if (!open_folder(&watch, folder))
        return;
    crn_round *round = crn_round_new(database, &none, note_result, &watch);
    for (size_t i = 0; i < watch.count && *takes; i++) {
        char *path = crn_watched_path(&watch, &watch.captures[i]);
        *takes = crn_round_add(round, path, NULL, NULL, &watch.captures[i]);
        crn_free(path);
    }
    crn_round_end(round, takes);
    crn_watch_close(&watch);
}

void crn_spool_limit(const char *folder, uint64_t keep)
{
    crn_watch watch;
    if (!open_folder(&watch, folder))
        return;
    crn_watch_delete(&watch, 0, keep); /* sorts by age; sent captures are already gone */
    crn_watch_merge(&watch, keep);
    crn_watch_close(&watch);
}
