/* SPDX-License-Identifier: MIT
 *
 * moment_requests.h - events on a lane that involve spans of other lanes: a span hands off work, or
 * work that it waits for ends.
 */
#ifndef CRN_EXPLAIN_MOMENT_REQUESTS_H
#define CRN_EXPLAIN_MOMENT_REQUESTS_H

#include "spans/spans.h"

typedef enum crn_request_kind {
    CRN_REQUEST_ARRIVES,
    CRN_REQUEST_LEAVES,
    CRN_REQUEST_ARRIVES_AT_ONCE /* the work took no time: its hand-off comes first */
} crn_request_kind;

/* At `time`, `span` hands off `other`, or `other`, for which `span` waits, ends. */
typedef struct crn_moment_request {
    uint64_t time, since; /* since: of an arrival, when the work was handed off */
    uint64_t over;        /* of an arrival, when the wait ended; 0 if not known */
    uint32_t lane, span, other;
    crn_request_kind kind;
    bool explicitly; /* of an arrival: the program recorded the wait */
    uint32_t next;   /* index + 1 of the next request that is pending at the same span; 0: the last.
                        Used by moments.c */
} crn_moment_request;

typedef struct crn_moment_requests {
    uint32_t count, room;
    crn_moment_request *all; /* sorted by lane, then time */
    uint64_t *follows;       /* by span: latest end of the spans that it follows */
} crn_moment_requests;

/* Makes the requests. `order`: the spans sorted by lane and start. */
crn_moment_requests crn_moment_requests_make(const crn_spans *spans, const uint32_t *order);
void crn_moment_requests_free(crn_moment_requests *requests);

#endif
