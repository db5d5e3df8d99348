/* SPDX-License-Identifier: MIT
 *
 * jitdump.h - reads jitdump files, which runtimes write for profilers: a record for each function
 * that is compiled while the program runs, with its code.
 */
#ifndef CRN_SYMBOLS_JITDUMP_H
#define CRN_SYMBOLS_JITDUMP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A function's code begins at `start`. The name is valid during the call. */
typedef void crn_jitdump_put(void *data, uint64_t start, uint64_t size, const char *name);

/* Returns true if the path's last part is a jitdump file's name, jit-NUMBER.dump. */
bool crn_jitdump_is(const char *path);

/* Reads up to `most` bytes of the file and passes on its functions, in the order of their
 * compilation; code that was moved comes again. A file of another kind has none. */
void crn_jitdump_read(FILE *file, uint64_t most, crn_jitdump_put *put, void *data);

#endif
