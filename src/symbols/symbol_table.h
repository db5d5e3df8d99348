/* SPDX-License-Identifier: MIT
 *
 * symbol_table.h - functions of a file's symbol table, sorted: what is known of a program
 * without debug information.
 */
#ifndef CRN_SYMBOLS_SYMBOL_TABLE_H
#define CRN_SYMBOLS_SYMBOL_TABLE_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct crn_symbol {
    uint64_t low, high; /* where the table has no size, up to the end of the section */
    const char *name;   /* the file's */
    bool sized;
    unsigned rank; /* which of several at one place is best: the lowest */
} crn_symbol;

typedef struct crn_symbol_table {
    crn_symbol *symbols; /* sorted by low, one at each */
    size_t count;
} crn_symbol_table;

crn_symbol_table crn_symbol_table_make(Dwfl_Module *module);
void crn_symbol_table_free(crn_symbol_table *table);

/* The function that the address (as libdwfl counts them) is in; NULL if none is. */
const crn_symbol *crn_symbol_table_find(const crn_symbol_table *table, uint64_t address);

#endif
