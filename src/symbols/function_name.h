/* SPDX-License-Identifier: MIT
 *
 * function_name.h - what a function in debug information is called, and where it is.
 */
#ifndef CRN_SYMBOLS_FUNCTION_NAME_H
#define CRN_SYMBOLS_FUNCTION_NAME_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "symbols/demangle.h"

typedef struct crn_frame {
    char name[CRN_SYMBOL_NAME_MAX];
    char file[CRN_SYMBOL_NAME_MAX]; /* "" if it is not known */
    uint32_t line, column;          /* of the declaration; 0 if not known */
} crn_frame;

/* False if the name may not be the linker's: a symbol at the same place may know better.
 * "[unnamed]" is a function that the compiler has made and not named. */
bool crn_function_name(Dwarf_Die *die, crn_frame *frame);

/* Takes "." and ".." out of a path by its letters, in place. */
void crn_path_tidy(char *path);

#endif
