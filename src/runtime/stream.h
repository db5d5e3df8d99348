/* SPDX-License-Identifier: MIT
 *
 * stream.h - a part of the capture that one thread appends to without ever waiting: space comes
 * in chunks that another thread has prepared ahead, mapped and touched, so that there is no
 * system call, no allocation and no page fault where it is written.
 *
 * A ring keeps the last: when it may have no more, the chunk that was taken first makes room. The
 * writer says so, with the chunk that it takes; who prepares clears it then. Whoever still means to
 * write to what has made room writes to nowhere.
 */
#ifndef CRN_RUNTIME_STREAM_H
#define CRN_RUNTIME_STREAM_H

#include "base/limits.h"
#include "capture/writer.h"

enum { CRN_STREAM_CHUNKS = CRN_FIRST(1 << 16, 1 << 7) };

typedef struct crn_stream {
    crn_capture *capture;
    crn_disk_chunk identity; /* kind, lane, size of each chunk */
    uint32_t most;           /* chunks that it may have */
    bool ring;
    bool modest;   /* no more is wanted yet: until who prepares says otherwise */
    bool open;     /* all is there for who prepares; atomic */
    char **chunks; /* by number modulo CRN_STREAM_CHUNKS */
    char *nowhere; /* of a ring: as large as a chunk */
    /* Who prepares: */
    uint64_t prepared; /* how many; atomic */
    uint32_t made;     /* chunks of the file */
    uint32_t kept;     /* of a ring that is full: how many of those that were taken last stay;
                        * atomic */
    bool ended;        /* there will be no more; atomic */
    uint64_t seen;     /* taken, at the last look */
    uint64_t since, taken_then; /* a moment, ns, and how many were taken then */
    uint32_t ahead, furthest;   /* how many are to be prepared beyond those that are taken */
    char **bases;               /* of a ring: of the file's chunks */
    /* Its writer: */
    uint64_t taken; /* atomic */
    uint64_t given; /* of a ring: how many have made room; atomic */
} crn_stream;

/* What a stream is to be: `most` bytes at most, 0 if only the capture's limit holds. */
typedef struct crn_stream_plan {
    crn_section_kind kind;
    uint32_t lane;
    uint64_t chunk_size, most;
    uint32_t ahead; /* chunks to be kept ready; 0: as it turns out */
    bool modest;    /* one is enough for now */
    bool ring;
} crn_stream_plan;

/* Opens it and prepares a first chunk. False when there is no memory; without space in the
 * capture it is open and has no chunk. */
bool crn_stream_open(crn_stream *stream, crn_capture *capture, const crn_stream_plan *plan);
void crn_stream_close(crn_stream *stream);

/* The next chunk, NULL if none is prepared; of a ring, behind a crn_disk_ring. Thread: the
 * writer. */
char *crn_stream_take(crn_stream *stream);

/* Looks how fast chunks are taken: a tenth of a second's are to be kept ready, and twice what was
 * taken since the last look. `now`: CLOCK_MONOTONIC, ns. One caller of this and the next at a
 * time. */
void crn_stream_look(crn_stream *stream, uint64_t now);

/* How many chunks are prepared and not taken, and whether more are wanted and can be had: not
 * before the first is taken, as most programs have nothing to write. */
uint64_t crn_stream_stock(const crn_stream *stream);
bool crn_stream_wants(const crn_stream *stream);

/* Prepares some of what may be wanted soon. Not for the writer, as it waits for the disk. True if
 * there was anything to do. */
bool crn_stream_prepare(crn_stream *stream);

/* How many bytes of its section have been taken. */
uint64_t crn_stream_used(const crn_stream *stream);

#endif
