/* SPDX-License-Identifier: MIT
 *
 * span_store.h - the spans of a capture where they are: the same as those of trace.h, in the
 * same order and by the same numbers, but read in place instead of copied. For questions to
 * millions of them.
 *
 * The sections are mapped; what is kept besides is some bytes for each 8,192 spans, for each
 * hand-off and for each edge, and, once it is asked for, 8 a span for covered time, 8 for
 * children, 8 for weights where there are any, and 8 for each attribute. A capture that may
 * still be written is copied first, 32 bytes a span, so that it stands still.
 *
 * What is read in place may be changed by whoever owns the file: each number is checked where
 * it is used, each time.
 *
 * Captures that hold more than the usual (the last spans of a ring, spans that were asked for by
 * other processes) are read by crn_trace_load, and the store is made of that.
 */
#ifndef CRN_SPANS_SPAN_STORE_H
#define CRN_SPANS_SPAN_STORE_H

#include <cairn/span.h>

#include "capture/mapping.h"
#include "spans/trace.h"

enum { CRN_PIECE_BITS = 13 /* spans of a piece, at most 1 << this */ };

/* Consecutive spans of a lane that are consecutive in memory, too. */
typedef struct crn_span_piece {
    const cairn_priv_span *spans;
    uint32_t first, count; /* spans of the store */
    uint32_t lane, lane_first;
    uint64_t earliest, latest; /* starts, by the capture's clock */
    uint64_t blocks;           /* a bit for each block that is in it, modulo 64 */
} crn_span_piece;

/* A span whose parent is not the one that stands with it. */
typedef struct crn_span_move {
    uint32_t span, parent; /* CRN_SPAN_NONE: none */
    uint64_t taken;        /* ns: when the token was taken; 0 if not known */
    bool handed_off;       /* else the parent was cut off */
} crn_span_move;

typedef struct crn_detail_piece {
    const crn_disk_detail *details;
    uint32_t first, count; /* details of the store */
    uint32_t lane;
} crn_detail_piece;

/* Where an attribute is. */
typedef struct crn_attribute_place {
    uint32_t span, detail;
} crn_attribute_place;

typedef struct crn_span_store {
    uint32_t count, open;
    uint64_t length; /* ns: the last moment that the capture knows of */
    uint64_t dropped, recycled, skipped, details_dropped, dangling; /* as crn_trace has them */

    uint32_t lane_count, key_count;
    const char **lanes;   /* names, "" if they have none */
    uint32_t *lane_first; /* by lane, and one more */
    const char **keys;

    uint32_t edge_count, move_count;
    crn_span_edge *edges; /* by from, then to */
    crn_span_move *moves; /* by span */
    uint8_t *moved;       /* a bit by span; NULL if there are no moves */

    uint32_t weight_count;
    crn_span_weight *weights; /* as they come; of several of one span the last holds */
    double *weight;           /* by span, 0 where it was not asked for; NULL until it is */

    bool cpu_known; /* processor time was taken of some */
    uint64_t *cpu;  /* ns by span, UINT64_MAX where it is not known; NULL until crn_store_cpu */

    uint32_t attribute_count;
    crn_attribute_place *attributes;  /* by span; NULL until crn_store_attributes */
    uint64_t *covered;                /* ns by span; NULL until crn_store_covered */
    uint32_t *first_child, *children; /* as crn_spans has them; NULL until crn_store_children */

    const crn_trace *trace; /* what it was made of; NULL if it is read in place */
    crn_trace *own;         /* the same, if it is to be freed */
    cairn_priv_span *made;
    uint64_t *made_ends; /* ns by span, of those that have not ended; NULL: all up to `length` */
    crn_bytes strings;

    uint64_t clock_first;
    double scale; /* ns per unit of the clock */
    uint32_t piece_count;
    crn_span_piece *pieces;
    uint32_t *piece_at; /* by span >> CRN_PIECE_BITS: the piece with the first of them */
    uint32_t detail_count, detail_piece_count;
    crn_detail_piece *detail_pieces;
    crn_mapping mapping;
    uint32_t parts_count;
    crn_parts *parts;
    uint32_t *lane_numbers;
    crn_interning *texts;
} crn_span_store;

/* Opens the spans of a capture; of one without any there are none. NULL on an error. */
crn_span_store *crn_store_open(const char *path, crn_error *error);
void crn_store_close(crn_span_store *store);

/* Makes one of a trace, which stays the caller's and has to stay. Never NULL. */
crn_span_store *crn_store_of(const crn_trace *trace);

/* The piece that a span is in. */
const crn_span_piece *crn_store_piece(const crn_span_store *store, uint32_t span);

/* Of the capture's clock, in ns since the capture began: not less for what is later. */
static inline uint64_t crn_store_moment(const crn_span_store *store, uint64_t clock)
{
    uint64_t since = clock > store->clock_first ? clock - store->clock_first : 0;
    if (store->scale == 1) /* to the nanosecond, however long it is */
        return since < UINT64_C(1) << 62 ? since : UINT64_C(1) << 62;
    double time = (double)since * store->scale;
    return time < 0x1p62 ? (uint64_t)time : UINT64_C(1) << 62;
}

static inline uint64_t crn_store_start(const crn_span_store *store, const cairn_priv_span *span)
{
    return crn_store_moment(store, span->start);
}

/* Of one that has not ended, the last moment that the capture knows of: where several were merged,
 * that of its process. */
static inline uint64_t crn_store_end(const crn_span_store *store, const cairn_priv_span *span)
{
    uint64_t start = span->start, end = span->end;
    if (end)
        return crn_store_moment(store, end < start ? start : end);
    return store->made_ends ? store->made_ends[span - store->made] : store->length;
}

static inline uint64_t crn_store_duration(const crn_span_store *store, const cairn_priv_span *span)
{
    uint64_t start = crn_store_start(store, span), end = crn_store_end(store, span);
    return end > start ? end - start : 0;
}

/* Where a span is among those that were moved; NULL if it was not. */
const crn_span_move *crn_store_move(const crn_span_store *store, uint32_t span);

static inline uint32_t crn_store_parent(const crn_span_store *store, const crn_span_piece *piece,
                                        uint32_t span)
{
    if (store->moved && store->moved[span >> 3] >> (span & 7) & 1)
        return crn_store_move(store, span)->parent;
    uint32_t parent = __atomic_load_n(&piece->spans[span - piece->first].parent, __ATOMIC_RELAXED);
    return parent && parent <= span - piece->lane_first ? piece->lane_first + parent - 1
                                                        : CRN_SPAN_NONE;
}

/* All of a span. */
crn_span crn_store_span(const crn_span_store *store, uint32_t span);

/* For how many this one stands, as crn_trace_weigh has it: 1, unless only some trees were recorded.
 * Steps up to the nearest span whose weight is known, so that all of them cost one step each. */
double crn_store_weight(crn_span_store *store, uint32_t span);

/* Makes store->covered, cpu (where cpu_known), children, attributes, if they are not there yet. */
void crn_store_covered(crn_span_store *store);
void crn_store_cpu(crn_span_store *store);
void crn_store_children(crn_span_store *store);
void crn_store_attributes(crn_span_store *store);

/* The union of a span's children, as far as it lies within it. Made before: covered. */
static inline uint64_t crn_store_self(const crn_span_store *store, const cairn_priv_span *span,
                                      uint32_t number)
{
    uint64_t duration = crn_store_duration(store, span), covered = store->covered[number];
    return duration > covered ? duration - covered : 0;
}

/* The attributes of a span, those made before: the first, and how many. */
uint32_t crn_store_attributes_of(const crn_span_store *store, uint32_t span, uint32_t *count);

/* An attribute's value. A text is copied to `text`, and value.text leads there. */
crn_attribute crn_store_attribute(const crn_span_store *store, uint32_t attribute,
                                  char text[CAIRN_TEXT_MAX + 1]);

/* Its key, less than key_count. */
uint32_t crn_store_key(const crn_span_store *store, uint32_t attribute);

/* As crn_calloc, for arrays by span: large ones are in large pages, where the system has them. */
void *crn_store_array(size_t count, size_t size);

/* Puts spans in the order of their keys; equal ones stay as they are. */
void crn_store_sort(uint32_t *spans, uint32_t count, const uint64_t *keys);

/* By nearest rank, the values of which these shares of all are no more; 0 of none. */
void crn_store_ranks(const uint64_t *values, uint64_t count, const double *shares, uint64_t *ranks,
                     int rank_count);

#endif
