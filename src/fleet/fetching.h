/* SPDX-License-Identifier: MIT
 *
 * fetching.h - state of a fetch, shared by the parts that read contexts and spans.
 */
#ifndef CRN_FLEET_FETCHING_H
#define CRN_FLEET_FETCHING_H

#include "fleet/database.h"
#include "fleet/filter.h"
#include "fleet/pushing.h"
#include "fleet/sql.h"
#include "profile/profile.h"
#include "spans/spans.h"

typedef struct crn_fetching {
    crn_database *database;
    crn_error *error;
    crn_fleet_id run, folded;
    const crn_fleet_filter *filter; /* of the runs to add up; NULL: the one run */
    char *service;
    uint8_t level;
    uint32_t contexts, histograms;
    uint64_t spans, length;
    uint64_t lost[CRN_LOST_COUNTS]; /* as in the column of `runs` */
    uint64_t *origins;              /* by lane; owned */
    uint32_t lane_count;
    char **lanes;                 /* owned */
    crn_interning *block_numbers; /* from block ids to numbers of `raw.blocks` */
    crn_interning *context_numbers;
    crn_interning *texts;
    crn_profile raw; /* as sent, for crn_profile_builder_add; block 0 is the root */
} crn_fetching;

/* Asks and returns true if there is an answer. Frees `sql`. */
bool crn_fetching_ask(const crn_fetching *fetching, crn_sql *sql, crn_answer *answer);
/* Adds "service = ..."; of runs of all services "1". */
void crn_fetching_service(const crn_fetching *fetching, crn_sql *sql);
/* Adds "service = ... AND run = ...", or a condition for all runs to add up. */
void crn_fetching_run(const crn_fetching *fetching, crn_sql *sql);
/* Frees the answer. Returns false and sets the error if it was cut short or not `good`. */
bool crn_fetching_end(const crn_fetching *fetching, crn_answer *answer, bool good);
/* Returns the number of an id that is known, UINT32_MAX for others. `count`: of known ids. */
uint32_t crn_fetching_number(crn_interning *numbers, uint32_t count, const crn_fleet_id *id);
/* Returns the number of a block, UINT32_MAX if it is not known. */
uint32_t crn_fetching_block(const crn_fetching *fetching, const crn_fleet_id *id);

/* Reads processes, histograms, parents in other processes, counters, events and times without a
 * core. `lane_first`: the first span by lane, one entry more than lanes. */
bool crn_fetch_details(crn_fetching *fetching, crn_trace *trace, crn_interning *keys,
                       const uint32_t *lane_first);

/* Makes room for one more of `count` items. */
void *crn_fetching_grow(void *items, size_t count, size_t *room, size_t size);
/* Returns the number of an attribute's key, which the answer has next. */
uint16_t crn_fetching_key(crn_trace *trace, crn_interning *keys, crn_answer *answer);
/* Returns the span with this number in a lane, CRN_SPAN_NONE if there is none. */
uint32_t crn_fetching_span(const crn_trace *trace, const uint32_t *lane_first, uint64_t lane,
                           uint64_t number);

/* Returns the spans, whose blocks are those of `raw`; NULL on an error. */
crn_trace *crn_fetch_spans(crn_fetching *fetching);

#endif
