/* SPDX-License-Identifier: MIT
 *
 * module.h - an ELF file and the functions in it.
 *
 * Files are untrusted, and libraries that read them were not made for hostile input: use it only
 * in the child process of worker.c.
 */
#ifndef CRN_SYMBOLS_MODULE_H
#define CRN_SYMBOLS_MODULE_H

#include "symbols/function_name.h"

typedef enum crn_module_state {
    CRN_MODULE_READ,
    CRN_MODULE_UNPROVEN, /* read, but one side has no build id to compare */
    CRN_MODULE_GONE,
    CRN_MODULE_UNREADABLE, /* no permission */
    CRN_MODULE_NO_PROGRAM, /* not a regular file, not ELF, or too large */
    CRN_MODULE_OTHER,      /* it has another build id */
    CRN_MODULE_DAMAGED     /* the reading process ended */
} crn_module_state;

typedef struct crn_module_file crn_module_file;

/* Opens the file if it has this build id (hex, "" if not known). On failure returns NULL and sets
 * `*state`. */
crn_module_file *crn_module_open(const char *path, const char *build_id, crn_module_state *state);
void crn_module_close(crn_module_file *file);

/* Calls `put` for the function at `address` (in the linked file), then for those inlined there,
 * outermost first. `number` identifies the function; `frame` is NULL if it was reported before.
 * Returns the line of the address in the file of the innermost function; 0 if it is not known. */
typedef void crn_module_put(void *data, uint64_t number, const crn_frame *frame);
uint32_t crn_module_find(crn_module_file *file, uint64_t address, crn_module_put *put, void *data);

#endif
