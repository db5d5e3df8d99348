/* SPDX-License-Identifier: MIT
 *
 * stream.h - a section of the capture to which one thread appends without waiting: another thread
 * prepares chunks ahead (allocates, maps and touches them), so the writer makes no system call and
 * has no page fault.
 *
 * In a ring, the oldest chunk is overwritten when the limit is reached. The writer says so when it
 * takes a chunk; the preparing thread clears the old one. References to overwritten chunks lead to
 * a dummy chunk.
 */
#ifndef CRN_RUNTIME_STREAM_H
#define CRN_RUNTIME_STREAM_H

#include "base/limits.h"
#include "capture/writer.h"

enum { CRN_STREAM_CHUNKS = CRN_FIRST(1 << 16, 1 << 7) };

typedef struct crn_stream {
    crn_capture *capture;
    crn_disk_chunk identity; /* kind and lane; size of each chunk */
    uint32_t most;           /* limit on chunks */
    bool ring;
    bool modest;    /* no more chunks are wanted until the preparing thread says otherwise */
    uint32_t first; /* chunks to make when the first one is taken */
    bool open;      /* fully initialised, for the preparing thread; atomic */
    char **chunks;  /* by number modulo CRN_STREAM_CHUNKS */
    char *nowhere;  /* of a ring: dummy chunk */
    /* Written by the preparing thread: */
    uint64_t prepared; /* number of prepared chunks; atomic */
    uint32_t made;     /* chunks of the file */
    uint32_t kept;     /* of a full ring: number of the last chunks that are kept; atomic */
    bool ended;        /* no more chunks will come; atomic */
    uint64_t seen;     /* `taken` at the last look */
    uint64_t since, taken_then; /* a moment in ns, and `taken` at that moment */
    uint32_t ahead, furthest;   /* number of chunks to prepare ahead, and its maximum so far */
    char **bases;               /* of a ring: addresses of the file's chunks */
    /* Written by the writer: */
    uint64_t taken; /* number of taken chunks; atomic */
    uint64_t given; /* of a ring: number of overwritten chunks; atomic */
} crn_stream;

/* Parameters of a stream: at most `most` bytes; 0: only the capture's limit holds. */
typedef struct crn_stream_plan {
    crn_section_kind kind;
    uint32_t lane;
    uint64_t chunk_size, most;
    uint32_t ahead; /* chunks to keep ready; 0: adapts */
    bool modest;    /* one chunk is enough for now */
    bool ring;
} crn_stream_plan;

/* Opens a stream. It takes space in the capture when its first chunk is taken. Returns false
 * without memory. */
bool crn_stream_open(crn_stream *stream, crn_capture *capture, const crn_stream_plan *plan);
void crn_stream_close(crn_stream *stream);

/* Returns the next chunk, NULL if none is prepared or without space; in a ring, the data after its
 * crn_disk_ring. Thread: the writer. */
char *crn_stream_take(crn_stream *stream);

/* Adapts the number of chunks to keep ready: those used in a tenth of a second, and twice those
 * taken since the last call. `now`: CLOCK_MONOTONIC, ns. One caller of this and the next two at a
 * time. */
void crn_stream_look(crn_stream *stream, uint64_t now);

/* Returns the number of chunks that are ready; returns true if more are wanted and possible. None
 * are before the first is taken, since most programs write nothing. */
uint64_t crn_stream_stock(const crn_stream *stream);
bool crn_stream_wants(const crn_stream *stream);

/* Prepares some chunks. Waits for the disk: not for the writer. Returns true if there was anything
 * to do. */
bool crn_stream_prepare(crn_stream *stream);

/* Returns the number of bytes taken so far. */
uint64_t crn_stream_used(const crn_stream *stream);

#endif
