/* SPDX-License-Identifier: MIT
 *
 * format.h - the layout of captures. docs/CAPTURE_FORMAT.md describes it in words.
 *
 * Little-endian, fixed width. The first page is the header; chunks follow. A directory tells which
 * section each chunk belongs to, and where in it. A section is valid up to its `used` bytes, which
 * is stored with release order after the data.
 */
#ifndef CRN_CAPTURE_FORMAT_H
#define CRN_CAPTURE_FORMAT_H

#include <stdint.h>

#define CRN_MAGIC "CAIRN\r\n\x1a"

enum {
    CRN_FORMAT_VERSION = 2,
    CRN_PAGE = 4096 /* size of header and first directory; chunks are multiples of it */
};

typedef enum crn_section_kind {
    CRN_SECTION_STRINGS = 1,      /* NUL-terminated */
    CRN_SECTION_BLOCKS = 2,       /* crn_disk_block, by id; entry 0 is the root */
    CRN_SECTION_METRICS = 3,      /* crn_disk_metric, by id */
    CRN_SECTION_NOTES = 4,        /* crn_disk_note */
    CRN_SECTION_LANE = 5,         /* crn_disk_lane, then a crn_link for each record of its graph */
    CRN_SECTION_RECORDS = 6,      /* a cairn_priv_record for each record of a lane's graph */
    CRN_SECTION_COLUMN = 7,       /* uint64_t by record: a further metric of a lane */
    CRN_SECTION_SPANS = 8,        /* a cairn_priv_span for each span of a lane, up to one whose
                                     start is 0 */
    CRN_SECTION_DETAILS = 9,      /* crn_disk_detail: attributes and edges of a lane's spans, up
                                     to one whose kind is 0 */
    CRN_SECTION_KEYS = 10,        /* crn_disk_key, by id */
    CRN_SECTION_SPAN_RING = 11,   /* like SPANS, for lanes that overwrite their oldest spans:
                                     parts of CRN_RING_SPANS, each beginning with a crn_disk_ring */
    CRN_SECTION_DETAIL_RING = 12, /* like DETAILS, likewise: parts of CRN_RING_DETAILS */
    CRN_SECTION_HISTOGRAMS = 13,  /* crn_disk_histogram: durations of a lane's spans, up to one
                                     whose state is 0 */
    CRN_SECTION_PROCESSES = 14,   /* crn_disk_process: processes of a merged capture */
    CRN_SECTION_ORIGINS = 15,     /* crn_disk_origin, by lane of a merged capture */
    CRN_SECTION_KINDS = 16,       /* number of entries in `used` */
    CRN_SECTION_TREES = 16,       /* crn_disk_tree, each followed by its nodes, from byte 8 on,
                                     up to one without nodes */
    CRN_SECTION_COUNTS = 17,      /* of a lane, by `metric` from 0 on: groups of CRN_COUNTS_GROUP
                                     bytes of crn_disk_counts, each followed by its counters, up to
                                     one whose tree is 0 */
    CRN_SECTION_OFF_CORE = 18,    /* crn_disk_off_core: when a lane's thread had no core, up to one
                                     whose begin is 0 */
    CRN_SECTION_SAMPLES = 19      /* crn_disk_sample: where a lane's thread was at which moment, up
                                     to one whose moment is 0 */
} crn_section_kind;

typedef enum crn_capture_state {
    CRN_STATE_RECORDING = 1,
    CRN_STATE_CLOSED = 2,
    CRN_STATE_STOPPED = 3 /* recording has stopped, see stopped_by; the data is consistent */
} crn_capture_state;

typedef enum crn_clock_kind {
    CRN_CLOCK_MONOTONIC = 1, /* nanoseconds */
    CRN_CLOCK_TSC = 2        /* ticks of the time stamp counter */
} crn_clock_kind;

/* One moment in the profile's clock and in ns of CLOCK_MONOTONIC. */
typedef struct crn_disk_moment {
    uint64_t clock;
    uint64_t monotonic_ns;
} crn_disk_moment;

/* Reasons for refusing more space. */
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
    uint64_t started_unix_ns;       /* CLOCK_REALTIME */
    uint32_t process;               /* pid */
    uint32_t stopped_by;            /* cairn_error */
    uint32_t clock_kind;            /* crn_clock_kind */
    uint32_t wall;                  /* cairn_wall */
    crn_disk_moment first, last[2]; /* calibration of the clock; see moments */
    uint64_t moments;               /* number of moments so far: the newest is last[moments & 1] */
    uint64_t sample_period_ns, tick_period, seed, file_limit;
    uint32_t path_limit, context_budget;
    uint64_t used[CRN_SECTION_KINDS]; /* bytes, of sections that exist once */
    uint32_t cpu;                     /* cairn_cpu */
    uint32_t sampler;                 /* cairn_sampler */
    uint64_t rounds, rounds_ns;       /* of the sampling thread, and the sum of the gaps between
                                         them */
    uint64_t sampler_ns;              /* its processor time */
    uint64_t generation;              /* number of resets */
    uint64_t boot[2]; /* boot id, identifies the machine's CLOCK_MONOTONIC; 0 0 if not known */
    uint32_t refused; /* crn_refusal of the last request for space */
    uint32_t reserved;
} crn_disk_header;

typedef struct crn_disk_chunk {
    uint16_t kind;   /* crn_section_kind; readers skip unknown ones */
    uint16_t metric; /* of a column */
    uint32_t lane;   /* of a lane's section or column */
    uint64_t place;  /* offset within the section */
    uint64_t offset; /* offset within the file, a multiple of CRN_PAGE */
    uint64_t size;
} crn_disk_chunk;

typedef struct crn_disk_directory {
    uint64_t next; /* offset of the next directory, 0 if none */
    uint32_t capacity;
    uint32_t count;
    crn_disk_chunk chunks[];
} crn_disk_directory;

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

/* Time that a context without events has spent waiting or computing, and that will be charged
 * later. The first of two begins at the lane's stamps, the second where the first ends. */
typedef struct crn_disk_promise {
    uint64_t clock; /* end of the promised time; 0: none */
    uint64_t cpu;   /* the same moment in the thread's processor time, ns */
    uint64_t record;
} crn_disk_promise;

typedef struct crn_disk_key {
    uint32_t name;
} crn_disk_key;

typedef enum crn_detail_kind {
    CRN_DETAIL_INTEGER = 1, /* value: the attribute's, two's complement */
    CRN_DETAIL_NUMBER = 2,  /* value: the bits of a double */
    CRN_DETAIL_TEXT = 3,    /* value, more: its first 16 bytes; `key` is the key */
    CRN_DETAIL_MORE = 4,    /* of the text before it: 16 further bytes */
    CRN_DETAIL_HANDOFF = 5, /* value: the span that asked for this one; more: when the token was
                             * taken; key: number of the adoption, the same for all that began
                             * below one */
    CRN_DETAIL_WAITS = 6,   /* value: the span whose end it waited for; more: clock when recorded */
    CRN_DETAIL_FOLLOWS = 7, /* value: the span that this one continues; more: likewise */
    CRN_DETAIL_STRAND = 8,  /* value: number of the strand, of root spans */
    CRN_DETAIL_WEIGHT = 9,  /* value: bits of a double; number of trees that this one stands for,
                               of root spans */
    CRN_DETAIL_CPU = 10,    /* value: processor time of the thread in the span, ns */
    CRN_DETAIL_NAME = 16,   /* value: the attribute's text, as offset into the strings */
    CRN_DETAIL_COUNTER = 18, /* key: the counter; value: the bits of a double; more: clock */
    CRN_DETAIL_REMOTE = 17,  /* value, more: the 16 bytes of a trace id, in written order; a
                                CRN_DETAIL_MORE right behind it has the 8 bytes of the requesting
                                span's id in `value`, likewise; key: the flags */
    CRN_DETAIL_EVENT = 19    /* key: cairn_level; value: clock; more: its text, as offset into the
                                strings; 0: the text is in the CRN_DETAIL_MORE right behind it */
} crn_detail_kind;

typedef struct crn_disk_detail {
    uint32_t span; /* number */
    uint16_t kind; /* crn_detail_kind; readers skip unknown ones */
    uint16_t key;
    uint64_t value, more;
} crn_disk_detail;

/* Number of a span on its lane: place + 1. In a ring, places wrap around: a number refers to the
 * half of the round in which the reference was written if the part has that half's parity,
 * otherwise to the half before. CRN_SPAN_GONE refers to a span that was not recorded or was
 * overwritten. */
enum { CRN_RING_SPANS = 8192, CRN_RING_DETAILS = 2048, CRN_SPAN_GONE = 0x7fffffff };

/* Head of a part of a ring, in the place of a span or detail: 24 bytes of 24 or 32. */
typedef struct crn_disk_ring {
    uint64_t nothing;
    uint64_t part;   /* number of the part, from 1; 0: unused. In a part of spans, this item has
                        the number ((part - 1) modulo 2 * `half`) * CRN_RING_SPANS + 1 */
    uint32_t half;   /* of spans: number of parts in half a round of span numbers */
    uint32_t before; /* of details: the half in which they were written, from 0 */
} crn_disk_ring;

/* Makes the name of a span in its capture: lane number + 1 in bits 32 to 51; place + 1, which never
 * wraps, in bits 0 to 31 and 52 to 63. */
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

/* Histogram of durations, in units of the clock. Values up to 32 have a bucket each; above, each
 * power of two has 32 buckets, so that a bucket's width is at most 1/32 of its lower bound. */
enum { CRN_HISTOGRAM_BITS = 5, CRN_HISTOGRAM_BUCKETS = 47 << CRN_HISTOGRAM_BITS };

typedef enum crn_histogram_kind {
    CRN_HISTOGRAM_BLOCK = 1,   /* all of a block's spans */
    CRN_HISTOGRAM_INTEGER = 2, /* spans with this value of the attribute `key` */
    CRN_HISTOGRAM_NUMBER = 3,
    CRN_HISTOGRAM_TEXT = 4, /* its first CRN_HISTOGRAM_TEXT_MAX bytes */
    CRN_HISTOGRAM_OTHER = 5 /* spans with other values, beyond the limit on values */
} crn_histogram_kind;

enum { CRN_HISTOGRAM_TEXT_MAX = 128 };

typedef struct crn_disk_histogram {
    uint32_t state; /* 1: valid; stored after kind, block, key, value and text */
    uint32_t kind;  /* crn_histogram_kind */
    uint32_t block, key;
    uint64_t value;                 /* of a number: its bits; of a text: its length */
    uint64_t total, self, min, max; /* units of the clock; self: without children on the strand */
    uint64_t cpu;                   /* ns, of cpu_count spans */
    uint64_t cpu_count, cpu_wall;   /* cpu_wall: duration of these spans, units of the clock */
    uint64_t spare[6];
    uint8_t text[CRN_HISTOGRAM_TEXT_MAX];
    uint64_t buckets[CRN_HISTOGRAM_BUCKETS]; /* number of spans by duration */
} crn_disk_histogram;

/* A process of a merged capture, with readings of its own clocks. */
typedef struct crn_disk_process {
    uint32_t name;       /* command; offset into the strings */
    uint32_t process;    /* pid */
    uint32_t first_lane; /* its lanes end where the next one's begin */
    uint32_t spare;
    uint64_t started_unix_ns, monotonic_ns; /* when its capture began */
    uint64_t boot[2];                       /* as in the header of its capture */
    uint64_t start;                         /* that moment by this capture's clock */
    uint64_t dangling;                      /* edges of its spans to missing spans */
    uint64_t trace_id[2], span_key;         /* from its notes, 0 if missing */
    uint64_t clock_shift; /* ns, two's complement: shift against its machine's clock, if machines
                             share none */
    uint64_t length;      /* ns: up to the last moment of its capture */
    uint64_t spare_words[1];
} crn_disk_process;

/* Blocks inlined into one another. A tree's number is its offset in the section in units of 8
 * bytes. */
typedef struct crn_disk_tree {
    uint32_t count; /* of nodes; stored after them */
    uint32_t spare;
} crn_disk_tree;

/* Nodes refer to each other by number, from 1; parents come first. */
typedef struct crn_disk_node {
    uint16_t above; /* node that this one is inlined into; 0: the function itself */
    uint16_t same;  /* earlier node whose counter it shares; 0: has its own */
    uint32_t block;
} crn_disk_node;

enum { CRN_COUNTS_GROUP = 1 << 16 };

/* Calls of a tree's nodes, a counter for each. */
typedef struct crn_disk_counts {
    uint32_t tree;   /* number; stored after the record */
    uint32_t record; /* context; 0: unused */
} crn_disk_counts;

/* A time in which a lane's thread had no core for waiting + ready ns. If that is the whole time,
 * the wait came first; otherwise it is not known when. Times are of CLOCK_MONOTONIC, ns. The first
 * entry of a thread has no length: before it nothing is known. */
typedef struct crn_disk_off_core {
    uint64_t begin; /* stored last; 0: no entry yet */
    uint64_t end;   /* 0: it has none yet */
    uint64_t waiting;
    uint64_t ready;    /* able to run */
    uint32_t woken_by; /* number + 1 of the lane that ended the wait; 0: not known */
    uint32_t spare;
} crn_disk_off_core;

/* A sample of processor time: the thread was in a context at a moment, and had used so much time
 * since its last sample. Time beyond 2^32 - 1 ns follows in further samples of the same moment. Or
 * a change of threads: from the moment on, the lane is another one's. */
typedef struct crn_disk_sample {
    uint64_t at;     /* ns of CLOCK_MONOTONIC; stored last; 0: no sample yet */
    uint32_t record; /* context: of the lane's graph, or if that is empty, as in merged captures, of
                        lane 0's; 0: a change of threads */
    uint32_t cpu;    /* ns; of a change: the kernel's id of the thread */
} crn_disk_sample;

typedef struct crn_disk_origin {
    uint64_t name; /* of the lane's first span, in the capture that recorded it */
} crn_disk_origin;

typedef struct crn_disk_lane {
    uint64_t used; /* records of the graph, the unused record 0 included */
    uint32_t name;
    uint32_t open;
    uint64_t stamp;   /* clock, up to which wall time is charged */
    uint64_t current; /* record that ran when this was last looked at */
    uint64_t strands; /* opened so far */
    uint64_t misuses; /* leaves without enters, stale marks, replaced roots */
    uint64_t samples;
    uint64_t tick_samples;
    uint64_t dropped;   /* enters and replaces that there was no memory for */
    uint64_t settled;   /* goes up before and after time is charged: odd in between */
    uint64_t cpu_stamp; /* the thread's processor time, ns, up to which it is charged */
    uint64_t cpu_samples;
    uint64_t wall_squares, cpu_squares; /* of the gaps that were sampled, microseconds squared */
    uint64_t promises_changed;          /* goes up before and after promises change */
    crn_disk_promise promises[2];
    uint64_t generation; /* of its figures: they count as 0 if it is not the header's */
    uint64_t spans_dropped, details_dropped; /* that there was no space for */
    /* Of those: there is as much as may be kept; it was not prepared in time. */
    uint64_t spans_limited, spans_late;
    uint64_t spans_recycled; /* recorded, and made room for later ones */
    uint64_t spans_skipped;  /* below root spans that were not sampled */
    uint64_t trees_skipped;
    uint64_t histograms_dropped; /* spans that are in none: there was no space for one */
    uint64_t histogram_unit;     /* in a capture that was merged: bits of a double, ns per unit of
                                  * the lane's histograms; 0: the clock's */
    uint32_t thread;             /* the kernel's id of its first thread; 0: not known */
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
