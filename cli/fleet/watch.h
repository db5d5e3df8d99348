/* SPDX-License-Identifier: MIT
 *
 * watch.h - the captures of a folder: which are new, growing, finished, old.
 */
#ifndef CRN_CLI_FLEET_WATCH_H
#define CRN_CLI_FLEET_WATCH_H

#include <stdint.h>
#include <sys/stat.h>

#include "fleet.h"
#include "metrics.h"

/* A capture. A file of its name is still this capture if it has the inode in `info` and, once
 * finished, also the size and time of modification. */
typedef struct crn_watched {
    char *name;                /* file name in the folder */
    struct stat info;          /* as of the last scan */
    crn_push_state *state;     /* what was sent; NULL: nothing, or all */
    crn_metrics_lines metrics; /* as of the last sending */
    bool finished;             /* all of it was sent, and it cannot grow */
    bool begun;                /* the database may show a part of it */
    bool seen;                 /* the last scan found it */
    unsigned idle, due;        /* rounds to skip while it does not change; those left */
} crn_watched;

typedef struct crn_watch {
    const char *folder;
    int lock; /* descriptor */
    size_t count, room;
    crn_watched *captures;
} crn_watch;

/* Opens a folder, locks it against a second agent, and reads which captures were sent. On an error
 * prints a message and returns false. */
bool crn_watch_open(crn_watch *watch, const char *folder);
/* Does the same, but prints nothing if another process has locked the folder. */
bool crn_watch_try(crn_watch *watch, const char *folder);
/* Writes which captures were sent, and frees all. */
void crn_watch_close(crn_watch *watch);

/* Scans the folder for files that end in .cairn. On an error prints a message and returns false. */
bool crn_watch_scan(crn_watch *watch);
/* Writes which captures were sent, so that the next agent does not send them again. */
void crn_watch_save(const crn_watch *watch);

/* Returns the path of a file in the folder; free it with crn_free. */
char *crn_watch_path(const crn_watch *watch, const char *name);
/* Returns true if inode, size and modification time are equal. */
bool crn_watch_is_same(const struct stat *one, const struct stat *other);
/* Writes a file, or a folder's entries, to the disk (fsync). */
bool crn_watch_sync(const char *path);
/* Deletes a capture and its labels. Returns false if the capture could not be deleted. */
bool crn_watch_unlink(const char *path);
/* Return the bytes on disk: of a capture; of all captures. */
uint64_t crn_watched_size(const crn_watched *capture);
uint64_t crn_watch_size(const crn_watch *watch);
/* Returns the path of a capture; free it with crn_free. */
char *crn_watched_path(const crn_watch *watch, const crn_watched *capture);
/* Notes whether the capture changed in this round. A capture that does not change is read less and
 * less often: up to 32 rounds are skipped. */
void crn_watched_note(crn_watched *capture, bool changed);

/* Moves a capture that the server refuses into the folder `refused`, so that it is not sent again,
 * and writes `words`, the server's error message, into a text file beside it. Prints that. */
void crn_watch_refuse(const crn_watch *watch, const crn_watched *capture, const char *words);

/* Sorts the captures by age, the oldest first. Deletes sent ones: those older than `age_s` seconds
 * (0: none for their age), and the oldest while all captures together have more than `bytes` (0: no
 * limit). Prints what it deletes. */
void crn_watch_delete(crn_watch *watch, uint64_t age_s, uint64_t bytes);

#endif
