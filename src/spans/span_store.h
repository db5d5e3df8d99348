/* SPDX-License-Identifier: MIT
 *
 * span_store.h - the spans of a capture, read in place from the mapped file. (A crn_trace, trace.h,
 * is a copy of them.)
 *
 * Memory: some bytes for each 8,192 spans, for each hand-off and for each edge. On request: 8 bytes
 * a span for each of covered time, children and weights, and 8 bytes an attribute. A capture that
 * is still being written is copied first (32 bytes a span), so that it does not change during a
 * query. Mapped pages of the file come on top; with crn_store_open_whole, and while a trace is
 * loaded, they are at most 16 MiB at a time.
 *
 * The owner of the file can change it at any time, so each number read from the mapping is checked
 * at each use.
 *
 * Rings of spans are copied. A capture that is merged or has remote parents is not read in place:
 * it is loaded as a trace, which finds parents in other processes, and the store is made from the
 * trace.
 */
#ifndef CRN_SPANS_SPAN_STORE_H
#define CRN_SPANS_SPAN_STORE_H

#include <cairn/span.h>

#include "capture/mapping.h"
#include "spans/trace.h"

enum { CRN_PIECE_BITS = 13 /* a piece has at most 1 << CRN_PIECE_BITS spans */ };

/* Spans that are consecutive on a lane and in memory. */
typedef struct crn_span_piece {
    const cairn_priv_span *spans;
    uint32_t first, count;     /* first: a span's number in the store */
    uint32_t lane, lane_first; /* lane_first: number of the lane's first span */
    uint64_t earliest, latest; /* range of `start`, in units of the capture's clock */
    uint64_t blocks;           /* Bloom filter: bit (block % 64) is set for each block of the
                                  piece */
} crn_span_piece;

/* Overrides the parent in a span's record. */
typedef struct crn_span_move {
    uint32_t span, parent; /* parent: CRN_SPAN_NONE if the span has none */
    uint64_t taken;        /* ns, when the hand-off token was taken; 0: not known */
    bool handed_off;       /* the parent handed off the work */
    uint16_t adoption;     /* as in crn_span_handoff */
} crn_span_move;

typedef struct crn_detail_piece {
    const crn_disk_detail *details;
    uint32_t first, count; /* first: a detail's number in the store */
    uint32_t lane;
} crn_detail_piece;

/* The span and the detail of an attribute. */
typedef struct crn_attribute_place {
    uint32_t span, detail;
} crn_attribute_place;

typedef struct crn_span_store {
    uint32_t count, open;
    uint64_t length; /* ns, the last moment in the capture */
    uint64_t dropped, recycled, skipped, details_dropped, dangling; /* same as in crn_trace */

    uint32_t lane_count, key_count;
    const char **lanes;   /* by lane: its name, or "" */
    uint32_t *lane_first; /* by lane: its first span; one entry more than lanes */
    uint32_t *threads;    /* by lane: as in crn_trace */
    const char **keys;

    uint32_t edge_count, move_count;
    crn_span_edge *edges; /* sorted by `from`, then `to` */
    crn_span_move *moves; /* sorted by span */
    uint8_t *moved;       /* bitmap: which spans have a move; NULL if no span has one */

    uint32_t counter_count;
    crn_counter *counters; /* sorted by span */

    uint32_t event_count;
    crn_span_event *events; /* sorted by span */

    uint32_t off_core_count;
    crn_off_core *off_core; /* sorted by lane, then by begin */

    crn_samples samples;

    uint32_t weight_count;
    crn_span_weight *weights; /* in file order; of several for one span the last counts */
    double *weight; /* by span, 0: not computed yet; NULL before the first crn_store_weight */

    bool cpu_known;  /* the processor time of some spans is known */
    uint64_t *cpu;   /* by span, ns; UINT64_MAX: not known; NULL until crn_store_cpu */
    uint64_t *ready; /* as `cpu`: time ready; also NULL if known for no span */

    uint32_t attribute_count;
    crn_attribute_place *attributes;  /* sorted by span; NULL until crn_store_attributes */
    uint64_t *covered;                /* by span, ns; NULL until crn_store_covered */
    uint32_t *first_child, *children; /* children of span s: first_child[s] to first_child[s +
                                         1]; NULL until crn_store_children */

    const crn_trace *trace; /* trace from which the store is made; NULL: read in place */
    crn_trace *own;         /* `trace` if the store owns it, else NULL */
    const crn_trace *more;  /* processes, origins, histograms, remote parents and counts of lost
                               spans, as in crn_trace; NULL unless read */
    crn_trace *own_more;    /* `more` if the store owns it and it is not `own` */
    cairn_priv_span *made;  /* the spans as records, if made from a trace */
    uint64_t *made_ends;    /* by span: its end, ns; NULL: all open spans end at `length` */
    crn_bytes strings;

    uint64_t clock_first;
    double scale; /* ns per unit of the capture's clock */
    uint32_t piece_count;
    crn_span_piece *pieces;
    uint32_t *piece_at; /* by span >> CRN_PIECE_BITS: the piece of the group's first span */
    uint32_t detail_count, detail_piece_count;
    crn_detail_piece *detail_pieces;
    crn_mapping mapping;
    bool resting;     /* release the pages that were read, after each 16 MiB */
    uint64_t touched; /* bytes read since pages were last released */
    uint32_t parts_count;
    crn_parts *parts;
    uint32_t *lane_numbers;
    crn_interning *texts;
} crn_span_store;

/* Opens the spans of a capture; without spans the store is empty. On an error returns NULL and sets
 * `*error`. */
crn_span_store *crn_store_open(const char *path, crn_error *error);
/* Like crn_store_open, but also reads `more` and releases pages. */
crn_span_store *crn_store_open_whole(const char *path, crn_error *error);
void crn_store_close(crn_span_store *store);

/* Makes a store from a trace, which must outlive it. Never NULL. */
crn_span_store *crn_store_of(const crn_trace *trace);

/* Counts bytes read from the mapped file; with `resting`, releases its pages after each 16 MiB.
 * Code that reads all spans once calls it as it goes. */
void crn_store_touch(crn_span_store *store, uint64_t bytes);

/* Returns the piece that contains a span. */
const crn_span_piece *crn_store_piece(const crn_span_store *store, uint32_t span);

/* Converts a clock value to ns since the capture began, clamped to 0..2^62. */
static inline uint64_t crn_store_moment(const crn_span_store *store, uint64_t clock)
{
    uint64_t since = clock > store->clock_first ? clock - store->clock_first : 0;
    if (store->scale == 1) /* exact: no rounding by floating point */
        return since < UINT64_C(1) << 62 ? since : UINT64_C(1) << 62;
    double time = (double)since * store->scale;
    /* a signed conversion is one instruction */
    return time < 0x1p62 ? (uint64_t)(int64_t)time : UINT64_C(1) << 62;
}

static inline uint64_t crn_store_start(const crn_span_store *store, const cairn_priv_span *span)
{
    return crn_store_moment(store, span->start);
}

/* Returns the end of a span in ns. An open span ends at the last moment in the capture or, if the
 * capture is merged, at the last moment in the capture of its process. */
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

/* Returns the move of a span, NULL if it has none. */
const crn_span_move *crn_store_move(const crn_span_store *store, uint32_t span);

static inline bool crn_store_is_moved(const crn_span_store *store, uint32_t span)
{
    return store->moved && store->moved[span >> 3] >> (span & 7) & 1;
}

static inline uint32_t crn_store_parent(const crn_span_store *store, const crn_span_piece *piece,
                                        uint32_t span)
{
    if (crn_store_is_moved(store, span))
        return crn_store_move(store, span)->parent;
    uint32_t parent = __atomic_load_n(&piece->spans[span - piece->first].parent, __ATOMIC_RELAXED);
    return parent && parent <= span - piece->lane_first ? piece->lane_first + parent - 1
                                                        : CRN_SPAN_NONE;
}

/* Returns all fields of a span, which is in `piece`. */
crn_span crn_store_span_in(const crn_span_store *store, const crn_span_piece *piece, uint32_t span);

static inline crn_span crn_store_span(const crn_span_store *store, uint32_t span)
{
    return crn_store_span_in(store, crn_store_piece(store, span), span);
}

/* Returns a span's weight: 1 unless root spans were sampled. Searches upwards for the nearest
 * ancestor of known weight and stores the weights on the way, so that all spans together cost one
 * step each. */
double crn_store_weight(crn_span_store *store, uint32_t span);

/* Compute covered, cpu and ready (if cpu_known), children or attributes of the store at the first
 * call. */
void crn_store_covered(crn_span_store *store);
void crn_store_cpu(crn_span_store *store);
void crn_store_children(crn_span_store *store);
void crn_store_attributes(crn_span_store *store);

/* Return the self time of a span in ns: its duration minus the covered time. Need
 * crn_store_covered. */
static inline uint64_t crn_store_rest(const crn_span_store *store, uint64_t duration,
                                      uint32_t number)
{
    uint64_t covered = store->covered[number];
    return duration > covered ? duration - covered : 0;
}

static inline uint64_t crn_store_self(const crn_span_store *store, const cairn_priv_span *span,
                                      uint32_t number)
{
    return crn_store_rest(store, crn_store_duration(store, span), number);
}

/* Returns the index of a span's first attribute and sets `*count`. Needs crn_store_attributes. */
uint32_t crn_store_attributes_of(const crn_span_store *store, uint32_t span, uint32_t *count);

/* Returns an attribute. A text is copied into `text`, which value.text then points to. */
crn_attribute crn_store_attribute(const crn_span_store *store, uint32_t attribute,
                                  char text[CAIRN_TEXT_MAX + 1]);

/* Returns the attribute's key, which is less than key_count. */
uint32_t crn_store_key(const crn_span_store *store, uint32_t attribute);

/* Like crn_calloc, for arrays by span: uses huge pages for large ones where available. */
void *crn_store_array(size_t count, size_t size);

/* Sorts `spans` by keys[span], stably (radix sort). */
void crn_store_sort(uint32_t *spans, uint32_t count, const uint64_t *keys);

/* Sets ranks[i] to the nearest-rank quantile shares[i] of the values; to 0 without values. */
void crn_store_ranks(const uint64_t *values, uint64_t count, const double *shares, uint64_t *ranks,
                     int rank_count);

#endif
