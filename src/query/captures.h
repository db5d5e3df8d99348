/* SPDX-License-Identifier: MIT
 *
 * captures.h - the captures that the tables show. Ids continue from one capture to the next.
 */
#ifndef CRN_QUERY_CAPTURES_H
#define CRN_QUERY_CAPTURES_H

#include <sqlite3.h>

#include "query/query.h"
#include "query/texts.h"
#include "spans/spans.h"

/* Depths and inclusive costs by context, computed on first use. */
typedef struct crn_query_costs {
    uint32_t *depth;
    uint64_t *inclusive[CRN_METRIC_MAX]; /* by metric; NULL if all are 0 */
} crn_query_costs;

/* A capture, with the first id of each kind. */
typedef struct crn_query_capture {
    const char *path;
    const crn_profile *profile;
    crn_profile *own;                  /* `profile`, if the capture owns it; else NULL */
    crn_span_store *store, *own_store; /* the second: likewise */
    uint32_t *blocks;                  /* maps block numbers in spans to blocks of `profile` */
    uint32_t block_limit;
    struct crn_summary_row *summary;  /* by block; NULL until first used */
    crn_rank_search *ranks;           /* by block, while `summary` lacks quantiles */
    struct crn_cost_row *block_costs; /* by block; NULL until first used */
    bool self_times;                  /* `summary` has self times, too */
    struct crn_lane_row *lanes;       /* by lane; NULL until first used */
    int *name_size;                   /* by block */
    uint32_t *name_rank; /* by block: rank of its name among all captures; equal for equal names */
    crn_query_costs costs;
    /* For SQL functions over sets of blocks; computed on first use. */
    crn_call_graph graph;
    crn_block_cost cost;
    crn_stack stack;
    uint32_t *sample_spans; /* by sample: the span; NULL until first used */
    /* The first id of each kind. */
    uint32_t span, block, context, lane, edge, span_edge, attribute, counter, event, off_core,
        sample, note, metric;
} crn_query_capture;

struct crn_query {
    sqlite3 *database;
    uint32_t count;
    crn_query_capture *captures; /* one entry more: its first ids are the ends of all ids */
    uint32_t spans;              /* number of spans in all captures */
    uint32_t key_count;
    const char **keys; /* distinct names of attribute keys; the first `column_keys` have columns in
                          `spans` */
    uint32_t column_keys;
    char **key_columns;               /* names of these columns */
    uint32_t **key_of;                /* by capture and its key: index into `keys` */
    struct crn_key_order *key_orders; /* by attribute column */
    crn_block_set_about about;        /* for thresh(), thresh_stack() and thresh_gc() */
    bool unknown_is_zero;             /* unknown blocks cost 0; false: are an error */
    volatile int stopped;             /* 1 after crn_query_stop */
};

/* Returns true if `spans` has a fixed column `name`; the column of an attribute `name` then gets
 * another name. */
bool crn_spans_has_column(const char *name);

/* Opens the captures of a zeroed query. On an error returns false and sets `*error`; then, too, end
 * it with crn_captures_close. */
bool crn_captures_open(crn_query *query, const crn_query_file *files, uint32_t count,
                       crn_error *error);
void crn_captures_close(crn_query *query);

/* Returns the capture of an id; `first` is the offset of the kind's first id in crn_query_capture.
 * For ids beyond the end returns the last capture. */
const crn_query_capture *crn_captures_of(const crn_query *query, size_t first, uint32_t id);
#define CRN_CAPTURE_OF(query, what, id)                                                            \
    crn_captures_of(query, offsetof(crn_query_capture, what), id)

/* Returns the profile's block for the block number in a span. */
static inline uint32_t crn_captures_block(const crn_query_capture *capture, uint32_t block)
{
    return block < capture->block_limit ? capture->blocks[block] : 0;
}

/* The ranks of an attribute's values in SQL's order. */
typedef struct crn_key_order {
    int known;        /* 0: not computed yet; 1: computed; -1: SQLite must sort */
    uint32_t **ranks; /* by capture and span: rank from 1, equal for equal values; 0: no value */
} crn_key_order;

/* Computes the order of a key on first use. Returns false if SQLite must sort. */
bool crn_captures_order_key(crn_query *query, uint32_t key);

/* Compute the capture's costs, block_costs, summary and lanes on first use. */
void crn_captures_costs(const crn_query_capture *capture);
void crn_captures_block_costs(const crn_query_capture *capture);
void crn_captures_summary(const crn_query_capture *capture); /* but quantiles and self times */
/* Add median, p90 and p99, and self times, to the summary on first use. */
void crn_captures_quantiles(const crn_query_capture *capture);
void crn_captures_self_times(const crn_query_capture *capture);
void crn_captures_summary_free(crn_query_capture *capture);
void crn_captures_lanes(const crn_query_capture *capture);

/* Durations of a block's spans in ns. Only `count`, `open`, `total` and `self` include open spans.
 * Quantiles are nearest rank. */
typedef struct crn_summary_row {
    uint32_t count, open;
    uint64_t total, self, min, median, p90, p99, max;
} crn_summary_row;

/* Costs of a block in all its contexts. Inclusive costs count recursion once. */
typedef struct crn_cost_row {
    uint64_t calls, self[3], inclusive[3]; /* ticks, wall, cpu */
    uint32_t contexts;
} crn_cost_row;

/* Activity of a lane in ns; undefined for a lane without spans. */
typedef struct crn_lane_row {
    uint64_t first, last; /* earliest start, latest end */
    uint64_t busy;        /* length of the union of the lane's spans */
} crn_lane_row;

/* Sets an attribute's value as the SQL result. SQLite copies texts. */
void crn_result_attribute(sqlite3_context *context, crn_attribute attribute);

/* ---- statements ---- */

/* Prepares `spelled`, the SQL for the expression `text` of the user. Returns NULL on an error. */
crn_statement *crn_statement_of(crn_query *query, const char *text, const crn_texts *spelled,
                                crn_error *error);

/* Sets set[id] to 1 for each id that the statement returns. Returns false on an error. */
bool crn_statement_collect(crn_statement *statement, uint8_t *set, uint32_t count,
                           crn_error *error);

/* ---- the tables and functions: each adds some to the database, and returns SQLite's code ---- */

int crn_table_spans(crn_query *query);
int crn_tables_simple(crn_query *query);
int crn_query_functions(crn_query *query);
int crn_cost_functions(crn_query *query);
int crn_set_functions(crn_query *query);
int crn_query_views(crn_query *query);

#endif
