/* SPDX-License-Identifier: MIT
 *
 * compiled.h - functions that are in no ELF file: of code that a runtime compiled while the program
 * ran, from the file that many runtimes write for profilers (/tmp/perf-PID.map, a line "START SIZE
 * NAME" a function; or jit-PID.dump, jitdump.h); of the kernel, from /proc/kallsyms.
 */
#ifndef CRN_SYMBOLS_COMPILED_H
#define CRN_SYMBOLS_COMPILED_H

#include <stdbool.h>
#include <stdint.h>

typedef struct crn_compiled crn_compiled;

/* Returns true if the path is that of a perf map or jitdump file. */
bool crn_compiled_is_map(const char *path);

/* Returns true if the path is /proc/kallsyms. */
bool crn_compiled_is_kernel(const char *path);
/* Returns true if `noted` is the boot id of the system, which then has not restarted since. */
bool crn_compiled_is_same_start(const char *noted);

/* Reads the file. The result has no functions if the file does not exist, is not regular, or
 * belongs to another user than this one and root; root reads any user's. Never NULL. */
crn_compiled *crn_compiled_read(const char *path);
void crn_compiled_free(crn_compiled *compiled);

/* Returns the name of the function at an address, and sets `*number`, from 1, which identifies the
 * function. Of several the one written last counts. Returns NULL if no function is there. */
const char *crn_compiled_find(const crn_compiled *compiled, uint64_t address, uint64_t *number);

#endif
