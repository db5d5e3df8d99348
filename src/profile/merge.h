/* SPDX-License-Identifier: MIT
 *
 * merge.h - adds several profiles up.
 */
#ifndef CRN_PROFILE_MERGE_H
#define CRN_PROFILE_MERGE_H

#include "base/error.h"
#include "profile/model.h"

typedef struct crn_merge crn_merge;

crn_merge *crn_merge_new(void);

/* Returns false and sets the error if the profile is of another program than those added before: so
 * far only the imported ones of MLton's say. */
bool crn_merge_fits(const crn_merge *merge, const crn_profile *profile, crn_error *error);

/* Adds contexts, calls and metrics. Notes that count something are added, "started" becomes the
 * earliest; other notes are kept if all agree, otherwise the values are listed as "a | b". */
void crn_merge_add(crn_merge *merge, const crn_profile *profile);

/* Ends the merge and frees it. Never NULL. */
crn_profile *crn_merge_end(crn_merge *merge);

#endif
