/* SPDX-License-Identifier: MIT
 *
 * merge.h - several profiles added up into one.
 */
#ifndef CRN_PROFILE_MERGE_H
#define CRN_PROFILE_MERGE_H

#include "profile/model.h"

typedef struct crn_merge crn_merge;

crn_merge *crn_merge_new(void);

/* Adds contexts, calls and metrics. Of the notes, those that count something are added up,
 * "started" is the earliest, and others stay as they are where all agree; where they do
 * not, the different values stand side by side. */
void crn_merge_add(crn_merge *merge, const crn_profile *profile);

/* Ends the merge, which is freed. Never NULL. */
crn_profile *crn_merge_end(crn_merge *merge);

#endif
