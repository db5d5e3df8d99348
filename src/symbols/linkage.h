/* SPDX-License-Identifier: MIT
 *
 * linkage.h - names the entries of an ELF file's procedure linkage table (PLT): the jumps through
 * which its calls reach functions that the dynamic linker finds.
 */
#ifndef CRN_SYMBOLS_LINKAGE_H
#define CRN_SYMBOLS_LINKAGE_H

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

enum { CRN_LINKAGE_MAX = 16 << 20 }; /* bytes */

typedef struct crn_linkage_entry {
    uint64_t low, high; /* addresses in the linked file */
    const char *name;   /* symbol of the function; owned by the file; NULL: not known */
    uint64_t resolver;  /* address of the file's own function that chooses the one to be called
                           (IFUNC); 0: none */
} crn_linkage_entry;

typedef struct crn_linkage {
    crn_linkage_entry *entries; /* sorted */
    size_t count;
} crn_linkage;

/* Reads the loaded sections whose names begin with ".plt", CRN_LINKAGE_MAX bytes in all. Decodes
 * entries of x86-64 only: on other machines each section is one entry without a name. Entries that
 * call the dynamic linker have no name. */
crn_linkage crn_linkage_make(Elf *elf);
void crn_linkage_free(crn_linkage *linkage);

/* Returns the entry at an address; NULL if the address is not in a PLT. */
const crn_linkage_entry *crn_linkage_find(const crn_linkage *linkage, uint64_t address);

#endif
