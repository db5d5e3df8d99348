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

/* A capture. It is the same file while device, inode and, once finished, size and time agree. */
typedef struct crn_watched {
    char *name; /* in the folder */
    struct stat info;
    crn_push_state *state;
    crn_metrics_lines metrics; /* of the last time that it was sent */
    bool finished;             /* all of it was sent, and it cannot grow */
    bool begun;                /* the database may show what it had earlier */
    bool seen;                 /* it was there at the last scan */
    unsigned idle, due;        /* rounds without a change; rounds until it is read again */
} crn_watched;

typedef struct crn_watch {
    const char *folder;
    int lock; /* descriptor */
    size_t count, room;
    crn_watched *captures;
} crn_watch;

/* Opens a folder, and locks it against a second agent. Reads which captures were sent. On an error
 * prints a message and returns false. */
bool crn_watch_open(crn_watch *watch, const char *folder);
/* The same, but says nothing if another process has the folder. */
bool crn_watch_try(crn_watch *watch, const char *folder);
/* Writes which captures were sent, and frees. */
void crn_watch_close(crn_watch *watch);

/* Scans the folder for files that end in .cairn. On an error prints a message and returns false. */
bool crn_watch_scan(crn_watch *watch);
/* Writes which captures were sent, so that the next agent does not send them again. */
void crn_watch_save(const crn_watch *watch);

/* Returns the path of a file in the folder; free it with crn_free. */
char *crn_watch_path(const crn_watch *watch, const char *name);
/* Returns true if both are the same file, unchanged. */
bool crn_watch_is_same(const struct stat *one, const struct stat *other);
/* Writes all that a file or folder has to the disk. */
bool crn_watch_sync(const char *path);
/* Deletes a capture and its labels. Returns false if the capture could not be deleted. */
bool crn_watch_unlink(const char *path);
/* Return the bytes on disk of a capture, and of all. */
uint64_t crn_watched_size(const crn_watched *capture);
uint64_t crn_watch_size(const crn_watch *watch);
/* Returns the path of a capture; free it with crn_free. */
char *crn_watched_path(const crn_watch *watch, const crn_watched *capture);
/* Notes a round in which the capture changed or not. One that does not change is read less and less
 * often, down to every 32nd round. */
void crn_watched_note(crn_watched *capture, bool changed);

/* Moves a capture that the server refuses into the folder `refused`, with the server's words in a
 * text beside it, so that it is not sent again and again. Prints that. */
void crn_watch_refuse(const crn_watch *watch, const crn_watched *capture, const char *words);

/* Deletes finished captures that are older than `age_s` (0: none), and the oldest of them while all
 * together have more than `bytes` (0: any number). Prints what it deletes. */
void crn_watch_delete(crn_watch *watch, uint64_t age_s, uint64_t bytes);

#endif
