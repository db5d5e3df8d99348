/* SPDX-License-Identifier: MIT
 *
 * file.h - files that are mapped while they grow.
 */
#ifndef CRN_PLAT_FILE_H
#define CRN_PLAT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A file that is open in the profiled program. The program may close the descriptor (closefrom,
 * daemons that close all), and the number may then belong to another file. So each use first
 * compares device and inode. */
typedef struct crn_file {
    int descriptor;
    uint64_t device, inode;
    char *path;   /* absolute; NULL: no name */
    char *wanted; /* final name, until it is published */
} crn_file;

/* Creates an empty file in the folder of `path` under a temporary name (.cairn.PID.NUMBER), or one
 * without a name if `path` is NULL. Mode 0600; symbolic links are not followed. Its descriptor is a
 * high number, so that the program's files get the same numbers as without it. On failure returns
 * false and sets errno: EEXIST if crn_file_publish would not replace the file at `path`. */
bool crn_file_create(crn_file *file, const char *path, const char *magic, size_t size);

/* Renames the file to its final name. Replaces an empty file or one that begins with `magic`
 * (without truncating it: another process may have it mapped), and no other. On failure returns
 * false and sets errno. */
bool crn_file_publish(crn_file *file, const char *magic, size_t size);

/* Returns the descriptor. Use it at once, because the program may close it. If the program has
 * closed it, opens the file again by its path. Returns -1 and sets errno if the file is gone. Not
 * thread safe. */
int crn_file_descriptor(crn_file *file);

/* Returns true if the calling thread has the descriptor. */
bool crn_file_is_open(const crn_file *file);

/* Closes the descriptor in the calling thread's table alone. */
void crn_file_drop(const crn_file *file);

/* Opens the file again in the calling thread's descriptor table. `thread` is another thread of the
 * process, whose table has the descriptor. On failure returns false; then the file is as before. */
bool crn_file_fetch(crn_file *file, pid_t thread);

/* Returns true if another thread could call crn_file_fetch with the calling thread: /proc is there,
 * and the file may be opened. */
bool crn_file_can_fetch(const crn_file *file);

/* Returns true if the file has no name: it is in memory only. */
bool crn_file_is_nameless(const crn_file *file);

/* Closes the descriptor, unless the program reused its number. Removes the file if it was not
 * published. */
void crn_file_close(crn_file *file);

/* Extends the file to include `size` bytes from `offset`, zeroed and allocated on disk, so that
 * stores to a mapping cannot fail. The zeros are written, which takes a third of the time of
 * posix_fallocate and of the later faults on unwritten blocks. Never raises SIGXFSZ. On failure
 * returns false and sets errno. */
bool crn_file_extend(int file, uint64_t offset, uint64_t size);

/* Like crn_file_extend, but appends the zeros at the file's end, which should be at `offset`: if it
 * is elsewhere, no byte is overwritten. Kernels and file systems without RWF_APPEND write at
 * `offset`. */
bool crn_file_append(int file, uint64_t offset, uint64_t size);

/* Returns true if the limit on file sizes allows a write that ends at `size`. Beyond the limit a
 * write raises SIGXFSZ, even where the file exists. If false, sets errno. */
bool crn_file_may_reach(uint64_t size);

/* Reserves address space without memory. Returns NULL if there is none. */
char *crn_address_reserve(uint64_t size);
void crn_address_release(char *base, uint64_t size);

/* Replaces a mapping by zeroed private memory. */
bool crn_address_clear(char *address, uint64_t size);

/* Maps zeroed private memory at `address` within reserved space. */
bool crn_address_fill(char *address, uint64_t size);

/* Maps file bytes, shared and writable, at `address` within reserved space. */
bool crn_address_map(char *address, int file, uint64_t offset, uint64_t size);

/* Enters all pages of a shared mapping into the page table at once, which costs less than a page
 * fault a page. For a file in memory. An error does no harm: the pages are then faulted in one by
 * one. Preserves errno. */
void crn_address_fetch(char *address, uint64_t size);

/* Returns true if the process's address space is limited (RLIMIT_AS), or if the limit is
 * unknown. */
bool crn_address_is_limited(void);

/* Replaces a shared mapping by a private one with the same contents: a private mapping of the file,
 * or a copy if `file` is -1. Returns false on an error. */
bool crn_address_detach(char *address, int file, uint64_t offset, uint64_t size);

#endif
