/* SPDX-License-Identifier: MIT */
#include "newest.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli.h"

static bool is_later(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec > b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

/* Returns the name, or NULL if the folder has no capture; free it with crn_free. */
static char *newest_name(DIR *folder)
{
    char *name = NULL;
    struct timespec newest = {0};
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        const char *end = strrchr(entry->d_name, '.');
        struct stat file;
        if (end && end != entry->d_name && strcmp(end, ".cairn") == 0 &&
            fstatat(dirfd(folder), entry->d_name, &file, 0) == 0 && S_ISREG(file.st_mode) &&
            (!name || is_later(&file.st_mtim, &newest))) {
            crn_free(name);
            name = crn_strdup(entry->d_name);
            newest = file.st_mtim;
        }
    }
    return name;
}

static void say_which(const char *name)
{
    char shown[NAME_MAX + 1];
    snprintf(shown, sizeof shown, "%s", name);
    crn_text_make_safe(shown);
    fprintf(stderr, "%s: reads %s, the newest capture of this folder\n", crn_cli_name, shown);
}

bool crn_newest_capture(crn_list *captures)
{
    DIR *folder = opendir(".");
    char *name = folder ? newest_name(folder) : NULL;
    if (folder)
        closedir(folder);
    if (!name)
        return false;
    captures->list = crn_calloc(1, sizeof *captures->list);
    captures->list[0] = name;
    captures->count = 1;
    say_which(name);
    return true;
}
