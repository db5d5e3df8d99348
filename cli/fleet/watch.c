/* SPDX-License-Identifier: MIT */
#include "watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "cli/common/cli.h"
#include "cli/common/terminal.h"

#define LOCK_NAME ".cairn-agent.lock"
#define LIST_NAME ".cairn-agent.sent"
#define REFUSED_NAME "refused"

enum { IDLE_MAX = 32 };

static char *path_in(const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = crn_calloc(size, 1);
    snprintf(path, size, "%s/%s", folder, name);
    return path;
}

char *crn_watch_path(const crn_watch *watch, const char *name)
{
    return path_in(watch->folder, name);
}

char *crn_watched_path(const crn_watch *watch, const crn_watched *capture)
{
    return path_in(watch->folder, capture->name);
}

static bool is_capture(const char *name)
{
    return name[0] != '.' && crn_path_ends(name, ".cairn");
}

bool crn_watch_is_same(const struct stat *one, const struct stat *other)
{
    return one->st_ino == other->st_ino && one->st_size == other->st_size &&
           one->st_mtim.tv_sec == other->st_mtim.tv_sec &&
           one->st_mtim.tv_nsec == other->st_mtim.tv_nsec;
}

static crn_watched *add(crn_watch *watch, const char *name, const struct stat *info)
{
    CRN_GROW(watch->captures, watch->count, watch->room);
    crn_watched *capture = &watch->captures[watch->count++];
    *capture = (crn_watched){.name = crn_strdup(name), .info = *info};
    return capture;
}

static crn_watched *find(crn_watch *watch, const char *name)
{
    for (size_t i = 0; i < watch->count; i++)
        if (strcmp(watch->captures[i].name, name) == 0)
            return &watch->captures[i];
    return NULL;
}

static void clear(crn_watched *capture)
{
    crn_free(capture->name);
    crn_push_state_free(capture->state);
    crn_metrics_lines_free(&capture->metrics);
}

/* Lines have "sent" or "begun", inode, size, seconds and nanoseconds of the last change, name. A
 * capture whose line is unreadable is sent again, which does no harm. */
static void read_list(crn_watch *watch)
{
    char *path = path_in(watch->folder, LIST_NAME), name[NAME_MAX + 1];
    FILE *file = fopen(path, "re");
    crn_free(path);
    if (!file)
        return;
    char word[8];
    uint64_t inode, size;
    int64_t seconds, nanoseconds;
    while (fscanf(file, "%7s %" SCNu64 " %" SCNu64 " %" SCNd64 " %" SCNd64 " %255[^\n]", word,
                  &inode, &size, &seconds, &nanoseconds, name) == 6) {
        struct stat info = {.st_ino = inode,
                            .st_size = (off_t)size,
                            .st_mtim = {(time_t)seconds, (long)nanoseconds}};
        if (!is_capture(name) || find(watch, name))
            continue;
        crn_watched *capture = add(watch, name, &info);
        capture->begun = true;
        capture->finished = strcmp(word, "sent") == 0;
    }
    fclose(file);
}

void crn_watch_save(const crn_watch *watch)
{
    char *path = path_in(watch->folder, LIST_NAME),
         *part = path_in(watch->folder, LIST_NAME ".new");
    FILE *file = fopen(part, "we");
    for (size_t i = 0; file && i < watch->count; i++) {
        const crn_watched *capture = &watch->captures[i];
        if (capture->begun && !strchr(capture->name, '\n'))
            fprintf(file, "%s %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 " %s\n",
                    capture->finished ? "sent" : "begun", (uint64_t)capture->info.st_ino,
                    (uint64_t)capture->info.st_size, (int64_t)capture->info.st_mtim.tv_sec,
                    (int64_t)capture->info.st_mtim.tv_nsec, capture->name);
    }
    bool good = file && !ferror(file);
    if (file && fclose(file) != 0)
        good = false;
    if (!good || rename(part, path) != 0)
        crn_cli_fail("%s: %s; after a restart the agent sends finished captures once more", path,
                     strerror(errno));
    crn_free(path);
    crn_free(part);
}

bool crn_watch_try(crn_watch *watch, const char *folder)
{
    *watch = (crn_watch){.folder = folder};
    char *path = path_in(folder, LOCK_NAME);
    watch->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool locked = watch->lock >= 0 && flock(watch->lock, LOCK_EX | LOCK_NB) == 0;
    if (watch->lock < 0) {
        crn_cli_fail("%s: %s; write access to the folder is needed", path, strerror(errno));
        errno = 0;
    } else if (!locked) {
        close(watch->lock);
        errno = EWOULDBLOCK;
    }
    crn_free(path);
    if (!locked)
        return false;
    read_list(watch);
    return true;
}

bool crn_watch_open(crn_watch *watch, const char *folder)
{
    if (crn_watch_try(watch, folder))
        return true;
    if (errno == EWOULDBLOCK)
        crn_cli_fail("%s: another agent watches this folder", folder);
    return false;
}

void crn_watch_close(crn_watch *watch)
{
    crn_watch_save(watch);
    for (size_t i = 0; i < watch->count; i++)
        clear(&watch->captures[i]);
    crn_free(watch->captures);
    close(watch->lock);
}

static void see(crn_watch *watch, const char *name, const struct stat *info)
{
    crn_watched *capture = find(watch, name);
    if (!capture) {
        capture = add(watch, name, info);
    } else if (capture->info.st_ino != info->st_ino ||
               (capture->finished && !crn_watch_is_same(&capture->info, info))) {
        crn_push_state_free(capture->state); /* another file of the same name, or a changed one */
        capture->state = NULL;
        capture->begun &= capture->info.st_ino == info->st_ino;
        capture->finished = false;
        capture->idle = capture->due = 0;
    }
    capture->info = *info;
    capture->seen = true;
}

static void forget_unseen(crn_watch *watch)
{
    size_t kept = 0;
    for (size_t i = 0; i < watch->count; i++)
        if (watch->captures[i].seen)
            watch->captures[kept++] = watch->captures[i];
        else
            clear(&watch->captures[i]);
    watch->count = kept;
}

bool crn_watch_scan(crn_watch *watch)
{
    DIR *folder = opendir(watch->folder);
    struct stat info;
    if (!folder)
        return crn_cli_fail("%s: %s", watch->folder, strerror(errno)) == CRN_EXIT_OK;
    for (size_t i = 0; i < watch->count; i++)
        watch->captures[i].seen = false;
    for (struct dirent *entry; (entry = readdir(folder));)
        if (is_capture(entry->d_name) &&
            fstatat(dirfd(folder), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(info.st_mode))
            see(watch, entry->d_name, &info);
    closedir(folder);
    forget_unseen(watch);
    return true;
}

void crn_watched_note(crn_watched *capture, bool changed)
{
    if (changed)
        capture->idle = 0;
    else if (capture->idle < IDLE_MAX)
        capture->idle = capture->idle ? capture->idle * 2 : 1;
    capture->due = capture->idle;
}

bool crn_watch_sync(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool good = file >= 0 && fsync(file) == 0;
    if (file >= 0)
        close(file);
    return good;
}

bool crn_watch_unlink(const char *path)
{
    char *labels = crn_fleet_labels_path(path);
    bool good = unlink(path) == 0;
    if (good || errno == ENOENT) /* labels are written before their capture, which may be missing */
        unlink(labels);
    crn_free(labels);
    return good;
}

static void move_labels(const char *from, const char *to)
{
    char *old = crn_fleet_labels_path(from), *new = crn_fleet_labels_path(to);
    rename(old, new); /* most captures have none */
    crn_free(old);
    crn_free(new);
}

void crn_watch_refuse(const crn_watch *watch, const crn_watched *capture, const char *words)
{
    char *folder = path_in(watch->folder, REFUSED_NAME), *from = crn_watched_path(watch, capture);
    char *to = path_in(folder, capture->name), *why = crn_calloc(strlen(to) + 5, 1);
    sprintf(why, "%s.txt", to);
    bool made = mkdir(folder, 0700) == 0 || errno == EEXIST;
    FILE *file = made ? fopen(why, "we") : NULL;
    if (file)
        fprintf(file, "%s\n", words);
    bool good = file && fclose(file) == 0 && rename(from, to) == 0;
    if (good)
        move_labels(from, to);
    if (good)
        crn_cli_fail("%s: is in %s now, with the server's words beside it", from, folder);
    else
        crn_cli_fail("%s: %s; it will be sent again", to, strerror(errno));
    crn_free(why);
    crn_free(to);
    crn_free(from);
    crn_free(folder);
}

static int by_age(const void *one, const void *other)
{
    const crn_watched *a = one, *b = other;
    return (a->info.st_mtim.tv_sec > b->info.st_mtim.tv_sec) -
           (a->info.st_mtim.tv_sec < b->info.st_mtim.tv_sec);
}

uint64_t crn_watched_size(const crn_watched *capture)
{
    enum { STAT_BLOCK = 512 };
    return (uint64_t)capture->info.st_blocks * STAT_BLOCK;
}

uint64_t crn_watch_size(const crn_watch *watch)
{
    uint64_t size = 0;
    for (size_t i = 0; i < watch->count; i++)
        size += crn_watched_size(&watch->captures[i]);
    return size;
}

void crn_watch_delete(crn_watch *watch, uint64_t age_s, uint64_t bytes)
{
    uint64_t whole = crn_watch_size(watch);
    time_t now = time(NULL);
    if (watch->count)
        qsort(watch->captures, watch->count, sizeof *watch->captures, by_age);
    for (size_t i = 0; i < watch->count; i++) {
        crn_watched *capture = &watch->captures[i];
        bool old = age_s && now - capture->info.st_mtim.tv_sec > (time_t)age_s;
        if (!capture->finished || (!old && (!bytes || whole <= bytes)))
            continue;
        char *path = crn_watched_path(watch, capture);
        if (crn_watch_unlink(path)) {
            whole -= crn_watched_size(capture);
            crn_terminal_format(stdout, "%s: deleted, as it was sent and %s\n", path,
                                old ? "is old" : "the folder is large");
        }
        crn_free(path);
    }
}
