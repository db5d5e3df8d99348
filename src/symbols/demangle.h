/* SPDX-License-Identifier: MIT
 *
 * demangle.h - names of functions as their source has them.
 */
#ifndef CRN_SYMBOLS_DEMANGLE_H
#define CRN_SYMBOLS_DEMANGLE_H

#include <stdbool.h>

/* Longest name that is taken from a file or made of one. */
enum { CRN_SYMBOL_NAME_MAX = 4096 };

/* Whether the name looks like one that C++ or Rust has made of another. */
bool crn_is_mangled(const char *symbol);

/* Writes the name of a linker symbol as C++ or Rust source has it, without parameters
 * ("Tree<int>::insert"), shortened as crn_shorten does, or the symbol itself where it is not
 * mangled, cannot be demangled, or would become too long. What compilers append to the names of
 * parts and copies of a function (".cold", ".part.0") is left out. `name` has room for
 * CRN_SYMBOL_NAME_MAX bytes. */
void crn_demangle(const char *symbol, char *name);

#endif
