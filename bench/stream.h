/* SPDX-License-Identifier: MIT
 *
 * stream.h - recorded profiling events: little-endian 32-bit words, kind << 30 | value. A
 * tick's value is a count, or one of two marks.
 */
#ifndef BENCH_STREAM_H
#define BENCH_STREAM_H

#include <stddef.h>
#include <stdint.h>

enum { STREAM_ENTER = 0, STREAM_REPLACE = 1, STREAM_LEAVE = 2, STREAM_TICK = 3 };
#define STREAM_VALUE 0x3fffffffu
#define STREAM_STRAND_START 0x3fffffffu /* a tick's value: a new strand, at the root */
#define STREAM_STRAND_END 0x3ffffffeu

typedef struct stream {
    uint32_t *words;
    size_t count;
    uint32_t block_limit; /* blocks are 0, the root, to block_limit - 1 */
    uint64_t calls;       /* enters, replaces and strands' starts */
    uint64_t ticks;
} stream;

/* Reads a stream, packed by zstd or not, into memory. Block 0 is the root, which a stream may
 * enter as well. Ends the process with a message when it cannot be read. */
void stream_read(stream *read, const char *path);
void stream_free(stream *read);

/* Reads a file, or makes a stream of descents from the root, DEPTH calls each with a tick, until
 * there are about EVENTS words: `random:BLOCKS,DEPTH,EVENTS`, `recursive:...`, `megamorphic:...`.
 * Ends the process with a message if `source` is none of these. */
void stream_make(stream *made, const char *source);

#endif
