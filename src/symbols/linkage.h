/* SPDX-License-Identifier: MIT
 *
 * linkage.h - names the entries of an ELF file's procedure linkage table (PLT): the jumps through
 * which its calls reach functions of other files.
 */
#ifndef CRN_SYMBOLS_LINKAGE_H
#define CRN_SYMBOLS_LINKAGE_H

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

typedef struct crn_linkage_entry {
    uint64_t low, high; /* addresses in the linked file */
    const char *name; /* symbol of the function; owned by the file; NULL: unknown, or the code that
                         calls the dynamic linker */
} crn_linkage_entry;

typedef struct crn_linkage {
    crn_linkage_entry *entries; /* sorted */
    size_t count;
} crn_linkage;

/* Reads the sections whose names begin with ".plt". Decodes entries of x86-64 only: on other
 * machines each section is one entry without a name. */
crn_linkage crn_linkage_make(Elf *elf);
void crn_linkage_free(crn_linkage *linkage);

/* Returns the entry at an address; NULL if the address is not in a PLT. */
const crn_linkage_entry *crn_linkage_find(const crn_linkage *linkage, uint64_t address);

#endif
