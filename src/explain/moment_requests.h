/* SPDX-License-Identifier: MIT
 *
 * moment_requests.h - what the spans of other lanes make of a lane: where its spans hand something
 * off, and where something ends that they wait for.
 */
#ifndef CRN_EXPLAIN_MOMENT_REQUESTS_H
#define CRN_EXPLAIN_MOMENT_REQUESTS_H

#include "spans/spans.h"

typedef enum crn_request_kind {
    CRN_REQUEST_ARRIVES,
    CRN_REQUEST_LEAVES,
    CRN_REQUEST_ARRIVES_AT_ONCE /* it took no time since it was handed off: then what hands it off
                                   is first */
} crn_request_kind;

/* At `time` something is handed off by `span`, or `other`, for which it waits, has ended. */
typedef struct crn_moment_request {
    uint64_t time, since; /* `since`: of an arrival, when it was asked for */
    uint64_t over;        /* of an arrival, when the wait was over; 0 if that is not known */
    uint32_t lane, span, other;
    crn_request_kind kind;
    bool explicitly; /* of an arrival: the program said that it waited */
    uint32_t next;   /* for who serves them: of those that the same span has still to see */
} crn_moment_request;

typedef struct crn_moment_requests {
    uint32_t count, room;
    crn_moment_request *all; /* by lane and time */
    uint64_t *follows;       /* by span: when the last of what it goes on from ended */
} crn_moment_requests;

/* `order`: the spans by lane and start. */
crn_moment_requests crn_moment_requests_make(const crn_spans *spans, const uint32_t *order);
void crn_moment_requests_free(crn_moment_requests *requests);

#endif
