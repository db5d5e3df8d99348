/* SPDX-License-Identifier: MIT
 *
 * scan.h - going through spans: those that may be wanted, in the order that is asked for.
 */
#ifndef CRN_QUERY_SCAN_H
#define CRN_QUERY_SCAN_H

#include "query/captures.h"

/* Of the table `spans`, in this order; then one for each key of attributes that has one. */
typedef enum crn_spans_column {
    CRN_SPANS_ID,
    CRN_SPANS_NAME,
    CRN_SPANS_ITERATION,
    CRN_SPANS_START,
    CRN_SPANS_END,
    CRN_SPANS_DURATION,
    CRN_SPANS_SELF,
    CRN_SPANS_CPU,
    CRN_SPANS_PARENT,
    CRN_SPANS_LANE,
    CRN_SPANS_OPEN,
    CRN_SPANS_HANDED_OFF,
    CRN_SPANS_WEIGHT,
    CRN_SPANS_BLOCK,
    CRN_SPANS_CAPTURE,
    CRN_SPANS_COLUMNS
} crn_spans_column;

/* What a column must be for a span to be wanted. Spans for which it does not hold are left out
 * wherever that is cheap: SQLite looks at each again. */
typedef struct crn_condition {
    crn_spans_column column;
    char op; /* '=', '<', '>', '(' for <=, ')' for >=, '0' for IS NULL */
    int64_t value;
} crn_condition;

enum { CRN_CONDITIONS_MAX = 16, CRN_TERMS_MAX = 6 };

typedef struct crn_order_term {
    int column; /* crn_spans_column, or CRN_SPANS_COLUMNS + one of a key that has an order */
    bool descending;
} crn_order_term;

/* What is looked for, and where it is. */
typedef struct crn_scan {
    crn_query *query;
    uint32_t condition_count, term_count;
    crn_condition conditions[CRN_CONDITIONS_MAX];
    crn_order_term terms[CRN_TERMS_MAX];
    uint8_t *names; /* by rank of a name, whether it is wanted; NULL: all */
    uint32_t key;   /* only spans with this attribute, if it is below key_count */
    bool nothing;   /* a condition that no span meets */

    bool ended;
    const crn_query_capture *capture; /* of the span that it is at */
    const crn_span_piece *piece;
    const cairn_priv_span *span;
    uint32_t id; /* in all captures */

    uint32_t *list; /* the spans, if they are not taken as they come */
    uint32_t list_count, list_at;
    uint32_t piece_number, end; /* else: of the capture; where the piece ends */
    uint64_t blocks;            /* that may be wanted of the capture, modulo 64 */
} crn_scan;

/* Begins; the scan is at the first span, or ended. */
void crn_scan_begin(crn_scan *scan);
void crn_scan_next(crn_scan *scan);
void crn_scan_free(crn_scan *scan);

/* What a column holds, but for the name, the weight and attributes. False: NULL. */
bool crn_scan_value(const crn_scan *scan, crn_spans_column column, int64_t *value);

/* ---- between scan.c and scan_list.c ---- */

static inline uint32_t crn_scan_local(const crn_scan *scan)
{
    return scan->id - scan->capture->span;
}

static inline uint32_t crn_scan_block(const crn_scan *scan)
{
    return crn_captures_block(scan->capture, scan->span->block);
}

/* To a span, wherever it is. */
void crn_scan_go_to(crn_scan *scan, uint32_t id);
bool crn_scan_is_wanted(const crn_scan *scan);
/* To the next one in the file; on to one that is wanted. */
void crn_scan_step(crn_scan *scan);
void crn_scan_skip_unwanted(crn_scan *scan);

/* Makes the list of the spans that the conditions name by their id or their parent; false if they
 * name none. Of those with the attribute; of all that are wanted from here on. */
bool crn_scan_list_named(crn_scan *scan);
void crn_scan_list_with_key(crn_scan *scan);
void crn_scan_list_all(crn_scan *scan);
/* Whether spans come in the order of the terms as it is; else the list is put in that. */
bool crn_scan_is_sorted(const crn_scan *scan);
void crn_scan_sort(crn_scan *scan);
/* To the place of the list that it is at. */
void crn_scan_enter_list(crn_scan *scan);

#endif
