/* SPDX-License-Identifier: MIT
 *
 * since.h - the difference between two snapshots of a live capture.
 *
 * It matches contexts by path: with several lanes, a new context in one changes the numbers of
 * others.
 */
#ifndef CRN_PROFILE_SINCE_H
#define CRN_PROFILE_SINCE_H

#include "profile/model.h"

typedef struct crn_since {
    /* The gains. Shares contexts, blocks and names with the later profile, which must outlive
     * it. */
    crn_profile profile;
    uint32_t *origins; /* by context: its number in the earlier profile; CRN_CONTEXT_NONE: it is
                          new. NULL after crn_since_rename */
    bool began_anew; /* counters decreased: the program restarted or its profile was reset, and all
                        of the later profile is gained */
} crn_since;

/* Returns the gains of `now` over `before`; all of `now` if `before` is NULL. A new calibration may
 * decrease a clock slightly: that is neither a gain nor a restart. */
crn_since crn_since_make(const crn_profile *before, const crn_profile *now);
/* Replaces the later profile by `now` and the gains by `gained`: copies of these profiles in which
 * functions stand for addresses. Frees `gained` in any case. Returns false and leaves `*since` as
 * it is if the copies differ in the number of contexts, edges, metrics or blocks. */
bool crn_since_rename(crn_since *since, const crn_profile *now, crn_profile *gained);
void crn_since_free(crn_since *since);

#endif
