/* SPDX-License-Identifier: MIT
 *
 * latency.h - the request of `cairn latency`, and its printers.
 */
#ifndef CRN_CLI_SPANS_LATENCY_H
#define CRN_CLI_SPANS_LATENCY_H

#include <stdio.h>

#include "span_source.h"
#include "spans/spans.h"

enum { CRN_LATENCY_SHARES = 3, CRN_LATENCY_FRAMES = 1000 /* the command's limit on frames */ };
extern const double crn_latency_shares[CRN_LATENCY_SHARES]; /* 0.5, 0.9, 0.99 */

/* Times of the spans of one block on the way to results. */
typedef struct crn_latency_part {
    uint32_t block, count; /* count: number of stages */
    uint64_t length;       /* ns, sum over stages */
} crn_latency_part;

typedef struct crn_latency_report {
    const crn_span_source *source;
    const char *from, *to; /* span names */
    uint64_t deadline;     /* ns; 0: none */
    uint32_t top;          /* limit on rows of each table */
    uint32_t frames;       /* limit on frames in the JSON: a frame may stand for several results */
    crn_latencies latencies;

    /* crn_latency_measure sets all that follows. */
    /* Latencies at crn_latency_shares; the least, the most and the sum of latencies; ns. */
    uint64_t ranks[CRN_LATENCY_SHARES], least, most, sum;
    uint64_t ages[CRN_LATENCY_SHARES], oldest; /* ages at crn_latency_shares, and the highest, ns */
    uint32_t missed;                           /* results later than the deadline */
    crn_latency_part *parts;                   /* by block, the longest first */
    uint32_t part_count;
    uint32_t *slowest; /* indices of latencies.rows, the slowest first */
} crn_latency_report;

/* Finds the latencies between spans of two names. `kept` says by span which results count; NULL:
 * all. On an error prints a message and returns false. */
bool crn_latency_find(const crn_span_source *source, const char *from, const char *to,
                      const uint8_t *kept, crn_latencies *latencies);
/* Prints that no input leads to a result. */
void crn_latency_fail_unlinked(const crn_span_source *source, const char *from, const char *to);

/* Computes the figures of report->latencies. */
void crn_latency_measure(crn_latency_report *report);
void crn_latency_report_free(crn_latency_report *report);

void crn_latency_text(FILE *out, const crn_latency_report *report);
void crn_latency_json(FILE *out, const crn_latency_report *report);

#endif
