/* SPDX-License-Identifier: MIT
 *
 * demangle.h - converts linker symbols to names of functions as in source text.
 */
#ifndef CRN_SYMBOLS_DEMANGLE_H
#define CRN_SYMBOLS_DEMANGLE_H

#include <stdbool.h>

/* Limit on the size of names: of symbols, of files, and after demangling. */
enum { CRN_SYMBOL_NAME_MAX = 4096 };

/* Returns true if the name looks like a mangled C++ or Rust name. */
bool crn_is_mangled(const char *symbol);

/* Writes the source name of a linker symbol without parameters ("Tree<int>::insert"), shortened by
 * crn_cpp_name_shorten. A symbol that is not mangled, cannot be demangled or would become too long
 * is written as it is. Drops suffixes of clones (".cold", ".part.0"). `name` has space for
 * CRN_SYMBOL_NAME_MAX bytes. */
void crn_demangle(const char *symbol, char *name);

#endif
