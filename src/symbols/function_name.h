/* SPDX-License-Identifier: MIT
 *
 * function_name.h - reads a function's name and source location from debug information.
 */
#ifndef CRN_SYMBOLS_FUNCTION_NAME_H
#define CRN_SYMBOLS_FUNCTION_NAME_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "symbols/demangle.h"

typedef struct crn_frame {
    char name[CRN_SYMBOL_NAME_MAX];
    char file[CRN_SYMBOL_NAME_MAX]; /* "" if not known */
    uint32_t line, column;          /* of the declaration; 0 if not known */
} crn_frame;

/* Sets the name and source location. Returns false if the linker's symbol at the same address may
 * have a better name. Functions without a name, which compilers make, are called "[unnamed]". */
bool crn_function_name(Dwarf_Die *die, crn_frame *frame);

/* Returns the file that declares the function, as the compiler names it; NULL if it is not
 * known. */
const char *crn_function_file(Dwarf_Die *die);

/* Removes "." and ".." from a path, as text, in place. */
void crn_path_tidy(char *path);

#endif
