/* SPDX-License-Identifier: MIT
 *
 * merge.h - adds several profiles up.
 */
#ifndef CRN_PROFILE_MERGE_H
#define CRN_PROFILE_MERGE_H

#include "profile/model.h"

typedef struct crn_merge crn_merge;

crn_merge *crn_merge_new(void);

/* Adds contexts, calls and metrics. Notes that count something are added, "started" becomes the
 * earliest; other notes are kept if all agree, otherwise the values are listed as "a | b". */
void crn_merge_add(crn_merge *merge, const crn_profile *profile);

/* Ends the merge and frees it. Never NULL. */
crn_profile *crn_merge_end(crn_merge *merge);

#endif
