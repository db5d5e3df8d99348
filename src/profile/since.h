/* SPDX-License-Identifier: MIT
 *
 * since.h - the difference between two snapshots of a live capture.
 *
 * Contexts are matched by path: with several lanes their merged numbers change when a lane adds a
 * context.
 */
#ifndef CRN_PROFILE_SINCE_H
#define CRN_PROFILE_SINCE_H

#include "profile/model.h"

typedef struct crn_since {
    /* The gains. Contexts, blocks and names are those of the later profile, which must outlive
     * it. */
    crn_profile profile;
    uint32_t *origins; /* by context: its number in the earlier profile, or CRN_CONTEXT_NONE;
                          NULL after crn_since_rename */
    bool began_anew;   /* counters have decreased: the program or its profile restarted, and
                          everything in the later profile counts as gained */
} crn_since;

/* Returns what `now` has beyond `before`; everything if `before` is NULL. A newly calibrated clock
 * may decrease slightly: that is neither a gain nor a restart. */
crn_since crn_since_make(const crn_profile *before, const crn_profile *now);
/* Replaces the profiles by renamed ones (functions for addresses) with equal contexts and edges.
 * `gained` is consumed. Returns false and changes nothing if contexts or edges differ. */
bool crn_since_rename(crn_since *since, const crn_profile *now, crn_profile *gained);
void crn_since_free(crn_since *since);

#endif
