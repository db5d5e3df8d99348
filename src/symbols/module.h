/* SPDX-License-Identifier: MIT
 *
 * module.h - a program or library on the disk, and the functions in it.
 *
 * Works on files that nobody vouches for, with a library that was written for others'
 * files: to be used in the process that symbols/worker.c makes for it.
 */
#ifndef CRN_SYMBOLS_MODULE_H
#define CRN_SYMBOLS_MODULE_H

#include "symbols/function_name.h"

typedef enum crn_module_state {
    CRN_MODULE_READ,
    CRN_MODULE_UNPROVEN, /* read, but neither side has a build ID to compare */
    CRN_MODULE_GONE,
    CRN_MODULE_UNREADABLE, /* no permission */
    CRN_MODULE_NO_PROGRAM, /* not a regular file, not ELF, or beyond any sensible size */
    CRN_MODULE_OTHER,      /* its build ID is another one */
    CRN_MODULE_DAMAGED     /* reading it ended the process that did */
} crn_module_state;

typedef struct crn_module_file crn_module_file;

/* Opens the file if it has this build ID (hex, "" if it is not known). NULL if it cannot
 * be used; `*state` says why. */
crn_module_file *crn_module_open(const char *path, const char *build_id, crn_module_state *state);
void crn_module_close(crn_module_file *file);

/* Calls `put` for the function at `address` (as the file was linked) and what is inlined
 * there, inwards. `number` tells functions apart: the same one has the same number, and
 * `frame` is NULL when it was put before. */
typedef void crn_module_put(void *data, uint64_t number, const crn_frame *frame);
void crn_module_find(crn_module_file *file, uint64_t address, crn_module_put *put, void *data);

#endif
