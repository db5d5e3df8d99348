/* SPDX-License-Identifier: MIT
 *
 * format.h - the capture on disk. docs/CAPTURE_FORMAT.md says it in words.
 *
 * Little-endian, fixed width. A page of header, then chunks; a directory says which
 * section each chunk belongs to and where in it. A section's bytes count up to its `used`,
 * which is stored with release order after them.
 */
#ifndef CRN_CAPTURE_FORMAT_H
#define CRN_CAPTURE_FORMAT_H

#include <stdint.h>

#define CRN_MAGIC "CAIRN\r\n\x1a"

enum {
    CRN_FORMAT_VERSION = 1,
    CRN_PAGE = 4096 /* header, first directory, and what chunks are multiples of */
};

typedef enum crn_section_kind {
    CRN_SECTION_STRINGS = 1, /* NUL-terminated */
    CRN_SECTION_BLOCKS = 2,  /* crn_disk_block, by id; entry 0 is the root */
    CRN_SECTION_METRICS = 3, /* crn_disk_metric, by id */
    CRN_SECTION_NOTES = 4,   /* crn_disk_note */
    CRN_SECTION_LANE = 5,    /* crn_disk_lane, then a crn_link for each record of its graph */
    CRN_SECTION_RECORDS = 6, /* a cairn_priv_record for each record of a lane's graph */
    CRN_SECTION_COLUMN = 7,  /* uint64_t by record: a further metric of a lane */
    CRN_SECTION_KINDS = 16
} crn_section_kind;

typedef enum crn_capture_state {
    CRN_STATE_RECORDING = 1,
    CRN_STATE_CLOSED = 2,
    CRN_STATE_STOPPED = 3 /* stopped_by says why; what is there is whole */
} crn_capture_state;

typedef enum crn_clock_kind {
    CRN_CLOCK_MONOTONIC = 1, /* nanoseconds */
    CRN_CLOCK_TSC = 2        /* ticks of the time stamp counter */
} crn_clock_kind;

/* The same moment in the profile's clock and in nanoseconds of CLOCK_MONOTONIC. */
typedef struct crn_disk_moment {
    uint64_t clock;
    uint64_t monotonic_ns;
} crn_disk_moment;

typedef struct crn_disk_header {
    char magic[8];
    uint32_t format_version;
    uint32_t state; /* crn_capture_state */
    char library_version[16];
    uint64_t directory;             /* offset of the first crn_disk_directory */
    uint64_t size;                  /* bytes of the file that are in use */
    uint64_t started_unix_ns;       /* CLOCK_REALTIME */
    uint32_t process;               /* pid */
    uint32_t stopped_by;            /* cairn_error */
    uint32_t clock_kind;            /* crn_clock_kind */
    uint32_t wall;                  /* cairn_wall */
    crn_disk_moment first, last[2]; /* calibrate the clock; see moments */
    uint64_t moments;               /* how many there were: the newest is last[moments & 1] */
    uint64_t wall_period_ns, tick_period, seed, file_limit;
    uint32_t path_limit, context_budget;
    uint64_t used[CRN_SECTION_KINDS]; /* bytes, for sections that there is one of */
} crn_disk_header;

typedef struct crn_disk_chunk {
    uint16_t kind;   /* crn_section_kind; a reader skips what it does not know */
    uint16_t metric; /* of a column */
    uint32_t lane;   /* of a lane's section or column */
    uint64_t place;  /* where in the section */
    uint64_t offset; /* where in the file; a multiple of CRN_PAGE */
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
    uint32_t spare;
} crn_disk_block;

typedef struct crn_disk_metric {
    uint32_t name, unit;
} crn_disk_metric;

typedef struct crn_disk_note {
    uint32_t key, value;
} crn_disk_note;

typedef struct crn_disk_lane {
    uint64_t used; /* records of the graph, the unused record 0 included */
    uint32_t name;
    uint32_t open;
    uint64_t stamp;   /* clock, up to which wall time is charged */
    uint64_t current; /* record that ran when this was last looked at */
    uint64_t strands; /* opened so far */
    uint64_t misuses; /* leaves without enters, stale marks, replaced roots */
    uint64_t wall_samples;
    uint64_t tick_samples;
    uint64_t dropped; /* enters and replaces that there was no memory for */
    uint64_t spare[23];
} crn_disk_lane;

_Static_assert(sizeof(crn_disk_header) == 296, "on disk");
_Static_assert(sizeof(crn_disk_chunk) == 32, "on disk");
_Static_assert(sizeof(crn_disk_directory) == 16, "on disk");
_Static_assert(sizeof(crn_disk_block) == 24, "on disk");
_Static_assert(sizeof(crn_disk_metric) == 8, "on disk");
_Static_assert(sizeof(crn_disk_note) == 8, "on disk");
_Static_assert(sizeof(crn_disk_lane) == 256, "on disk");

#endif
