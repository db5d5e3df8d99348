/* SPDX-License-Identifier: MIT
 *
 * addresses.h - finds the blocks of a profile that are addresses, grouped by file.
 */
#ifndef CRN_SYMBOLS_ADDRESSES_H
#define CRN_SYMBOLS_ADDRESSES_H

#include "profile/profile.h"

typedef struct crn_address {
    uint64_t offset; /* return address, in the linked file's address space */
    uint32_t block;
} crn_address;

typedef struct crn_module {
    const char *path;       /* owned by the profile */
    const char *build_id;   /* hexadecimal, "" if not known; owned by the profile */
    crn_address *addresses; /* sorted by offset */
    uint32_t count;
} crn_module;

typedef struct crn_addresses {
    crn_module *modules; /* sorted by path */
    uint32_t module_count;
    crn_address *all; /* the addresses of all modules */
    uint32_t count;
} crn_addresses;

/* Returns true if the block's name is an address in a file, and sets `*offset`. */
bool crn_address_parse(const crn_block_info *block, uint64_t *offset);

/* Returns the addresses in files of which the profile has a note "module <file>". Free the result
 * with crn_addresses_free. */
crn_addresses crn_addresses_find(const crn_profile *profile);
void crn_addresses_free(crn_addresses *addresses);

#endif
