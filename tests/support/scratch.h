/* SPDX-License-Identifier: MIT
 *
 * scratch.h - temporary files in a folder that is removed at the end; the scale of a test.
 */
#ifndef TESTS_SUPPORT_SCRATCH_H
#define TESTS_SUPPORT_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SCRATCH_PATH = 256 };

/* Writes the path of a file in the test's folder to `path`, and returns it. */
char *scratch_path(char path[SCRATCH_PATH], const char *name);

bool scratch_exists(const char *path);

/* Returns the file's size in bytes; UINT64_MAX if there is no file. */
uint64_t scratch_size(const char *path);

/* Returns the whole file, to be freed. NULL if it cannot be read. */
unsigned char *scratch_read(const char *path, size_t *size);
bool scratch_write(const char *path, const void *bytes, size_t size);

/* Returns `often` times CAIRN_TEST_SCALE percent, at least 1. The sanitizer builds set it low. */
uint64_t scale(uint64_t often);

/* Returns true if CAIRN_TEST_LONG is set: tests that take minutes run. */
bool scale_is_long(void);

#endif
