/* SPDX-License-Identifier: MIT
 *
 * file.h - files that are mapped while they grow.
 */
#ifndef CRN_PLAT_FILE_H
#define CRN_PLAT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file that is kept open in someone else's process. Programs close descriptors that they
 * know nothing of (closefrom, the loop of every daemon), and the number is then the next
 * file's that they open: so it is asked each time whether this is still the same file. */
typedef struct crn_file {
    int descriptor;
    uint64_t device, inode;
    char *path;   /* absolute; NULL if it has none */
    char *wanted; /* until it is published: the name that it is to get */
} crn_file;

/* Creates an empty file beside `path`, under a temporary name (.cairn.PID.NUMBER), or one without a
 * name if `path` is NULL. Only its owner may read and write it. Symbolic links are not followed.
 * Its descriptor is a high number: the program's own files get the numbers that they would get
 * without it. False and errno; EEXIST if crn_file_publish would not replace what is at `path`. */
bool crn_file_create(crn_file *file, const char *path, const char *magic, size_t size);

/* Gives the file the name that it was created for. An empty file or one that begins with `magic` is
 * replaced, not truncated, for another process may have it mapped; any other is not. False and
 * errno. */
bool crn_file_publish(crn_file *file, const char *magic, size_t size);

/* Its descriptor, good for the moment; the file is opened anew by its path if the program has
 * closed it. -1 and errno if it is not there any more. One caller at a time. */
int crn_file_descriptor(crn_file *file);

/* Closes it, if it is still this one. Removes it if it was not published. */
void crn_file_close(crn_file *file);

/* Makes the bytes from `offset` part of the file, zero, with space on the disk set aside for
 * them, so that writing to a mapping of them cannot fail. They are written: pages that are in
 * the cache when they are first touched cost a third of what posix_fallocate and faults on
 * unwritten blocks do. Never raises SIGXFSZ. False and errno. */
bool crn_file_extend(int file, uint64_t offset, uint64_t size);

/* Address space without memory. NULL when there is none. */
char *crn_address_reserve(uint64_t size);
void crn_address_release(char *base, uint64_t size);

/* Memory, zero, for a part of it: the process's own. */
bool crn_address_fill(char *address, uint64_t size);

/* Maps file bytes, shared and writable, at `address` within reserved space. */
bool crn_address_map(char *address, int file, uint64_t offset, uint64_t size);

/* Replaces a shared mapping by a private copy of what it holds; `file` may be -1. */
bool crn_address_detach(char *address, int file, uint64_t offset, uint64_t size);

#endif
