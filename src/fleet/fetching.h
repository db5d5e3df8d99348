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
    crn_fleet_id run, folded;       /* the run; its block [folded] */
    const crn_fleet_filter *filter; /* of the runs to add up; NULL: only `run` */
    char *service;
    uint8_t level;                  /* of the division of contexts into parts (pushing.h) */
    uint32_t contexts, histograms;  /* numbers of them */
    uint64_t spans, length;         /* number of spans; ns, the last recorded moment of spans */
    uint64_t lost[CRN_LOST_COUNTS]; /* the column `lost` of `runs` */
    uint64_t *origins;              /* by lane; owned */
    uint32_t lane_count;
    char **lanes;                 /* owned */
    crn_interning *block_numbers; /* from block ids to indices of `raw.blocks` */
    crn_interning *context_numbers;
    crn_interning *texts;
    crn_profile raw; /* the rows as a profile, for crn_profile_builder_add; block 0 is the root */
} crn_fetching;

/* Runs the query. Returns false on an error. Frees `sql`. */
bool crn_fetching_ask(const crn_fetching *fetching, crn_sql *sql, crn_answer *answer);
/* Adds the condition "service = ..."; "1" if runs of all services are added up. */
void crn_fetching_service(const crn_fetching *fetching, crn_sql *sql);
/* Adds the condition "service = ... AND run = ...", or that for all runs to add up. */
void crn_fetching_run(const crn_fetching *fetching, crn_sql *sql);
/* Frees the answer. Returns false and sets the error if it was damaged or `good` is false. */
bool crn_fetching_end(const crn_fetching *fetching, crn_answer *answer, bool good);
/* Returns the number of an id among `count` known ones; UINT32_MAX if it is not known. */
uint32_t crn_fetching_number(crn_interning *numbers, uint32_t count, const crn_fleet_id *id);
/* Returns the number of a block; UINT32_MAX if it is not known. */
uint32_t crn_fetching_block(const crn_fetching *fetching, const crn_fleet_id *id);

/* Reads processes, histograms, parents in other processes, counters, events and off-core times.
 * `lane_first`: by lane, its first span; lane_count + 1 entries. */
bool crn_fetch_details(crn_fetching *fetching, crn_trace *trace, crn_interning *keys,
                       const uint32_t *lane_first);

/* Reads an attribute's key from the answer. Returns its number. */
uint16_t crn_fetching_key(crn_trace *trace, crn_interning *keys, crn_answer *answer);
/* Returns the span with a number, from 1, in a lane; CRN_SPAN_NONE if the lane has none with it. */
uint32_t crn_fetching_span(const crn_trace *trace, const uint32_t *lane_first, uint64_t lane,
                           uint64_t number);

/* Returns the spans; NULL on an error. Their blocks are indices of raw.blocks. */
crn_trace *crn_fetch_spans(crn_fetching *fetching);

#endif
