/* SPDX-License-Identifier: MIT
 *
 * merge.h - merges profiles into one.
 */
#ifndef CRN_PROFILE_MERGE_H
#define CRN_PROFILE_MERGE_H

#include "base/error.h"
#include "profile/model.h"

typedef struct crn_merge crn_merge;

crn_merge *crn_merge_new(void);

/* Returns false and sets the error if the profile is of another program than the profiles added
 * before. Only profiles imported from MLton can tell; others always fit. */
bool crn_merge_fits(const crn_merge *merge, const crn_profile *profile, crn_error *error);

/* Adds contexts, calls, metrics and notes. Sums notes that count; takes the largest limit and the
 * earliest "started"; drops notes about one process. Lists other notes as "a | b" if they
 * differ. */
void crn_merge_add(crn_merge *merge, const crn_profile *profile);

/* Ends the merge and frees it. Never NULL. */
crn_profile *crn_merge_end(crn_merge *merge);

#endif
