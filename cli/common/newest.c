/* SPDX-License-Identifier: MIT */
#include "newest.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/path.h"
#include "base/text.h"
#include "cli.h"

#define SUFFIX ".cairn"

/* Returns true for the capture of a forked child, "NAME.PID.cairn" or "NAME.PID.2.cairn", if
 * NAME.cairn, the capture of its parent, is in the folder, too. */
static bool is_of_child(int folder, const char *name)
{
    char parent[NAME_MAX + 1];
    size_t length = strlen(name) - strlen(SUFFIX);
    memcpy(parent, name, length);
    for (;;) {
        size_t digits = 0;
        while (digits < length && isdigit((unsigned char)parent[length - digits - 1]))
            digits++;
        if (!digits || digits + 1 >= length || parent[length - digits - 1] != '.')
            return false;
        length -= digits + 1;
        memcpy(parent + length, SUFFIX, sizeof SUFFIX);
        if (faccessat(folder, parent, F_OK, 0) == 0)
            return true;
    }
}

/* Sets `*made` to when a file was made; where the file system does not know that, to when it was
 * changed. Programs write captures through mappings, which changes the latter time at odd moments.
 * Returns false if the file is not a regular one. */
static bool when_made(int folder, const char *name, struct statx_timestamp *made)
{
    struct statx file;
    if (statx(folder, name, 0, STATX_TYPE | STATX_BTIME | STATX_MTIME, &file) != 0 ||
        !S_ISREG(file.stx_mode))
        return false;
    *made = file.stx_mask & STATX_BTIME ? file.stx_btime : file.stx_mtime;
    return true;
}

typedef struct candidate {
    char *name; /* NULL: none yet */
    struct statx_timestamp made;
} candidate;

static bool is_newer(const candidate *a, const candidate *b)
{
    return !b->name || (CRN_ORDER(a->made.tv_sec, b->made.tv_sec)
                            ?: CRN_ORDER(a->made.tv_nsec, b->made.tv_nsec)
                            ?: strcmp(a->name, b->name)) > 0;
}

/* Returns the name, or NULL if the folder has no capture; free it with crn_free. */
static char *newest_name(DIR *folder)
{
    candidate newest = {0};
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        candidate found = {(char *)entry->d_name, {0}};
        if (crn_path_ends(found.name, SUFFIX) &&
            when_made(dirfd(folder), found.name, &found.made) && is_newer(&found, &newest) &&
            !is_of_child(dirfd(folder), found.name)) {
            crn_free(newest.name);
            newest = (candidate){crn_strdup(found.name), found.made};
        }
    }
    return newest.name;
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
