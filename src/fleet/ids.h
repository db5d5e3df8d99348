/* SPDX-License-Identifier: MIT
 *
 * ids.h - ids of blocks, contexts and runs: hashes of their content by XXH3, 128 bits.
 *
 * Equal blocks of two captures have equal ids, so machines need not agree on numbers, and a row
 * that is sent twice is the same row. The hash need not be cryptographic: whoever may insert rows
 * needs no collision to insert false ones.
 */
#ifndef CRN_FLEET_IDS_H
#define CRN_FLEET_IDS_H

#include "fleet/rows.h"
#include "profile/profile.h"

typedef struct crn_fleet_ids {
    crn_fleet_id *blocks;   /* by block */
    crn_fleet_id *contexts; /* by context: hash of its parent's id and its block's id */
    crn_fleet_id run;       /* hash of the notes that tell runs apart; without a trace_id, also of
                               contexts, figures and all notes */
} crn_fleet_ids;

void crn_fleet_ids_make(crn_fleet_ids *ids, const crn_profile *profile);
void crn_fleet_ids_free(crn_fleet_ids *ids);

/* Returns the ids of the blocks; free them with crn_free. */
crn_fleet_id *crn_fleet_block_ids(const crn_profile *profile);

/* Return the hash of bytes; of ids in their order. */
crn_fleet_id crn_fleet_bytes_hash(const void *bytes, size_t size);
crn_fleet_id crn_fleet_ids_hash(const crn_fleet_id *ids, size_t count);

#endif
