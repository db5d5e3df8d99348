/* SPDX-License-Identifier: MIT
 *
 * format.h - the layout of captures. docs/CAPTURE_FORMAT.md describes it in words.
 *
 * Numbers are little-endian and of fixed width. The first page is the header; chunks follow.
 * Directories tell each chunk's section and its place in the section. A section is valid up to its
 * `used` bytes; a writer stores `used` with release order after the data.
 */
#ifndef CRN_CAPTURE_FORMAT_H
#define CRN_CAPTURE_FORMAT_H

#include <stdint.h>

#define CRN_MAGIC "CAIRN\r\n\x1a"

enum {
    CRN_FORMAT_VERSION = 2,
    CRN_FORMAT_PACKED = 3, /* the latest: a capture with CRN_SECTION_PACKED */
    CRN_PAGE = 4096 /* size of the header and of the first directory; chunk sizes are multiples */
};

typedef enum crn_section_kind {
    CRN_SECTION_STRINGS = 1,      /* NUL-terminated */
    CRN_SECTION_BLOCKS = 2,       /* crn_disk_block, by id; entry 0 is the root */
    CRN_SECTION_METRICS = 3,      /* crn_disk_metric, by id */
    CRN_SECTION_NOTES = 4,        /* crn_disk_note */
    CRN_SECTION_LANE = 5,         /* crn_disk_lane, then a crn_link for each record of the lane's
                                     graph */
    CRN_SECTION_RECORDS = 6,      /* cairn_priv_record, for each record of a lane's graph */
    CRN_SECTION_COLUMN = 7,       /* uint64_t by record: a lane's values of one metric */
    CRN_SECTION_SPANS = 8,        /* cairn_priv_span, for each span of a lane; start 0 is the end */
    CRN_SECTION_DETAILS = 9,      /* crn_disk_detail: attributes and edges of a lane's spans; kind 0
                                     is the end */
    CRN_SECTION_KEYS = 10,        /* crn_disk_key, by id */
    CRN_SECTION_SPAN_RING = 11,   /* as SPANS, of a lane that overwrites its oldest spans: parts of
                                     CRN_RING_SPANS items, of which the first is a crn_disk_ring */
    CRN_SECTION_DETAIL_RING = 12, /* as DETAILS, of such a lane: parts of CRN_RING_DETAILS items, of
                                     which the first is a crn_disk_ring */
    CRN_SECTION_HISTOGRAMS = 13,  /* crn_disk_histogram: durations of a lane's spans; state 0 is the
                                     end */
    CRN_SECTION_PROCESSES = 14,   /* crn_disk_process, for each process of a merged capture */
    CRN_SECTION_ORIGINS = 15,     /* crn_disk_origin, by lane of a merged capture */
    CRN_SECTION_KINDS = 16,       /* no kind: number of entries in `used` */
    CRN_SECTION_TREES = 16,       /* crn_disk_tree and its nodes, repeated from byte 8 on; count 0
                                     is the end */
    CRN_SECTION_COUNTS = 17,      /* a group of a lane's counters, CRN_COUNTS_GROUP bytes; the
                                     chunk's `metric` is the group's number, from 0. crn_disk_counts
                                     and its counters, repeated; tree 0 is the end */
    CRN_SECTION_OFF_CORE = 18,    /* crn_disk_off_core: when a lane's thread had no core; begin 0 is
                                     the end */
    CRN_SECTION_SAMPLES = 19,     /* crn_disk_sample: where a lane's thread was, and when; `at` 0 is
                                     the end */
    CRN_SECTION_PACKED = 20       /* crn_disk_counters, for each record of lane 0's graph, in place
                                     of RECORDS */
} crn_section_kind;

typedef enum crn_capture_state {
    CRN_STATE_RECORDING = 1,
    CRN_STATE_CLOSED = 2,
    CRN_STATE_STOPPED = 3 /* recording stopped early (stopped_by); the data is consistent */
} crn_capture_state;

typedef enum crn_clock_kind {
    CRN_CLOCK_MONOTONIC = 1, /* nanoseconds */
    CRN_CLOCK_TSC = 2        /* units of the time stamp counter */
} crn_clock_kind;

/* One moment by the profile's clock and by CLOCK_MONOTONIC, ns. */
typedef struct crn_disk_moment {
    uint64_t clock;
    uint64_t monotonic_ns;
} crn_disk_moment;

/* Why the file could not grow. */
typedef enum crn_refusal {
    CRN_REFUSED_NONE = 0,
    CRN_REFUSED_LIMIT = 1, /* file_limit */
    CRN_REFUSED_SYSTEM = 2 /* full disk, quota, RLIMIT_FSIZE */
} crn_refusal;

typedef struct crn_disk_header {
    char magic[8];
    uint32_t format_version;
    uint32_t state; /* crn_capture_state */
    char library_version[16];
    uint64_t directory;             /* offset of the first crn_disk_directory */
    uint64_t size;                  /* bytes of the file in use */
    uint64_t started_unix_ns;       /* when recording began, by CLOCK_REALTIME */
    uint32_t process;               /* pid */
    uint32_t stopped_by;            /* cairn_error */
    uint32_t clock_kind;            /* crn_clock_kind */
    uint32_t wall;                  /* cairn_wall */
    crn_disk_moment first, last[2]; /* calibrate the clock */
    uint64_t moments;               /* moments stored so far; last[moments & 1] is the newest */
    uint64_t sample_period_ns, tick_period, seed, file_limit;
    uint32_t path_limit, context_budget;
    uint64_t used[CRN_SECTION_KINDS]; /* bytes, of sections that exist once, by kind */
    uint32_t cpu;                     /* cairn_cpu */
    uint32_t sampler;                 /* cairn_sampler */
    uint64_t rounds, rounds_ns;       /* rounds of the sampling thread, and the sum of the gaps
                                         between them */
    uint64_t sampler_ns;              /* processor time of the sampling thread */
    uint64_t generation;              /* number of resets */
    uint64_t boot[2]; /* boot id, which identifies the machine's CLOCK_MONOTONIC; 0 0: unknown */
    uint32_t refused; /* crn_refusal of the last request for space */
    uint32_t reserved;
} crn_disk_header;

typedef struct crn_disk_chunk {
    uint16_t kind;   /* crn_section_kind; readers skip unknown kinds */
    uint16_t metric; /* of a column: the metric; of counters: the group's number */
    uint32_t lane;   /* of a section that each lane has */
    uint64_t place;  /* offset within the section */
    uint64_t offset; /* offset within the file; outside of the first page a multiple of CRN_PAGE */
    uint64_t size;
} crn_disk_chunk;

typedef struct crn_disk_directory {
    uint64_t next; /* offset of the next directory; 0: this is the last */
    uint32_t capacity;
    uint32_t count;
    crn_disk_chunk chunks[];
} crn_disk_directory;

/* A record in a packed capture: its counters, without the writer's caches. */
typedef struct crn_disk_counters {
    uint64_t calls, ticks;
} crn_disk_counters;

typedef struct crn_disk_block {
    uint32_t name, file; /* offsets into the strings; 0 is "" */
    uint32_t line, column;
    uint32_t parent;
    uint32_t flags; /* CAIRN_PRIV_BLOCK_* */
} crn_disk_block;

typedef struct crn_disk_metric {
    uint32_t name, unit;
} crn_disk_metric;

typedef struct crn_disk_note {
    uint32_t key, value;
} crn_disk_note;

/* A promise: time of a context without events, which its lane will charge later. A lane has two:
 * the first begins at the lane's stamps, the second at the end of the first. */
typedef struct crn_disk_promise {
    uint64_t clock; /* end of the promised time; 0: no promise */
    uint64_t cpu;   /* the same moment by the thread's processor time, ns */
    uint64_t record;
} crn_disk_promise;

typedef struct crn_disk_key {
    uint32_t name;
} crn_disk_key;

typedef enum crn_detail_kind {
    CRN_DETAIL_INTEGER = 1, /* value: the attribute, two's complement */
    CRN_DETAIL_NUMBER = 2,  /* value: the bits of a double */
    CRN_DETAIL_TEXT = 3,    /* value, more: the text's first 16 bytes; `key`: the attribute's key */
    CRN_DETAIL_MORE = 4,    /* value, more: 16 further bytes of the text before */
    CRN_DETAIL_HANDOFF = 5, /* value: the span that asked for this span; more: clock when it took
                               the token; key: number of the adoption, equal for all spans that
                               began under it */
    CRN_DETAIL_WAITS = 6,   /* value: the span whose end this span waited for; more: clock when
                               recorded */
    CRN_DETAIL_FOLLOWS = 7, /* value: the span that this span continues; more: clock when
                               recorded */
    CRN_DETAIL_STRAND = 8,  /* of root spans. value: number of the strand */
    CRN_DETAIL_WEIGHT = 9,  /* of root spans. value: number of span trees that this tree stands for,
                               the bits of a double */
    CRN_DETAIL_CPU = 10,    /* value: processor time of the thread in the span, ns */
    CRN_DETAIL_NAME = 16,   /* value: the attribute's text, an offset into the strings */
    CRN_DETAIL_COUNTER = 18, /* key: the counter; value: its value, the bits of a double; more:
                                clock */
    CRN_DETAIL_REMOTE = 17,  /* value, more: the 16 bytes of a trace id, in written order; key: the
                                flags. A CRN_DETAIL_MORE follows at once; value: the 8 bytes of the
                                requesting span's id */
    CRN_DETAIL_EVENT = 19    /* key: cairn_level; value: clock; more: the event's text, an offset
                                into the strings; 0: the CRN_DETAIL_MORE that follows at once has
                                the text */
} crn_detail_kind;

typedef struct crn_disk_detail {
    uint32_t span; /* the span's number on its lane */
    uint16_t kind; /* crn_detail_kind; readers skip unknown kinds */
    uint16_t key;
    uint64_t value, more;
} crn_disk_detail;

/* A span's number on its lane is its place + 1. In a ring numbers repeat after a round of two
 * halves, of `half` parts each (crn_disk_ring). The lane's halves count from 0, so each round
 * begins with an even one. A reference that was written during half h means a span of half h if its
 * number is of a half with the parity of h, else a span of half h - 1. CRN_SPAN_GONE is the number
 * of a span that was dropped or overwritten. */
enum { CRN_RING_SPANS = 8192, CRN_RING_DETAILS = 2048, CRN_SPAN_GONE = 0x7fffffff };

/* Head of a part of a ring. It takes the place of the first item: of a span (32 bytes, of which the
 * last 8 are unused) or of a detail (24 bytes). */
typedef struct crn_disk_ring {
    uint64_t nothing; /* 0 */
    uint64_t part;    /* number of the part, from 1; 0: unused. In a part of spans, the head has the
                         span number ((part - 1) modulo 2 * `half`) * CRN_RING_SPANS + 1 */
    uint32_t half;    /* in a part of spans: number of parts in half a round of span numbers */
    uint32_t before;  /* in a part of details: the half during which all its details were written,
                         from 0 */
} crn_disk_ring;

/* Returns a span's name: lane number + 1 in bits 32 to 51; place + 1 in bits 0 to 31 and 52 to 63.
 * Places in names do not wrap around. */
static inline uint64_t crn_span_name_make(uint32_t lane, uint64_t place)
{
    uint64_t number = place + 1;
    return (number >> 32 & 0xfff) << 52 | ((uint64_t)lane + 1) << 32 | (uint32_t)number;
}

static inline uint32_t crn_span_name_lane(uint64_t name)
{
    return (uint32_t)(name >> 32 & 0xfffff) - 1;
}

static inline uint64_t crn_span_name_place(uint64_t name)
{
    return ((name >> 52) << 32 | (uint32_t)name) - 1;
}

/* Buckets of a histogram of durations, in units of the clock. Each duration below 32 has a bucket;
 * above, each power of two has 32 buckets, so a bucket's width is at most 1/32 of its lower
 * bound. */
enum { CRN_HISTOGRAM_BITS = 5, CRN_HISTOGRAM_BUCKETS = 47 << CRN_HISTOGRAM_BITS };

typedef enum crn_histogram_kind {
    CRN_HISTOGRAM_BLOCK = 1,   /* all of a block's spans */
    CRN_HISTOGRAM_INTEGER = 2, /* spans with one value of the attribute `key` */
    CRN_HISTOGRAM_NUMBER = 3,
    CRN_HISTOGRAM_TEXT = 4, /* compares the first CRN_HISTOGRAM_TEXT_MAX bytes */
    CRN_HISTOGRAM_OTHER = 5 /* spans with values beyond the limit on the number of values */
} crn_histogram_kind;

enum { CRN_HISTOGRAM_TEXT_MAX = 128 };

typedef struct crn_disk_histogram {
    uint32_t state; /* 1: valid; stored last, after kind, block, key, value and text */
    uint32_t kind;  /* crn_histogram_kind */
    uint32_t block, key;
    uint64_t value;                 /* of a number: its bits; of a text: its length */
    uint64_t total, self, min, max; /* units of the clock; self: without children on the same
                                       strand */
    uint64_t cpu;                   /* processor time of cpu_count spans, ns */
    uint64_t cpu_count, cpu_wall;   /* cpu_wall: total duration of these spans, units of the
                                       clock */
    uint64_t spare[6];
    uint8_t text[CRN_HISTOGRAM_TEXT_MAX];
    uint64_t buckets[CRN_HISTOGRAM_BUCKETS]; /* number of spans by duration */
} crn_disk_histogram;

/* A process of a merged capture, with readings of its own clocks. */
typedef struct crn_disk_process {
    uint32_t name;       /* command; offset into the strings */
    uint32_t process;    /* pid */
    uint32_t first_lane; /* the lanes end before the next process's first_lane */
    uint32_t spare;
    uint64_t started_unix_ns, monotonic_ns; /* when the process's capture began */
    uint64_t boot[2];                       /* boot id, as in the header of that capture */
    uint64_t start;                         /* when that capture began, by this capture's clock */
    uint64_t dangling;                      /* edges of its spans to missing spans */
    uint64_t trace_id[2], span_key;         /* from notes of that capture; 0: missing */
    uint64_t clock_shift; /* ns, two's complement: by how much merging shifted the clock of the
                             process's machine */
    uint64_t length;      /* ns, up to the last moment of the process's capture */
    uint64_t spare_words[1];
} crn_disk_process;

/* Head of a counter tree: the blocks that were inlined into one function. The tree's number is its
 * offset in the section, in units of 8 bytes. */
typedef struct crn_disk_tree {
    uint32_t count; /* number of nodes, which follow; written after them */
    uint32_t spare;
} crn_disk_tree;

/* A node of a counter tree. Nodes refer to each other by number, from 1; parents come first. */
typedef struct crn_disk_node {
    uint16_t above; /* node that this node is inlined into; 0: the function */
    uint16_t same;  /* earlier node whose counter this node shares; 0: it has its own */
    uint32_t block;
} crn_disk_node;

enum { CRN_COUNTS_GROUP = 1 << 16 };

/* Head of the counters of one context. A uint64_t for each node of the tree follows: its calls. */
typedef struct crn_disk_counts {
    uint32_t tree;   /* number of the tree; written after `record` */
    uint32_t record; /* record of the context; 0: unused */
} crn_disk_counts;

/* A period in which a lane's thread was off core for waiting + ready ns. If the thread was off core
 * all the time, it waited first; otherwise the order is unknown. Times are of CLOCK_MONOTONIC, ns.
 * A thread's first entry has begin = end: nothing is known of the time before. */
typedef struct crn_disk_off_core {
    uint64_t begin; /* stored last; 0: unused */
    uint64_t end;   /* 0: the period has not ended */
    uint64_t waiting;
    uint64_t ready;    /* able to run */
    uint32_t woken_by; /* number + 1 of the lane that ended the wait; 0: unknown */
    uint32_t spare;
} crn_disk_off_core;

/* A sample: the thread's context at a moment, and its processor time since its last sample; more
 * than 2^32 - 1 ns are several samples of one moment. Or, with record 0, a change of threads: from
 * this moment on, another thread uses the lane. */
typedef struct crn_disk_sample {
    uint64_t at;     /* ns of CLOCK_MONOTONIC; stored last; 0: unused */
    uint32_t record; /* context, in the lane's graph; in lane 0's graph if the lane's is empty, as
                        in merged captures; 0: a change of threads */
    uint32_t cpu;    /* ns; in a change, the kernel's id of the new thread */
} crn_disk_sample;

typedef struct crn_disk_origin {
    uint64_t name; /* name of the lane's first span in the capture that recorded it */
} crn_disk_origin;

typedef struct crn_disk_lane {
    uint64_t used; /* number of records of the graph, with the unused record 0 */
    uint32_t name;
    uint32_t open;    /* 1: a thread uses the lane */
    uint64_t stamp;   /* clock up to which wall time is charged */
    uint64_t current; /* record that was current at `stamp` */
    uint64_t strands; /* number of strands opened so far */
    uint64_t misuses; /* leaves without enter, stale marks, tail calls at the root */
    uint64_t samples;
    uint64_t tick_samples;
    uint64_t dropped;   /* enters and replaces not counted, for lack of memory */
    uint64_t settled;   /* incremented before and after time is charged: odd in between */
    uint64_t cpu_stamp; /* the thread's clock, ns, up to which processor time is charged */
    uint64_t cpu_samples;
    uint64_t wall_squares, cpu_squares; /* sums of squared gaps between samples, microseconds
                                           squared */
    uint64_t promises_changed;          /* incremented before and after promises change: odd in
                                           between */
    crn_disk_promise promises[2];
    uint64_t generation; /* of the lane's figures, which count as 0 if the header's differs */
    uint64_t spans_dropped, details_dropped; /* spans and details not recorded */
    /* Parts of spans_dropped: at the limit on spans; because no space was ready in time. */
    uint64_t spans_limited, spans_late;
    uint64_t spans_recycled;     /* recorded, then overwritten by later spans */
    uint64_t spans_skipped;      /* not sampled, like their root spans */
    uint64_t trees_skipped;      /* span trees that were not sampled */
    uint64_t histograms_dropped; /* spans that no histogram counts, for lack of space */
    uint64_t histogram_unit;     /* of a merged capture: ns per unit of the lane's histograms, the
                                    bits of a double; 0: the clock's unit */
    uint32_t thread;             /* the kernel's id of the lane's first thread; 0: unknown */
    uint32_t spare;
} crn_disk_lane;

_Static_assert(sizeof(crn_disk_header) == 360, "on disk");
_Static_assert(sizeof(crn_disk_chunk) == 32, "on disk");
_Static_assert(sizeof(crn_disk_directory) == 16, "on disk");
_Static_assert(sizeof(crn_disk_block) == 24, "on disk");
_Static_assert(sizeof(crn_disk_metric) == 8, "on disk");
_Static_assert(sizeof(crn_disk_note) == 8, "on disk");
_Static_assert(sizeof(crn_disk_lane) == 256, "on disk");
_Static_assert(sizeof(crn_disk_key) == 4, "on disk");
_Static_assert(sizeof(crn_disk_detail) == 24, "on disk");
_Static_assert(sizeof(crn_disk_process) == 112, "on disk");
_Static_assert(sizeof(crn_disk_sample) == 16, "on disk");
_Static_assert(sizeof(crn_disk_origin) == 8, "on disk");
_Static_assert(sizeof(crn_disk_tree) == 8, "on disk");
_Static_assert(sizeof(crn_disk_node) == 8, "on disk");
_Static_assert(sizeof(crn_disk_counts) == 8, "on disk");
_Static_assert(sizeof(crn_disk_off_core) == 40, "on disk");
_Static_assert(sizeof(crn_disk_ring) == 24, "on disk");
_Static_assert(sizeof(crn_disk_histogram) == 12288, "on disk");

#endif
