/* SPDX-License-Identifier: MIT
 *
 * fetch.h - one run, back from the database as a profile and its spans.
 */
#ifndef CRN_FLEET_FETCH_H
#define CRN_FLEET_FETCH_H

#include "fleet/database.h"
#include "profile/profile.h"
#include "spans/spans.h"

/* Fetches a run. `*trace` is NULL if it has no spans. The server's answers are checked: on anything
 * that cannot be, returns NULL and sets `*error`. Free both. */
crn_profile *crn_fleet_fetch(crn_database *database, const crn_fleet_id *run, crn_trace **trace,
                             crn_error *error);

#endif
