/* SPDX-License-Identifier: MIT
 *
 * stream.c - see stream.h.
 */
#include "stream.h"

#include "replay_loop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

static _Noreturn void die(const char *path, const char *what)
{
    fprintf(stderr, "bench: %s: %s\n", path, what);
    exit(2);
}

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        die(path, strerror(errno));
    char *bytes = NULL;
    size_t room = 0, length = 0, got;
    do {
        if (room - length < 1 << 16) {
            room = room * 2 + (1 << 20);
            bytes = realloc(bytes, room);
            if (!bytes)
                die(path, "no memory");
        }
        got = fread(bytes + length, 1, room - length, file);
        length += got;
    } while (got);
    if (ferror(file))
        die(path, strerror(errno));
    fclose(file);
    *size = length;
    return bytes;
}

/* The frames of a zstd file, one after the other; NULL if it is not one. */
static char *unpack(const char *path, const char *packed, size_t size, size_t *unpacked_size)
{
    if (size < 4 || memcmp(packed, "\x28\xb5\x2f\xfd", 4) != 0)
        return NULL;
    ZSTD_DStream *frames = ZSTD_createDStream();
    ZSTD_inBuffer in = {packed, size, 0};
    size_t room = 1 << 24;
    ZSTD_outBuffer out = {malloc(room), room, 0};
    size_t left = 1;
    while (frames && out.dst && (in.pos < in.size || out.pos == out.size)) {
        if (out.pos == out.size) {
            out.size *= 2;
            out.dst = realloc(out.dst, out.size);
            continue;
        }
        left = ZSTD_decompressStream(frames, &out, &in);
        if (ZSTD_isError(left))
            die(path, ZSTD_getErrorName(left));
    }
    if (!frames || !out.dst)
        die(path, "no memory");
    if (left != 0)
        die(path, "the file is cut short");
    ZSTD_freeDStream(frames);
    *unpacked_size = out.pos;
    return out.dst;
}

static void look_through(stream *read)
{
    for (size_t i = 0; i < read->count; i++) {
        uint32_t word = read->words[i], value = word & STREAM_VALUE;
        if (word >> 30 == STREAM_ENTER || word >> 30 == STREAM_REPLACE) {
            read->calls++;
            if (value >= read->block_limit)
                read->block_limit = value + 1;
        } else if (word >> 30 == STREAM_TICK) {
            if (value == STREAM_STRAND_START)
                read->calls++;
            else if (value != STREAM_STRAND_END)
                read->ticks += value;
        }
    }
}

void stream_read(stream *read, const char *path)
{
    size_t size, unpacked_size;
    char *bytes = read_file(path, &size);
    char *unpacked = unpack(path, bytes, size, &unpacked_size);
    if (unpacked) {
        free(bytes);
        bytes = unpacked;
        size = unpacked_size;
    }
    if (size == 0 || size % 4 != 0)
        die(path, "not a stream of 32-bit words");
    *read = (stream){.words = (uint32_t *)bytes, .count = size / 4};
    look_through(read);
}

typedef enum stream_shape {
    STREAM_RANDOM,     /* each call to any of `blocks` blocks */
    STREAM_RECURSIVE,  /* `blocks` functions that call themselves or each other, in runs */
    STREAM_MEGAMORPHIC /* one function calls any of `blocks` blocks, each of which calls two */
} stream_shape;

/* Writes the calls of one descent. */
static void descend(uint32_t *blocks_called, stream_shape shape, uint32_t blocks, uint32_t depth,
                    uint64_t *state)
{
    uint32_t block = 1;
    for (uint32_t i = 0; i < depth; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        uint32_t random = (uint32_t)(*state >> 33);
        if (shape == STREAM_RANDOM)
            block = 1 + random % blocks;
        else if (shape == STREAM_RECURSIVE && random % 4 == 0)
            block = 1 + random / 4 % blocks;
        else if (shape == STREAM_MEGAMORPHIC)
            block = i == 0 ? 1 : i == 1 ? 2 + random % blocks : 2 + blocks + random % 2;
        blocks_called[i] = block;
    }
}

static void make_descents(stream *made, stream_shape shape, uint32_t blocks, uint32_t depth,
                          size_t events)
{
    *made = (stream){.words = malloc((events + 3 * (size_t)depth + 1) * sizeof(uint32_t))};
    uint32_t *called = malloc(depth * sizeof(uint32_t));
    if (!made->words || !called)
        die("a random stream", "no memory");
    uint64_t state = 1;
    uint32_t *next = made->words;
    *next++ = (uint32_t)STREAM_TICK << 30 | STREAM_STRAND_START;
    while ((size_t)(next - made->words) < events) {
        descend(called, shape, blocks, depth, &state);
        for (uint32_t i = 0; i < depth; i++) {
            *next++ = (uint32_t)STREAM_ENTER << 30 | called[i];
            *next++ = (uint32_t)STREAM_TICK << 30 | 1;
        }
        for (uint32_t i = 0; i < depth; i++)
            *next++ = (uint32_t)STREAM_LEAVE << 30;
    }
    free(called);
    made->count = (size_t)(next - made->words);
    look_through(made);
}

void stream_make(stream *made, const char *source)
{
    static const char *const shapes[] = {"random", "recursive", "megamorphic"};
    for (stream_shape shape = 0; shape < sizeof shapes / sizeof *shapes; shape++) {
        size_t length = strlen(shapes[shape]), events;
        uint32_t blocks, depth;
        if (strncmp(source, shapes[shape], length) == 0 && source[length] == ':') {
            if (sscanf(source + length + 1, "%u,%u,%zu", &blocks, &depth, &events) != 3 ||
                blocks == 0 || depth == 0)
                die(source, "not SHAPE:BLOCKS,DEPTH,EVENTS");
            make_descents(made, shape, blocks, depth, events);
            return;
        }
    }
    stream_read(made, source);
}

void stream_free(stream *read)
{
    free(read->words);
    *read = (stream){0};
}

void replay_add_blocks(cairn_profile *profile, const stream *s)
{
    for (uint32_t block = 1; block < s->block_limit; block++) {
        char name[32];
        snprintf(name, sizeof(name), "block %u", block);
        if (cairn_block_add(profile, &(cairn_block_info){.name = name}) != block) {
            fprintf(stderr, "bench: blocks are not numbered in order\n");
            exit(1);
        }
    }
}
