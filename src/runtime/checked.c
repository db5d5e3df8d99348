/* SPDX-License-Identifier: MIT
 *
 * checked.c - the check in cairn_leave_block, for programs compiled with CAIRN_CHECKED.
 */
#include <errno.h>
#include <stdio.h>

#include "runtime/runtime.h"

static const char *name_of(const cairn_profile *profile, cairn_block block)
{
    if (block >= profile->block_count)
        return "a block that was never added";
    return profile->strings.base + ((const crn_disk_block *)profile->blocks.base)[block].name;
}

/* Adds a note about the first mismatch; further mismatches usually follow from it. */
static void note_mismatch(cairn_profile *profile, cairn_block left, cairn_block current)
{
    if (__atomic_exchange_n(&profile->mismatched, true, __ATOMIC_RELAXED))
        return;
    char text[256];
    int saved = errno;
    crn_profile_lock(profile);
    snprintf(text, sizeof text, "left %.100s, but the current block was %.100s",
             name_of(profile, left), name_of(profile, current));
    crn_profile_add_note(profile, "mismatch", text);
    crn_profile_unlock(profile);
    errno = saved;
}

/* Counts a misuse, and notes the first, if another block than `block` is current. Checks nothing
 * once recording was switched off: blocks that were entered while it was off have no context of
 * their own. Checks nothing either while frames are lost or no block is entered. */
void cairn_priv_check(cairn_priv_strand *priv, cairn_block block)
{
    cairn_strand *strand = (cairn_strand *)priv;
    cairn_lane *lane = crn_lane_of(strand);
    crn_lane_listen(lane);
    if (__atomic_load_n(&lane->profile->turned, __ATOMIC_RELAXED) || strand->lost ||
        cairn_strand_depth(strand) == 0)
        return;
    cairn_block current = lane->graph.links[crn_strand_record(strand)].block;
    if (current == block || current == CAIRN_BLOCK_FOLDED)
        return;
    lane->disk->misuses++;
    note_mismatch(lane->profile, block, current);
}
