/* SPDX-License-Identifier: MIT
 *
 * captures.h - what the tables are made of: captures, one after the other, with ids that count
 * through all of them.
 */
#ifndef CRN_QUERY_CAPTURES_H
#define CRN_QUERY_CAPTURES_H

#include <sqlite3.h>

#include "query/query.h"
#include "spans/spans.h"

/* What is made of contexts once they are asked for. */
typedef struct crn_query_costs {
    uint32_t *depth;
    uint64_t *inclusive[CRN_METRIC_MAX]; /* NULL where all are 0 */
} crn_query_costs;

/* A capture. Its first ids, of each kind of thing. */
typedef struct crn_query_capture {
    const char *path;
    const crn_profile *profile;
    crn_profile *own; /* the profile, if it is not the caller's */
    crn_span_store *store;
    uint32_t *blocks; /* by number in the spans: number in the profile */
    uint32_t block_limit;
    struct crn_summary_row *summary; /* by block; NULL until it is asked for */
    struct crn_lane_row *lanes;      /* by lane; likewise */
    int *name_size;                  /* by block */
    uint32_t *name_rank; /* by block: equal for equal names, in their order, over all captures */
    crn_query_costs costs;
    uint32_t span, block, context, lane, edge, span_edge, attribute, note, metric;
} crn_query_capture;

struct crn_query {
    sqlite3 *database;
    uint32_t count;
    crn_query_capture *captures;
    uint32_t spans; /* of all */
    uint32_t key_count;
    const char **keys; /* of attributes: each name once, those that are columns of `spans` first */
    uint32_t column_keys;
    char **key_columns;               /* their columns' names */
    uint32_t **key_of;                /* by capture: by its key, of `keys` */
    struct crn_key_order *key_orders; /* by column of a key */
    volatile int stopped;
};

/* The fixed columns of `spans`: attributes that are called so have others. */
bool crn_spans_has_column(const char *name);

bool crn_captures_open(crn_query *query, const crn_query_file *files, uint32_t count,
                       crn_error *error);
void crn_captures_close(crn_query *query);

/* The capture that an id is of, which counts from `first`. An id past all is of the last. */
const crn_query_capture *crn_captures_of(const crn_query *query, size_t first, uint32_t id);
#define CRN_CAPTURE_OF(query, what, id)                                                            \
    crn_captures_of(query, offsetof(crn_query_capture, what), id)

/* The block of a span's record, of the profile. */
static inline uint32_t crn_captures_block(const crn_query_capture *capture, uint32_t block)
{
    return block < capture->block_limit ? capture->blocks[block] : 0;
}

/* The values of an attribute in the order of SQL, of spans that have it. */
typedef struct crn_key_order {
    int known;        /* 0: nobody asked yet; 1: it is here; -1: it takes too much memory */
    uint32_t **ranks; /* by capture: by span, from 1 on, equal for equal ones; 0: it has none */
} crn_key_order;

/* Makes the order of a key, if it is not there yet. False: SQLite has to sort. */
bool crn_captures_order_key(crn_query *query, uint32_t key);

/* Makes capture->costs, capture->summary and capture->lanes, if they are not there yet. */
void crn_captures_costs(const crn_query_capture *capture);
void crn_captures_summary(const crn_query_capture *capture);
void crn_captures_lanes(const crn_query_capture *capture);

/* How long the spans of a block took, in ns; open ones count in `count`, `open`, `total` and
 * `self` only. By nearest rank: values that occurred. */
typedef struct crn_summary_row {
    uint32_t count, open;
    uint64_t total, self, min, median, p90, p99, max;
} crn_summary_row;

/* When something ran on a lane, in ns; of a lane without spans nothing holds. */
typedef struct crn_lane_row {
    uint64_t first, last; /* the earliest start, the latest end */
    uint64_t busy;        /* the union of its spans: no moment twice */
} crn_lane_row;

/* Gives an attribute's value to SQLite, which copies a text. */
void crn_result_attribute(sqlite3_context *context, crn_attribute attribute);

/* ---- the tables ---- */

int crn_table_spans(crn_query *query);
int crn_tables_simple(crn_query *query);
int crn_query_functions(crn_query *query);
int crn_query_views(crn_query *query);

#endif
