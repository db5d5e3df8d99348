/* SPDX-License-Identifier: MIT
 *
 * siblings.h - profiles that know the same blocks by the same numbers, and strands that go
 * from one to another of them.
 */
#ifndef CRN_RUNTIME_SIBLINGS_H
#define CRN_RUNTIME_SIBLINGS_H

#include "runtime/runtime.h"

/* Of who is whose sibling, and of which lanes stand in for which. Taken before all others. */
void crn_siblings_lock(void);
void crn_siblings_unlock(void);

/* Gives `profile` the blocks of `other`, now and later. False when there is no room. */
bool crn_siblings_join(cairn_profile *profile, cairn_profile *other);
void crn_siblings_leave(cairn_profile *profile);

/* Adds the block that the profile has last to all its siblings; before that, to the profile
 * what it lacks. Under the lock of siblings. */
bool crn_siblings_catch_up(cairn_profile *profile);
void crn_siblings_tell(cairn_profile *profile);

/* The strand that runs in place of this one: itself, if it does not rest. */
cairn_strand *crn_strand_innermost(cairn_strand *strand);

/* Whether any strand of the lane, and of those that stand in for it, runs. */
bool crn_redirect_someone_runs(cairn_lane *lane);

/* As cairn_strand_switch, for a lane that stands in for another, or has one that does. */
void crn_redirect_switch(cairn_strand *strand);

/* A strand that is away, or has one that is, is closed; a lane is, or begins anew. */
void crn_redirect_close(cairn_strand *strand);
void crn_redirect_close_lane(cairn_lane *lane);
void crn_redirect_forget(cairn_lane *lane);

#endif
