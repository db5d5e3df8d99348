/* SPDX-License-Identifier: MIT
 *
 * symbol_table.h - a sorted table of the functions of an ELF file's symbol table, for files without
 * debug information.
 */
#ifndef CRN_SYMBOLS_SYMBOL_TABLE_H
#define CRN_SYMBOLS_SYMBOL_TABLE_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct crn_symbol {
    uint64_t low, high; /* high: the section's end if the symbol has no size */
    const char *name;   /* owned by the file */
    bool sized;
    unsigned rank; /* of symbols at one address, the one with the lowest rank is kept */
} crn_symbol;

typedef struct crn_symbol_table {
    crn_symbol *symbols; /* sorted by low, one at each address */
    size_t count;
} crn_symbol_table;

crn_symbol_table crn_symbol_table_make(Dwfl_Module *module);
void crn_symbol_table_free(crn_symbol_table *table);

/* Returns the function at an address (libdwfl's address space); NULL if no symbol covers it. */
const crn_symbol *crn_symbol_table_find(const crn_symbol_table *table, uint64_t address);

#endif
