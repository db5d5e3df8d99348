/* SPDX-License-Identifier: MIT
 *
 * jitdump.h - reads jitdump files. A runtime writes one for profilers: a record, with name and
 * code, of each function that it compiles while the program runs.
 */
#ifndef CRN_SYMBOLS_JITDUMP_H
#define CRN_SYMBOLS_JITDUMP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Gets a function's code and name. The name is valid during the call. */
typedef void crn_jitdump_put(void *data, uint64_t start, uint64_t size, const char *name);

/* Returns true if the path's last part is a jitdump file's name, jit-NUMBER.dump. */
bool crn_jitdump_is(const char *path);

/* Reads up to `most` bytes of the file and calls `put` for each function, in the order of
 * compilation, and again after its code was moved. Ignores files of another kind. */
void crn_jitdump_read(FILE *file, uint64_t most, crn_jitdump_put *put, void *data);

#endif
