/* SPDX-License-Identifier: MIT
 *
 * compiled.h - functions that are in no ELF file: those that a runtime compiled while the program
 * ran, by the file that many of them write for profilers (/tmp/perf-PID.map, a line "START SIZE
 * NAME" a function; or jit-PID.dump, jitdump.h), and the kernel's (/proc/kallsyms).
 */
#ifndef CRN_SYMBOLS_COMPILED_H
#define CRN_SYMBOLS_COMPILED_H

#include <stdbool.h>
#include <stdint.h>

typedef struct crn_compiled crn_compiled;

/* Returns true if this is the name of such a file. */
bool crn_compiled_is_map(const char *path);

/* Returns true if this is the name of the kernel's file. */
bool crn_compiled_is_kernel(const char *path);
/* Returns true if the system was not started again since this number of its start was noted. */
bool crn_compiled_is_same_start(const char *noted);

/* Reads the file. One that does not exist, or is not a regular file of this user's, of root's or of
 * the process's, has no functions. Never NULL. */
crn_compiled *crn_compiled_read(const char *path);
void crn_compiled_free(crn_compiled *compiled);

/* Returns the name of the function at an address, of several the one written last, and sets
 * `*number`, which identifies it, from 1. NULL if there is none. */
const char *crn_compiled_find(const crn_compiled *compiled, uint64_t address, uint64_t *number);

#endif
