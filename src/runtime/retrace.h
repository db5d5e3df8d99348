/* SPDX-License-Identifier: MIT
 *
 * retrace.h - from a context of one graph to where its path leads in another.
 */
#ifndef CRN_RUNTIME_RETRACE_H
#define CRN_RUNTIME_RETRACE_H

#include "graph/graph.h"

/* What was asked before is remembered. Begins zeroed. */
typedef struct crn_retrace {
    uint32_t *map; /* by record of the first graph: its record in the second, or 0 */
    uint32_t size;
    uint32_t *chain; /* a path, bottom up */
    uint32_t room;
} crn_retrace;

/* The record in `to` that the path of the context that `record` is, or is an alias of, leads
 * to, made if need be; `used` says how many `links` there are. Calls are not counted. 0 when there
 * is no memory. Takes time for what was not asked before alone, and never recurses. */
uint32_t crn_retrace_record(crn_retrace *retrace, const crn_link *links, uint32_t used,
                            crn_graph *to, uint32_t record);
void crn_retrace_free(crn_retrace *retrace);

#endif
