/* SPDX-License-Identifier: MIT
 *
 * ids.h - ids of blocks, contexts and runs by their content: XXH3, 128 bits.
 *
 * Equal blocks of two captures have equal ids, so machines need not agree on numbers, and what is
 * sent twice is the same row. The hash is not cryptographic: whoever may insert rows can insert
 * false ones without finding a collision.
 */
#ifndef CRN_FLEET_IDS_H
#define CRN_FLEET_IDS_H

#include "fleet/rows.h"
#include "profile/profile.h"

typedef struct crn_fleet_ids {
    crn_fleet_id *blocks;   /* by block */
    crn_fleet_id *contexts; /* by context: of its parent's id and its block's */
    crn_fleet_id run;       /* of the notes that tell runs apart; without them, of everything */
} crn_fleet_ids;

void crn_fleet_ids_make(crn_fleet_ids *ids, const crn_profile *profile);
void crn_fleet_ids_free(crn_fleet_ids *ids);

/* Returns the ids of the blocks alone; free them with crn_free. */
crn_fleet_id *crn_fleet_block_ids(const crn_profile *profile);

/* Returns the hash of some bytes, and of some ids in order. */
crn_fleet_id crn_fleet_bytes_hash(const void *bytes, size_t size);
crn_fleet_id crn_fleet_ids_hash(const crn_fleet_id *ids, size_t count);

#endif
