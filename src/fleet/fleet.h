/* SPDX-License-Identifier: MIT
 *
 * fleet.h - sends the captures of many machines to a ClickHouse database, asks it about runs, and
 * fetches a run or a sum of runs back.
 *
 * Other folders include only this header of this folder.
 */
#ifndef CRN_FLEET_FLEET_H
#define CRN_FLEET_FLEET_H

#include "fleet/compare.h"
#include "fleet/database.h"
#include "fleet/filter.h"
#include "fleet/post.h"
#include "fleet/push.h"
#include "fleet/questions.h"
#include "fleet/schema.h"
#include "profile/profile.h"
#include "spans/spans.h"

/* Fetches a run. Sets `*trace` to its spans; to NULL if it has none. Checks the server's answers:
 * if one is impossible, returns NULL and sets `*error`. Free the profile and the trace. */
crn_profile *crn_fleet_fetch(crn_database *database, const crn_fleet_id *run, crn_trace **trace,
                             crn_error *error);

/* Fetches the sum of all runs that match, without spans. Returns NULL on an error, also if no run
 * matches. */
crn_profile *crn_fleet_fetch_sum(crn_database *database, const crn_fleet_filter *filter,
                                 crn_error *error);

#endif
