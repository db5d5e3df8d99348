/* SPDX-License-Identifier: MIT
 *
 * scan.h - iterates over spans that match conditions, in a requested order.
 */
#ifndef CRN_QUERY_SCAN_H
#define CRN_QUERY_SCAN_H

#include "query/captures.h"

/* Columns of the table `spans`, in their order; columns of attribute keys follow. */
typedef enum crn_spans_column {
    CRN_SPANS_ID,
    CRN_SPANS_NAME,
    CRN_SPANS_ITERATION,
    CRN_SPANS_START,
    CRN_SPANS_END,
    CRN_SPANS_DURATION,
    CRN_SPANS_SELF,
    CRN_SPANS_CPU,
    CRN_SPANS_READY,
    CRN_SPANS_PARENT,
    CRN_SPANS_LANE,
    CRN_SPANS_OPEN,
    CRN_SPANS_HANDED_OFF,
    CRN_SPANS_WEIGHT,
    CRN_SPANS_BLOCK,
    CRN_SPANS_CAPTURE,
    CRN_SPANS_COLUMNS
} crn_spans_column;

/* A condition on a column. The scan may keep spans that do not match: SQLite checks each row
 * again. */
typedef struct crn_condition {
    crn_spans_column column;
    char op; /* '=', '<', '>', '(' for <=, ')' for >=, '0' for IS NULL */
    int64_t value;
} crn_condition;

enum { CRN_CONDITIONS_MAX = 16, CRN_TERMS_MAX = 6 };

typedef struct crn_order_term {
    int column; /* crn_spans_column, or CRN_SPANS_COLUMNS + number of an attribute column */
    bool descending;
} crn_order_term;

/* A scan: its conditions and order, and its current position. */
typedef struct crn_scan {
    crn_query *query;
    uint32_t condition_count, term_count;
    crn_condition conditions[CRN_CONDITIONS_MAX];
    crn_order_term terms[CRN_TERMS_MAX];
    uint8_t *names; /* by rank of a name: 1 if wanted; NULL: all are */
    uint32_t key;   /* below key_count: visit only spans with this attribute */
    bool nothing;   /* no span can match */

    bool ended;
    const crn_query_capture *capture; /* capture of the current span */
    const crn_span_piece *piece;
    const cairn_priv_span *span;
    uint32_t id; /* id of the current span */

    uint32_t *list; /* ids of the spans to visit; NULL: in file order */
    uint32_t list_count, list_at;
    uint32_t piece_number, end; /* in file order: the capture's current piece; the id after its last
                                   span */
    uint64_t blocks;            /* wanted blocks of the capture: a bitmap, modulo 64 */
} crn_scan;

/* Move to the first matching span, and to the next. Set `ended` if there is none. */
void crn_scan_begin(crn_scan *scan);
void crn_scan_next(crn_scan *scan);
void crn_scan_free(crn_scan *scan);

/* Reads a column of the current span, except name, weight and attributes. Returns false for
 * NULL. */
bool crn_scan_value(const crn_scan *scan, crn_spans_column column, int64_t *value);

/* ---- scan.c: spans in file order ---- */

/* Returns the number of the current span in its capture. */
static inline uint32_t crn_scan_local(const crn_scan *scan)
{
    return scan->id - scan->capture->span;
}

/* Returns the current span's block in the capture's profile. */
static inline uint32_t crn_scan_block(const crn_scan *scan)
{
    return crn_captures_block(scan->capture, scan->span->block);
}

/* Moves to a span. */
void crn_scan_go_to(crn_scan *scan, uint32_t id);
/* Returns true if the current span matches all conditions. */
bool crn_scan_is_wanted(const crn_scan *scan);
/* _step moves to the next span in file order. _skip_unwanted moves on until a span matches. */
void crn_scan_step(crn_scan *scan);
void crn_scan_skip_unwanted(crn_scan *scan);
/* Moves to the first matching span in file order, from the current capture on. */
void crn_scan_enter_file(crn_scan *scan);

#endif
