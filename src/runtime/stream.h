/* SPDX-License-Identifier: MIT
 *
 * stream.h - a section of the capture to which one thread, the writer, appends without waiting:
 * another thread prepares chunks ahead (allocates, maps and touches them), so that the writer makes
 * no system call and has no page fault.
 *
 * In a ring that has reached its limit, new chunks replace the oldest. When the writer takes a
 * chunk, it *gives up* the oldest chunk: it points that chunk's table entry to a dummy chunk, so
 * that later writes through the entry do no harm. The preparing thread clears the chunk that was
 * given up and offers it again.
 */
#ifndef CRN_RUNTIME_STREAM_H
#define CRN_RUNTIME_STREAM_H

#include "base/limits.h"
#include "capture/writer.h"

enum { CRN_STREAM_CHUNKS = CRN_FIRST(1 << 16, 1 << 7) };

typedef struct crn_stream {
    crn_capture *capture;
    crn_disk_chunk identity; /* kind, lane and size of each chunk */
    uint32_t most;           /* limit on the number of chunks */
    bool ring;
    bool modest;    /* the first chunk is enough for now: do not prepare more */
    uint32_t first; /* number of chunks that the writer prepares when it takes the first */
    bool open;      /* fully initialised, for the preparing thread; atomic */
    char **chunks;  /* table of chunks, by number modulo CRN_STREAM_CHUNKS */
    char *dummy;    /* in a ring: takes the writes to chunks that were given up */
    /* Written by the preparing thread: */
    uint64_t prepared; /* number of prepared chunks; atomic */
    uint32_t made;     /* number of chunks added to the file */
    uint32_t kept;     /* in a full ring: number of chunks that are not given up; otherwise 0;
                          atomic */
    bool ended;        /* no more chunks will come; atomic */
    uint64_t seen;     /* `taken` at the last crn_stream_look */
    uint64_t since, taken_then; /* begin, in ns, of the window over which the rate of taken chunks
                                   is measured; `taken` at that moment */
    uint32_t ahead, furthest;   /* number of chunks to keep ready, and its limit */
    char **bases;               /* in a ring: addresses of the file's chunks */
    /* Written by the writer: */
    uint64_t taken; /* number of taken chunks; atomic */
    uint64_t given; /* in a ring: number of chunks given up so far; atomic */
} crn_stream;

/* Parameters of a stream. `most` is its limit in bytes; 0: only the capture's limit holds. */
typedef struct crn_stream_plan {
    crn_section_kind kind;
    uint32_t lane;
    uint64_t chunk_size, most;
    uint32_t ahead; /* number of chunks to keep ready; 0: it adapts to the writer */
    bool modest;    /* prepare one chunk alone at first */
    bool ring;
} crn_stream_plan;

/* Opens a stream. It takes space in the capture when its first chunk is taken. Returns false
 * without memory. */
bool crn_stream_open(crn_stream *stream, crn_capture *capture, const crn_stream_plan *plan);
void crn_stream_close(crn_stream *stream);

/* Takes the next chunk. Returns NULL if no chunk is ready. The writer's data in a chunk of a ring
 * follow its crn_disk_ring. Thread: the writer. */
char *crn_stream_take(crn_stream *stream);

/* Like crn_stream_take, for a stream without a preparing thread: if no chunk is ready, prepares one
 * first. Preserves errno. Thread: the writer. */
char *crn_stream_take_alone(crn_stream *stream);

/* Clears the chunks that were taken: the section begins anew in them. For a stream that is no ring
 * and has at most CRN_STREAM_CHUNKS chunks. Thread: the writer, while none prepares. */
void crn_stream_rewind(crn_stream *stream);

/* Raises the number of chunks to keep ready: to the number that the writer takes in a tenth of a
 * second, or to twice the present number if the writer took more than half of that since the last
 * call. `now`: CLOCK_MONOTONIC, ns. Thread: the preparing one, also of the next three functions. */
void crn_stream_look(crn_stream *stream, uint64_t now);

/* Returns the number of chunks that are ready. */
uint64_t crn_stream_stock(const crn_stream *stream);

/* Returns true if fewer chunks are ready than should be, and more can be made. Returns false before
 * the first chunk is taken, as most streams stay unused. */
bool crn_stream_wants(const crn_stream *stream);

/* Prepares some chunks; may wait for the disk. Returns true if it prepared any, or found that the
 * section cannot grow any more: a ring then has old chunks to prepare. */
bool crn_stream_prepare(crn_stream *stream);

/* Returns the number of bytes taken so far. */
uint64_t crn_stream_used(const crn_stream *stream);

#endif
