/* SPDX-License-Identifier: MIT
 *
 * addresses.h - which blocks of a profile are addresses, file by file.
 */
#ifndef CRN_SYMBOLS_ADDRESSES_H
#define CRN_SYMBOLS_ADDRESSES_H

#include "profile/profile.h"

typedef struct crn_address {
    uint64_t offset; /* of the return address, as the file was linked */
    uint32_t block;
} crn_address;

typedef struct crn_module {
    const char *path;       /* the profile's */
    const char *build_id;   /* the profile's; hex, "" if it is not known */
    crn_address *addresses; /* sorted by offset */
    uint32_t count;
} crn_module;

typedef struct crn_addresses {
    crn_module *modules; /* sorted by path */
    uint32_t module_count;
    crn_address *all;
    uint32_t count;
} crn_addresses;

/* Whether the block's name is an address in a file; `*offset` is what it says. */
bool crn_address_parse(const crn_block_info *block, uint64_t *offset);

/* To be freed with crn_addresses_free. */
crn_addresses crn_addresses_find(const crn_profile *profile);
void crn_addresses_free(crn_addresses *addresses);

#endif
