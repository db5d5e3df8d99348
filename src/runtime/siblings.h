/* SPDX-License-Identifier: MIT
 *
 * siblings.h - profiles that have the same blocks, and strands redirected between them.
 */
#ifndef CRN_RUNTIME_SIBLINGS_H
#define CRN_RUNTIME_SIBLINGS_H

#include "runtime/runtime.h"

/* Protects the lists of siblings and of stand-in lanes. Taken before all other locks. */
void crn_siblings_lock(void);
void crn_siblings_unlock(void);
void crn_siblings_begin_child(void);

/* Gives `profile` the blocks of `other`, now and later. Returns false without space. */
bool crn_siblings_join(cairn_profile *profile, cairn_profile *other);
void crn_siblings_leave(cairn_profile *profile);

/* Adds the profile's newest block to all its siblings, after adding what the profile lacks. Under
 * the lock of siblings. */
bool crn_siblings_catch_up(cairn_profile *profile);
void crn_siblings_tell(cairn_profile *profile);

/* Returns the strand that currently runs in place of this one; itself, if it is not redirected. */
cairn_strand *crn_strand_innermost(cairn_strand *strand);

/* Returns the lane that this one stands in for; itself, if it is no stand-in. */
static inline cairn_lane *crn_lane_home(cairn_lane *lane)
{
    return lane->home ? lane->home : lane;
}

/* Returns the current strand of a lane that is no stand-in, and of its stand-ins. */
cairn_strand *crn_redirect_running(cairn_lane *home);

/* Charges the time of the current strand. Returns its lane, NULL if there was none. */
cairn_lane *crn_redirect_stop(cairn_strand *strand);

/* Makes the strand current. `before` is what crn_redirect_stop returned. */
void crn_redirect_start(cairn_strand *strand, const cairn_lane *before);

/* Returns true if a strand of the lane or of its stand-ins is current. */
bool crn_redirect_someone_runs(cairn_lane *lane);

/* Like cairn_strand_switch, for a lane that is a stand-in or has one. */
void crn_redirect_switch(cairn_strand *strand);

/* Ends the redirections of a strand that closes, and that no other one runs in place of. */
void crn_redirect_end(cairn_strand *strand);

/* Separates a lane that closes from its stand-ins, or from the lane that it stands in for. Returns
 * the list of its stand-ins. */
cairn_lane *crn_redirect_end_lane(cairn_lane *lane);

/* Gives the lane a new serial number, as it has a new graph, and forgets where contexts of other
 * lanes were in the old one. */
void crn_redirect_forget(cairn_lane *lane);

/* Returns the cache of where contexts of a lane are in another lane's graph. NULL without memory.
 */
struct crn_translation *crn_crossing_find(const cairn_lane *from, cairn_lane *to);

#endif
