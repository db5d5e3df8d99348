/* SPDX-License-Identifier: MIT
 *
 * module.h - an ELF file and the functions in it.
 *
 * Use it only in the child process of worker.c: files are untrusted, and the libraries that read
 * them were not made for hostile input.
 */
#ifndef CRN_SYMBOLS_MODULE_H
#define CRN_SYMBOLS_MODULE_H

#include "symbols/function_name.h"

typedef enum crn_module_state {
    CRN_MODULE_READ,
    CRN_MODULE_UNPROVEN,   /* read; neither the capture nor the file has a build id to compare */
    CRN_MODULE_GONE,       /* there is no such file */
    CRN_MODULE_UNREADABLE, /* no permission */
    CRN_MODULE_NO_PROGRAM, /* not a regular file, not ELF, or too large */
    CRN_MODULE_OTHER,      /* the file has another build id than the capture */
    CRN_MODULE_DAMAGED     /* the child process ended while it read the file */
} crn_module_state;

typedef struct crn_module_file crn_module_file;

/* Opens the file if it has this build id (hexadecimal, "" if not known). Sets `*state`. Returns
 * NULL on failure. `path` must outlive the result. */
crn_module_file *crn_module_open(const char *path, const char *build_id, crn_module_state *state);
void crn_module_close(crn_module_file *file);

/* Calls `put` for the function at `address` (in the linked file), then for the functions inlined
 * there, outermost first. `number` identifies a function; `frame` is NULL from its second report
 * on. Returns the line of the address if it is in the innermost function's file; 0 if it is not
 * known. */
typedef void crn_module_put(void *data, uint64_t number, const crn_frame *frame);
uint32_t crn_module_find(crn_module_file *file, uint64_t address, crn_module_put *put, void *data);

#endif
