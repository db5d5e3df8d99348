/* SPDX-License-Identifier: MIT
 *
 * trace.h - the single executions that a capture holds, and how they hang together: a DAG of
 * spans. What it was read from may be live, cut short or hostile.
 *
 * Spans are in the order of their lanes, and of their begins within a lane: a parent that is
 * on the same lane comes before its children. All times are nanoseconds since the capture
 * began.
 */
#ifndef CRN_SPANS_TRACE_H
#define CRN_SPANS_TRACE_H

#include "profile/profile.h"

#define CRN_SPAN_NONE ((uint32_t)UINT32_MAX)

/* No program runs for 146 years: nothing in a trace is later. */
#define CRN_TRACE_LATEST 0x1p62

enum { CRN_LANES_MAX = 1 << 29 };

/* Of these there are millions: 36 bytes each, as close as they come. */
typedef struct __attribute__((packed, aligned(4))) crn_span {
    uint64_t start;
    uint64_t end;        /* of one that has not ended: the last moment that the capture knows of */
    int64_t iteration;   /* CAIRN_ITERATION_NONE if it has none */
    uint32_t block;      /* of the profile that was loaded from the same capture */
    uint32_t parent;     /* span, CRN_SPAN_NONE if it has none; by hand-off, too */
    uint32_t lane : 29;  /* index of crn_trace.lanes */
    bool open : 1;       /* it has not ended */
    bool handed_off : 1; /* the parent asked for it from elsewhere */
    bool orphaned : 1;   /* its parent is not in the trace: it was not recorded, made room, or is
                            another process's */
} crn_span;

typedef enum crn_attribute_kind {
    CRN_ATTRIBUTE_INTEGER = 1,
    CRN_ATTRIBUTE_NUMBER = 2,
    CRN_ATTRIBUTE_TEXT = 3
} crn_attribute_kind;

typedef struct crn_attribute {
    uint32_t span;
    uint16_t kind; /* crn_attribute_kind */
    uint16_t key;  /* index of crn_trace.keys */
    union {
        int64_t integer;
        double number;
        const char *text;
    } value;
} crn_attribute;

typedef enum crn_edge_kind {
    CRN_EDGE_WAITS = 1,  /* `from` waited for the end of `to` */
    CRN_EDGE_FOLLOWS = 2 /* `from` goes on where `to` ended */
} crn_edge_kind;

typedef struct crn_span_edge {
    uint32_t from, to;
    crn_edge_kind kind;
    uint64_t at; /* when it was recorded: of a wait, when that was over; 0 if not known */
} crn_span_edge;

/* How a span that was handed off came about. */
typedef struct crn_span_handoff {
    uint32_t span;
    uint32_t adoption; /* spans next to each other on a lane that began below the same one have the
                          same number; 0 if not known */
    uint64_t taken;    /* when its token was taken, which was before the work could begin; 0 if not
                          known */
} crn_span_handoff;

/* Who asked for a span from elsewhere by a W3C traceparent. Ids are numbers whose highest digit
 * is written first. */
typedef struct crn_span_remote {
    uint32_t span;
    uint16_t flags;
    bool resolved; /* the one that asked is in the trace: it is the span's parent */
    uint64_t trace_id[2];
    uint64_t parent; /* id of the span that asked */
} crn_span_remote;

/* One that recorded some of the spans. What its clocks said is of its own machine. */
typedef struct crn_trace_process {
    const char *name;      /* its command, "" if that is not known */
    uint32_t number;       /* pid; 0 if not known */
    uint32_t first_lane;   /* its lanes end where the next one's begin */
    uint64_t unix_ns;      /* CLOCK_REALTIME when its capture began, 0 if not known */
    uint64_t monotonic_ns; /* CLOCK_MONOTONIC at the same moment */
    uint64_t boot[2];      /* names the machine since it was started, 0 0 if not known: only then
                              are readings of two CLOCK_MONOTONICs to be compared */
    uint64_t start;        /* the same moment by the trace's clock */
    int64_t clock_shift;   /* ns by which it was moved from where its clocks say, for no child
                              begins before the span of another machine that asked for it */
    uint64_t trace_id[2];  /* of the traces that began in it, 0 0 if it has none */
    uint64_t span_key;     /* its spans' names xor this are their ids, 0 if it has none */
    uint64_t length;       /* ns, up to the last moment that its capture knows of */
    uint64_t dangling;     /* edges of its spans to spans that are not there */
} crn_trace_process;

/* A span without a parent that stands for several: its tree was drawn. */
typedef struct crn_span_weight {
    uint32_t span;
    double weight; /* at least 1 */
} crn_span_weight;

struct crn_disk_histogram;

/* As it is in the capture, but for its block and key: spread.h reads them. */
typedef struct crn_trace_histogram {
    uint32_t lane;
    double unit; /* ns, in which it counts */
    struct crn_disk_histogram *disk;
} crn_trace_histogram;

/* The kinds of edges between spans, as timelines draw them. */
typedef enum crn_arrow_kind {
    CRN_ARROW_HANDOFF, /* from the span that asked for the work */
    CRN_ARROW_WAITS,   /* from the span whose end was waited for */
    CRN_ARROW_FOLLOWS  /* from the span that it goes on from */
} crn_arrow_kind;

typedef struct crn_trace {
    /* Of what is below; processes are maybe 0 in one that a test made. */
    uint32_t span_count, weight_count, attribute_count, edge_count, histogram_count, handoff_count,
        remote_count, lane_count, process_count, key_count;

    crn_span *spans;
    uint64_t *cpu;             /* by span, ns, UINT64_MAX where it is not known; NULL: of none */
    crn_span_weight *weights;  /* by span, at most one each */
    crn_attribute *attributes; /* by span */
    crn_span_edge *edges;      /* by from */
    crn_trace_histogram *histograms; /* by lane */
    uint64_t histograms_dropped;     /* spans that are in none: there was no space */
    crn_span_handoff *handoffs;      /* by span; of those that were handed off, at most one each */
    crn_span_remote *remotes;        /* by span, at most one each */
    const char **lanes;              /* names, "" if they have none */
    uint64_t *origins; /* by lane: its first span's name in the capture that recorded it, as
                          crn_span_name_make makes it; those of the others follow */
    crn_trace_process *processes;
    const char **keys;

    uint64_t dropped;       /* spans that there was no space for */
    uint64_t limited, late; /* of those: as many as may be kept were there; none was ready */
    uint64_t recycled;      /* spans that made room for later ones */
    uint64_t skipped;       /* spans of trees that were not drawn */
    uint64_t trees_skipped;
    uint64_t details_dropped; /* attributes and edges, likewise */
    uint64_t dangling;        /* edges to spans that are not there */
    uint64_t length;          /* the last moment that the capture knows of */

    crn_interning *texts; /* owned */
} crn_trace;

/* Loads the spans of a capture; one without any gives an empty trace. On an error NULL. */
crn_trace *crn_trace_load(const char *path, crn_error *error);
void crn_trace_free(crn_trace *trace);

/* Writes a profile and its spans, NULL for none, as a capture. What is read from that is what was
 * written: also processes, what asked for spans from elsewhere, and ids. */
bool crn_trace_save(const crn_profile *profile, const crn_trace *trace, const char *path,
                    crn_error *error);

/* The attributes of a span: the first, and how many. */
const crn_attribute *crn_trace_attributes(const crn_trace *trace, uint32_t span, uint32_t *count);

/* For how many each span stands, by span: as many as the tree that it is in. To be freed; NULL if
 * each stands for itself. */
double *crn_trace_weigh(const crn_trace *trace);

#endif
