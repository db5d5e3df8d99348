/* SPDX-License-Identifier: MIT
 *
 * captures.h - the captures behind the tables. Ids are numbered through all captures.
 */
#ifndef CRN_QUERY_CAPTURES_H
#define CRN_QUERY_CAPTURES_H

#include <sqlite3.h>

#include "query/query.h"
#include "query/texts.h"
#include "spans/spans.h"

/* Inclusive costs, computed on first use. */
typedef struct crn_query_costs {
    uint32_t *depth;
    uint64_t *inclusive[CRN_METRIC_MAX]; /* NULL if all are 0 */
} crn_query_costs;

/* A capture, with its first id of each kind. */
typedef struct crn_query_capture {
    const char *path;
    const crn_profile *profile;
    crn_profile *own; /* the profile if it is owned here */
    crn_span_store *store;
    uint32_t *blocks; /* from block numbers in spans to those of the profile */
    uint32_t block_limit;
    struct crn_summary_row *summary;  /* by block; NULL until first used */
    struct crn_cost_row *block_costs; /* by block; NULL until first used */
    bool self_times;                  /* `summary` has self times, too */
    struct crn_lane_row *lanes;       /* by lane; NULL until first used */
    int *name_size;                   /* by block */
    uint32_t *name_rank; /* by block: rank of its name over all captures; equal for equal names */
    crn_query_costs costs;
    /* For functions over sets of blocks; computed on first use. */
    crn_call_graph graph;
    crn_block_cost cost;
    crn_stack stack;
    uint32_t *sample_spans; /* by sample: its span; NULL until first used */
    uint32_t span, block, context, lane, edge, span_edge, attribute, counter, event, off_core,
        sample, note, metric;
} crn_query_capture;

struct crn_query {
    sqlite3 *database;
    uint32_t count;
    crn_query_capture *captures;
    uint32_t spans; /* number of spans of all captures */
    uint32_t key_count;
    const char **keys; /* distinct names of attribute keys; those that are columns of `spans`
                          first */
    uint32_t column_keys;
    char **key_columns;               /* names of their columns */
    uint32_t **key_of;                /* by capture, by its key: index into `keys` */
    struct crn_key_order *key_orders; /* by attribute column */
    crn_block_set_about about;        /* parameters of thresh(), thresh_stack() and thresh_gc() */
    bool unknown_is_zero;             /* unknown blocks cost 0; otherwise they are an error */
    volatile int stopped;
};

/* Returns true if `spans` has a fixed column of that name; an attribute of that name gets
 * another. */
bool crn_spans_has_column(const char *name);

bool crn_captures_open(crn_query *query, const crn_query_file *files, uint32_t count,
                       crn_error *error);
void crn_captures_close(crn_query *query);

/* Returns the capture of an id; `first` is the offset of the first id in crn_query_capture. Ids
 * beyond the end give the last capture. */
const crn_query_capture *crn_captures_of(const crn_query *query, size_t first, uint32_t id);
#define CRN_CAPTURE_OF(query, what, id)                                                            \
    crn_captures_of(query, offsetof(crn_query_capture, what), id)

/* Translates the block of a span record to the profile's. */
static inline uint32_t crn_captures_block(const crn_query_capture *capture, uint32_t block)
{
    return block < capture->block_limit ? capture->blocks[block] : 0;
}

/* The values of an attribute in SQL's order, of spans that have it. */
typedef struct crn_key_order {
    int known;        /* 0: not requested yet; 1: available; -1: needs too much memory */
    uint32_t **ranks; /* by capture, by span: rank from 1, equal for equal values; 0: no value */
} crn_key_order;

/* Computes the order of a key on first use. Returns false if SQLite has to sort. */
bool crn_captures_order_key(crn_query *query, uint32_t key);

/* Compute capture->costs, capture->block_costs, capture->summary or capture->lanes on first use. */
void crn_captures_costs(const crn_query_capture *capture);
void crn_captures_block_costs(const crn_query_capture *capture);
void crn_captures_summary(const crn_query_capture *capture); /* without self times */
/* Adds self times to capture->summary on first use. */
void crn_captures_self_times(const crn_query_capture *capture);
void crn_captures_lanes(const crn_query_capture *capture);

/* Durations of a block's spans in ns. Open spans count only in `count`, `open`, `total` and `self`.
 * Quantiles are nearest rank. */
typedef struct crn_summary_row {
    uint32_t count, open;
    uint64_t total, self, min, median, p90, p99, max;
} crn_summary_row;

/* Costs of a block over all its contexts; inclusive costs count recursion once. */
typedef struct crn_cost_row {
    uint64_t calls, self[3], inclusive[3]; /* ticks, wall, cpu */
    uint32_t contexts;
} crn_cost_row;

/* Activity of a lane in ns; undefined for a lane without spans. */
typedef struct crn_lane_row {
    uint64_t first, last; /* earliest start, latest end */
    uint64_t busy;        /* length of the union of its spans */
} crn_lane_row;

/* Returns an attribute's value to SQLite, which copies texts. */
void crn_result_attribute(sqlite3_context *context, crn_attribute attribute);

/* ---- statements ---- */

/* Prepares `spelled`, the SQL of an expression that the user wrote as `text`. Returns NULL on an
 * error. */
crn_statement *crn_statement_of(crn_query *query, const char *text, const crn_texts *spelled,
                                crn_error *error);

/* Sets set[id] to 1 for each id that the statement returns. Returns false on an error. */
bool crn_statement_collect(crn_statement *statement, uint8_t *set, uint32_t count,
                           crn_error *error);

/* ---- the tables and functions ---- */

int crn_table_spans(crn_query *query);
int crn_tables_simple(crn_query *query);
int crn_query_functions(crn_query *query);
int crn_cost_functions(crn_query *query);
int crn_set_functions(crn_query *query);
int crn_query_views(crn_query *query);

#endif
