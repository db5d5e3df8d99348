/* SPDX-License-Identifier: MIT
 *
 * fleet.h - the runs of many machines in a ClickHouse database: send captures, ask about them,
 * fetch one back.
 *
 * Other folders include this header and no other of this folder.
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

/* Fetches a run. `*trace` is NULL if it has no spans. The server's answers are checked: on anything
 * that cannot be, returns NULL and sets `*error`. Free both. */
crn_profile *crn_fleet_fetch(crn_database *database, const crn_fleet_id *run, crn_trace **trace,
                             crn_error *error);

/* Fetches the sum of all runs that match, without spans. Returns NULL on an error, also if there is
 * none. */
crn_profile *crn_fleet_fetch_sum(crn_database *database, const crn_fleet_filter *filter,
                                 crn_error *error);

#endif
