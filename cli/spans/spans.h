/* SPDX-License-Identifier: MIT
 *
 * spans.h - the request of `cairn spans`, and its printers.
 */
#ifndef CRN_CLI_SPANS_SPANS_H
#define CRN_CLI_SPANS_SPANS_H

#include <jansson.h>
#include <stdio.h>

#include "span_source.h"
#include "spans/spans.h"

typedef enum crn_spans_view {
    CRN_SPANS_VIEW_BLOCKS,
    CRN_SPANS_VIEW_SLOWEST,
    CRN_SPANS_VIEW_MISSING,
    CRN_SPANS_VIEW_GROUPS
} crn_spans_view;

typedef struct crn_spans_report {
    crn_span_source source;
    const uint8_t *kept; /* by block; NULL: all */
    crn_spans_view view;
    crn_span_sort sort;
    uint32_t top, slowest;       /* limits on rows and on slowest spans or gaps; UINT32_MAX: all */
    const crn_span_table *table; /* of blocks, if computed; or NULL */
    const crn_span_parts *longest; /* the slowest spans, at least `slowest`, if computed; or NULL */
    crn_missing missing;           /* with CRN_SPANS_VIEW_MISSING */
    crn_span_groups groups;        /* with CRN_SPANS_VIEW_GROUPS */
    const char *by;                /* the argument of --by */
} crn_spans_report;

/* Prints the table from histograms, which need no spans; rows of `block` only, or of all if NULL.
 * On an error prints why. Returns the exit status. */
int crn_spans_spread(FILE *out, const char *path, const char *block, crn_span_sort sort,
                     uint32_t top, bool json);

/* Returns the name at the end of row number `at`, valid until the next call. */
typedef const crn_block_info *crn_spans_row_name(const crn_spans_report *report,
                                                 const void *context, const crn_span_row *row,
                                                 uint32_t at);
/* Prints the first `shown` rows, and the histograms' scale below. Passes `context` to `name`. */
void crn_spans_rows(FILE *out, const crn_spans_report *report, const crn_span_table *spans,
                    uint32_t shown, const char *title, crn_spans_row_name *name,
                    const void *context);

/* Parses the argument of `--by`: a fixed name or an attribute's. On an error prints a message and
 * returns false. */
bool crn_spans_group_by(const crn_span_source *source, const char *by, crn_group_by *kind,
                        const char **attribute);
void crn_spans_groups_text(FILE *out, const crn_spans_report *report);

void crn_spans_text(FILE *out, const crn_spans_report *report);
void crn_spans_json(FILE *out, const crn_spans_report *report);

#endif
