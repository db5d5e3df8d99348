/* SPDX-License-Identifier: MIT
 *
 * scratch.h - files that a test makes, in a folder that is removed when it ends; and how
 * much a test should do.
 */
#ifndef TESTS_SUPPORT_SCRATCH_H
#define TESTS_SUPPORT_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SCRATCH_PATH = 256 };

/* Writes the path of a file of this name in the test's own folder, and returns it. */
char *scratch_path(char path[SCRATCH_PATH], const char *name);

/* The whole file, to be freed. NULL if it cannot be read. */
unsigned char *scratch_read(const char *path, size_t *size);
bool scratch_write(const char *path, const void *bytes, size_t size);

/* `often` times CAIRN_TEST_SCALE percent, at least 1. The sanitizer builds set it low. */
uint64_t scale(uint64_t often);

/* True when CAIRN_TEST_LONG is set: the tests that take minutes are wanted. */
bool scale_is_long(void);

#endif
