/* SPDX-License-Identifier: MIT
 *
 * file.h - files that are mapped while they grow.
 */
#ifndef CRN_PLAT_FILE_H
#define CRN_PLAT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A new, empty file at `path`, or one without a name if `path` is NULL. A regular file
 * that is there is replaced, not truncated, for someone may have it mapped; but only if it
 * is empty or begins with `magic`: else errno is EEXIST. Never one of the standard streams,
 * should they be closed. -1 and errno. */
int crn_file_create(const char *path, const char *magic, size_t size);

/* Makes the bytes from `offset` part of the file, zero, with space on the disk set aside for
 * them, so that writing to a mapping of them cannot fail. They are written: pages that are in
 * the cache when they are first touched cost a third of what posix_fallocate and faults on
 * unwritten blocks do. Never raises SIGXFSZ. False and errno. */
bool crn_file_extend(int file, uint64_t offset, uint64_t size);

/* Address space without memory. NULL when there is none. */
char *crn_address_reserve(uint64_t size);
void crn_address_release(char *base, uint64_t size);

/* Maps file bytes, shared and writable, at `address` within reserved space. */
bool crn_address_map(char *address, int file, uint64_t offset, uint64_t size);

/* Replaces a shared mapping by a private copy of what it holds. */
bool crn_address_detach(char *address, int file, uint64_t offset, uint64_t size);

#endif
