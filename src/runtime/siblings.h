/* SPDX-License-Identifier: MIT
 *
 * siblings.h - siblings: profiles that share their blocks. Strands can be redirected between them.
 */
#ifndef CRN_RUNTIME_SIBLINGS_H
#define CRN_RUNTIME_SIBLINGS_H

#include "runtime/runtime.h"

/* The lock of the lists of siblings and of stand-in lanes. Take it before all other locks. */
void crn_siblings_lock(void);
void crn_siblings_unlock(void);
void crn_siblings_begin_child(void);

/* Makes `profile` a sibling of `other`. Returns false without space for the other's blocks. */
bool crn_siblings_join(cairn_profile *profile, cairn_profile *other);
void crn_siblings_leave(cairn_profile *profile);

/* Copies from the siblings the blocks that the profile lacks. Returns false if it still lacks some.
 * Under the lock of siblings. */
bool crn_siblings_catch_up(cairn_profile *profile);
/* Copies the profile's blocks to siblings that lack them. Under the lock of siblings. */
void crn_siblings_tell(cairn_profile *profile);

/* Returns the strand that currently runs in place of `strand`; `strand` itself if it is not
 * redirected to another profile. */
cairn_strand *crn_strand_innermost(cairn_strand *strand);

/* Returns the lane that `lane` stands in for; `lane` itself if it is no stand-in. */
static inline cairn_lane *crn_lane_home(cairn_lane *lane)
{
    return lane->home ? lane->home : lane;
}

/* Returns the current strand of `home`, which is no stand-in, or of one of its stand-ins; NULL if
 * none is current. */
cairn_strand *crn_redirect_running(cairn_lane *home);

/* Charges `strand`, which ceases to be current, up to now. Returns its lane; NULL if `strand` is
 * paused. */
cairn_lane *crn_redirect_stop(cairn_strand *strand);

/* Makes the strand current. `before` is what crn_redirect_stop returned: time counts from the
 * moment up to which that lane was charged. With NULL or another clock, time counts from now. */
void crn_redirect_start(cairn_strand *strand, const cairn_lane *before);

/* Returns true if a strand of the lane or of its stand-ins is current. */
bool crn_redirect_someone_runs(cairn_lane *lane);

/* Like cairn_strand_switch, for a strand of a stand-in or of a lane with stand-ins. */
void crn_redirect_switch(cairn_strand *strand);

/* Ends the redirections of a strand that closes. No other strand runs in its place. */
void crn_redirect_end(cairn_strand *strand);

/* Separates a lane that closes from its stand-ins, or from the lane that it stands in for. Returns
 * its former stand-ins, as a list. */
cairn_lane *crn_redirect_end_lane(cairn_lane *lane);

/* Gives the lane a new serial number, and so its strands a new graph tag. Empties its caches of
 * other lanes' contexts. */
void crn_redirect_forget(cairn_lane *lane);

/* Returns the cache that translates contexts of `from` to records of `to` with the same path. Makes
 * the cache if `to` has none for `from`. Returns NULL without memory. */
struct crn_translation *crn_crossing_find(const cairn_lane *from, cairn_lane *to);

#endif
