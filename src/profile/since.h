/* SPDX-License-Identifier: MIT
 *
 * since.h - what a capture gained between two looks at it while its program ran.
 *
 * The same contexts are found again by path: with several lanes the merged numbers move
 * when a lane meets something new.
 */
#ifndef CRN_PROFILE_SINCE_H
#define CRN_PROFILE_SINCE_H

#include "profile/model.h"

typedef struct crn_since {
    /* Contexts, blocks and names are those of the later profile, and only as long as it
     * lives; calls, edges and values are what came in between. */
    crn_profile profile;
    uint32_t *origins; /* by context: its number in the earlier one, or CRN_CONTEXT_NONE;
                          NULL once it is said in other words */
    bool began_anew;   /* counters went back: all of the later profile counts as gained */
} crn_since;

/* A metric that says how much there is (live bytes) and not how much came: it may fall, and
 * what is gained of it is what there is. */
bool crn_metric_is_level(const crn_metric_info *metric);

/* What `now` has beyond `before`, which may be NULL: then it is everything. A clock that is
 * calibrated anew may seem to run back by a little: that is no gain, and no beginning. */
crn_since crn_since_make(const crn_profile *before, const crn_profile *now);
/* Says it in other words: `now` and `gained` are the later profile and what came in between,
 * changed in the same way (addresses to functions), so that both have the same contexts and
 * edges. `gained` is taken over and freed. False, and nothing is changed, if they have not. */
bool crn_since_rename(crn_since *since, const crn_profile *now, crn_profile *gained);
void crn_since_free(crn_since *since);

#endif
