/* SPDX-License-Identifier: MIT
 *
 * trace.h - the spans of a capture as arrays in memory, and the edges between them: a DAG. The
 * capture may be live, truncated or hostile.
 *
 * Spans are grouped by lane, and within a lane sorted by start: a parent precedes its children on
 * the same lane. All times are ns since the capture began.
 */
#ifndef CRN_SPANS_TRACE_H
#define CRN_SPANS_TRACE_H

#include "profile/profile.h"
#include "spans/samples.h"

#define CRN_SPAN_NONE ((uint32_t)UINT32_MAX)

/* ns, 146 years. All times in a trace are clamped to it. */
#define CRN_TRACE_LATEST 0x1p62

enum { CRN_LANES_MAX = 1 << 29 };

/* A span, packed to 36 bytes because there are millions. */
typedef struct __attribute__((packed, aligned(4))) crn_span {
    uint64_t start;
    uint64_t end;      /* of an open span: the last moment in its process's capture */
    int64_t iteration; /* CAIRN_ITERATION_NONE: not numbered */
    uint32_t block;    /* index of a block in the profile loaded from the same capture */
    uint32_t parent; /* index of a span, CRN_SPAN_NONE for a root span; can be the span that handed
                        off the work */
    uint32_t lane : 29;  /* index of crn_trace.lanes */
    bool open : 1;       /* it had not ended when the capture was read */
    bool handed_off : 1; /* the parent handed off the work */
    bool orphaned : 1;   /* the trace lacks its parent: not recorded, overwritten, or in another
                            process */
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
    CRN_EDGE_FOLLOWS = 2 /* `from` continues the work of `to` */
} crn_edge_kind;

typedef struct crn_span_edge {
    uint32_t from, to;
    crn_edge_kind kind;
    uint64_t at; /* ns, when it was recorded (a wait: when it ended); 0 if not known */
} crn_span_edge;

/* A value of a counter, valid from `at` on. */
typedef struct crn_counter {
    uint32_t span; /* innermost open span then, else the last before */
    uint16_t key;  /* its name: index of crn_trace.keys */
    double value;
    uint64_t at; /* ns */
} crn_counter;

/* An event, or a line of a log. */
typedef struct crn_span_event {
    uint32_t span;  /* as in crn_counter */
    uint32_t level; /* cairn_level */
    uint64_t at;    /* ns */
    const char *text;
} crn_span_event;

/* A period in which a lane's thread was off core for waiting + ready ns. If these fill the period,
 * the wait came first; otherwise their position is not known. A thread's first entry has begin =
 * end: nothing is known of the time before. */
typedef struct crn_off_core {
    uint32_t lane;
    uint32_t woken_by;   /* lane whose thread ended the wait; CRN_SPAN_NONE: not known */
    uint64_t begin, end; /* ns */
    uint64_t waiting;
    uint64_t ready; /* able to run */
} crn_off_core;

/* The hand-off by which a span got its parent. */
typedef struct crn_span_handoff {
    uint32_t span;
    uint32_t adoption; /* the same number for consecutive spans of a lane under one adoption; 0: not
                          known */
    uint64_t taken;    /* ns, when the token was taken; 0: not known */
} crn_span_handoff;

/* A parent in another process, named by a W3C traceparent. An id is the number that its hexadecimal
 * digits spell; trace_id[0] has the first 16 digits of the trace's id. */
typedef struct crn_span_remote {
    uint32_t span;
    uint16_t flags;
    bool resolved; /* the trace has the parent, and crn_span.parent is its index */
    uint64_t trace_id[2];
    uint64_t parent; /* span id of the parent */
} crn_span_remote;

/* A process that recorded some of the spans. Its clock readings are of its own machine. */
typedef struct crn_trace_process {
    const char *name;      /* its command, "" if not known */
    uint32_t number;       /* pid; 0 if not known */
    uint32_t first_lane;   /* first lane; the process's lanes end before the next process's first */
    uint64_t unix_ns;      /* CLOCK_REALTIME when its capture began; 0: not known */
    uint64_t monotonic_ns; /* CLOCK_MONOTONIC when its capture began */
    uint64_t boot[2];    /* boot id of the machine, 0 0: not known. Only CLOCK_MONOTONIC readings of
                            one boot are comparable */
    uint64_t start;      /* when its capture began, ns by the trace's clock */
    int64_t clock_shift; /* ns added to the begin that its clocks give, so that no child begins
                            before its parent on another machine */
    uint64_t trace_id[2]; /* trace id of the process's root spans; 0 0: none recorded */
    uint64_t span_key;    /* span id = span name xor this key; 0: none recorded */
    uint64_t length;      /* ns from `start` to the last moment in its capture */
    uint64_t dangling;    /* number of edges from its spans to missing spans */
} crn_trace_process;

/* The weight of a root span, if root spans were sampled (--span-rate). */
typedef struct crn_span_weight {
    uint32_t span;
    double weight; /* at least 1 */
} crn_span_weight;

struct crn_disk_histogram;

/* A histogram as a capture has it, with the trace's blocks and keys. spread.h decodes it. */
typedef struct crn_trace_histogram {
    uint32_t lane;
    double unit; /* ns per counted unit */
    struct crn_disk_histogram *disk;
} crn_trace_histogram;

/* Kinds of arrows in timelines. */
typedef enum crn_arrow_kind {
    CRN_ARROW_HANDOFF, /* from the span that handed off the work */
    CRN_ARROW_WAITS,   /* from the span that was waited for */
    CRN_ARROW_FOLLOWS  /* from the span whose work is continued */
} crn_arrow_kind;

typedef struct crn_trace {
    /* Lengths of the arrays below. process_count is 0 in traces of tests and of crn_trace_keep. */
    uint32_t span_count, weight_count, attribute_count, edge_count, counter_count, event_count,
        off_core_count, histogram_count, handoff_count, remote_count, lane_count, process_count,
        key_count;

    crn_span *spans;
    uint64_t *cpu;   /* by span, ns; UINT64_MAX: not measured; NULL: measured for no span */
    uint64_t *ready; /* time ready by span; values as in `cpu` */
    crn_span_weight *weights;        /* sorted by span, at most one each */
    crn_attribute *attributes;       /* sorted by span */
    crn_span_edge *edges;            /* sorted by `from` */
    crn_counter *counters;           /* sorted by span, and then in the order of recording */
    crn_span_event *events;          /* sorted as `counters` */
    crn_off_core *off_core;          /* sorted by lane, then by begin */
    crn_samples samples;             /* of processor time */
    crn_trace_histogram *histograms; /* sorted by lane */
    uint64_t histograms_dropped;     /* spans counted in no histogram, for lack of space */
    crn_span_handoff *handoffs;      /* sorted by span, at most one each */
    crn_span_remote *remotes;        /* sorted by span, at most one each */
    const char **lanes;              /* by lane: its name, or "" */
    uint32_t *threads; /* by lane: kernel id of the first thread on it; 0: not known; the pointer is
                          NULL if no thread is known. Later threads are in samples.changes */
    uint64_t *origins; /* by lane: span name (crn_span_name_make) of its first span in the capture
                          that recorded it; the names of its next spans are consecutive */
    crn_trace_process *processes;
    const char **keys;

    uint64_t dropped;       /* spans that were lost for lack of space */
    uint64_t limited, late; /* of these: at the limit; for lack of prepared space */
    uint64_t recycled;      /* overwritten spans (ring) */
    uint64_t skipped;       /* spans of trees that were not sampled */
    uint64_t trees_skipped;
    uint64_t details_dropped; /* attributes and edges that were lost for lack of space */
    uint64_t dangling;        /* edges to spans that are not in the trace */
    uint64_t length;          /* ns, the last moment in the capture */

    crn_interning *texts; /* owns all strings above */
} crn_trace;

/* Loads the spans of a capture; without spans the trace is empty. On an error returns NULL and sets
 * `*error`. */
crn_trace *crn_trace_load(const char *path, crn_error *error);

/* Loads the spans of a capture, and then its profile, which has all their blocks even if the
 * program adds blocks meanwhile. On an error returns NULL, and sets `*error` alone. */
crn_profile *crn_trace_load_with_profile(const char *path, crn_trace **trace, crn_error *error);
void crn_trace_free(crn_trace *trace);

/* Writes a profile and, unless `trace` is NULL, its spans as a capture. Loading the capture gives
 * an equal trace, including processes, remote parents and ids. */
bool crn_trace_save(const crn_profile *profile, const crn_trace *trace, const char *path,
                    crn_error *error);

/* Returns the word for a level: event, debug, info, warning, error. */
const char *crn_level_name(uint32_t level);

/* Returns the first attribute of a span and sets `*count`. */
const crn_attribute *crn_trace_attributes(const crn_trace *trace, uint32_t span, uint32_t *count);

/* Returns, by span, its weight: that of its root span. Free it with crn_free. NULL if all weights
 * are 1. */
double *crn_trace_weigh(const crn_trace *trace);

#endif
