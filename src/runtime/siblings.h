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

/* Returns true if a strand of the lane or of its stand-ins is current. */
bool crn_redirect_someone_runs(cairn_lane *lane);

/* Like cairn_strand_switch, for a lane that is a stand-in or has one. */
void crn_redirect_switch(cairn_strand *strand);

/* Ends redirections when a strand closes; when a lane closes or begins anew. */
void crn_redirect_close(cairn_strand *strand);
void crn_redirect_close_lane(cairn_lane *lane);
void crn_redirect_forget(cairn_lane *lane);

#endif
