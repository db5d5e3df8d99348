/* SPDX-License-Identifier: MIT
 *
 * Streams (stream.h): one thread prepares chunks, another takes them.
 */
#include "runtime/stream.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "capture/loss.h"

enum {
    FIRST = CRN_FIRST(512, 0) * 1024,        /* bytes that the writer adds with the first chunk */
    AHEAD_FIRST = CRN_FIRST(2048, 0) * 1024, /* bytes to keep ready at first */
    AHEAD_MOST = 16 * 1024 * 1024,           /* bytes to keep ready, at most */
    WINDOW_NS = 20 * 1000 * 1000, /* ns over which the rate of taken chunks is measured */
    STOCK_NS = 100 * 1000 * 1000, /* ns for which prepared chunks must suffice */
    AHEAD_SHARE = 16,   /* a stream has at most 1 / AHEAD_SHARE of the file's limit ready */
    RING_LEAST = 2,     /* chunks: one is written while the other is cleared */
    RING_SHARE = 4,     /* a full ring keeps 1 / RING_SHARE of its chunks ready */
    RING_AHEAD = 32,    /* and at most RING_AHEAD chunks */
    BATCH = 1024 * 1024 /* bytes added to the file at once, at most */
};

static void *reserve_table(void)
{
    /* Reserves address space: the kernel allocates pages when entries are written. */
    void *table = mmap(NULL, CRN_STREAM_CHUNKS * sizeof(char *), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return table == MAP_FAILED ? NULL : table;
}

static void release_table(void *table)
{
    if (table)
        munmap(table, CRN_STREAM_CHUNKS * sizeof(char *));
}

/* ---- preparing ---- */

/* Writes to each page, so that the writer has no page faults. Reads would not suffice: the kernel
 * tracks dirty pages, so the first write to a page of a shared mapping faults. */
static void touch(char *bytes, uint64_t size)
{
#ifdef MADV_POPULATE_WRITE
    if (madvise(bytes, size, MADV_POPULATE_WRITE) == 0)
        return;
#endif
    for (uint64_t at = 0; at < size; at += CRN_PAGE)
        __atomic_store_n(bytes + at, 0, __ATOMIC_RELAXED);
}

/* Makes a chunk available to the writer. */
static void offer(crn_stream *stream, char *base)
{
    uint64_t number = stream->prepared;
    if (stream->ring) {
        crn_disk_ring *ring = (crn_disk_ring *)(void *)base;
        ring->half = CRN_STREAM_CHUNKS / 2;
        __atomic_store_n(&ring->part, number + 1, __ATOMIC_RELEASE);
    }
    stream->chunks[number % CRN_STREAM_CHUNKS] = base;
    __atomic_store_n(&stream->prepared, number + 1, __ATOMIC_RELEASE);
}

/* Returns how many of a full ring's `made` chunks to keep ready. */
static uint32_t share_of_ring(uint32_t made)
{
    uint32_t share = made / RING_SHARE;
    return share < 1 ? 1 : share > RING_AHEAD ? RING_AHEAD : share;
}

/* Handles the end of the section's growth: a ring begins to overwrite its oldest chunks, any other
 * stream ends. */
static void end_growth(crn_stream *stream)
{
    if (stream->ring && stream->made >= RING_LEAST)
        __atomic_store_n(&stream->kept, stream->made - share_of_ring(stream->made),
                         __ATOMIC_RELEASE);
    else
        __atomic_store_n(&stream->ended, true, __ATOMIC_RELEASE);
}

/* Adds up to `count` chunks to the file, at most BATCH bytes. Returns false without space. */
static bool grow(crn_stream *stream, uint64_t count)
{
    uint64_t size = stream->identity.size, batch = BATCH / size ? BATCH / size : 1;
    uint64_t left = stream->most - stream->made;
    count = count < batch ? count : batch;
    count = count < left ? count : left;
    crn_disk_chunk chunk = stream->identity;
    chunk.place = stream->made * size;
    chunk.size = count * size;
    char *base = crn_capture_chunk(stream->capture, &chunk);
    if (!base && count > 1) {
        count = 1;
        chunk.size = size;
        base = crn_capture_chunk(stream->capture, &chunk);
    }
    if (!base)
        return false;
    touch(base, chunk.size);
    for (; count; count--, base += size) {
        if (stream->ring)
            stream->bases[stream->made] = base;
        stream->made++;
        offer(stream, base);
    }
    return true;
}

/* Returns true if the writer has given up a chunk that is not cleared yet. */
static bool can_clear(const crn_stream *stream)
{
    return stream->prepared - stream->made < __atomic_load_n(&stream->given, __ATOMIC_ACQUIRE);
}

/* Clears the oldest chunk of a full ring and offers it again, if the writer has given it up. Marks
 * the chunk as unused first: readers must never see old and new data mixed. */
static bool clear_oldest(crn_stream *stream)
{
    if (!can_clear(stream))
        return false;
    char *base = stream->bases[stream->prepared % stream->made];
    crn_disk_ring *ring = (crn_disk_ring *)(void *)base;
    (void)__atomic_exchange_n(&ring->part, 0, __ATOMIC_ACQ_REL); /* must precede the memset */
    memset(base + sizeof *ring, 0, stream->identity.size - sizeof *ring);
    offer(stream, base);
    return true;
}

static bool prepare_more(crn_stream *stream, uint64_t count)
{
    if (stream->ended)
        return false;
    if (stream->kept)
        return clear_oldest(stream);
    bool grown = stream->made < stream->most && grow(stream, count);
    if (!grown || stream->made == stream->most)
        end_growth(stream);
    return true;
}

void crn_stream_look(crn_stream *stream, uint64_t now)
{
    if (!__atomic_load_n(&stream->open, __ATOMIC_ACQUIRE))
        return;
    uint64_t taken = __atomic_load_n(&stream->taken, __ATOMIC_RELAXED),
             passed = now - stream->since;
    uint64_t wanted = taken - stream->seen > stream->ahead / 2 ? stream->ahead * (uint64_t)2 : 0;
    if (passed >= WINDOW_NS) {
        uint64_t rate = (taken - stream->taken_then) * STOCK_NS / passed;
        wanted = rate > wanted ? rate : wanted;
        stream->since = now;
        stream->taken_then = taken;
    }
    wanted = wanted < stream->furthest ? wanted : stream->furthest;
    if (wanted > stream->ahead)
        stream->ahead = (uint32_t)wanted;
    stream->seen = taken;
}

uint64_t crn_stream_stock(const crn_stream *stream)
{
    return stream->prepared - __atomic_load_n(&stream->taken, __ATOMIC_RELAXED);
}

bool crn_stream_wants(const crn_stream *stream)
{
    /* The writer itself prepared the first chunks: the acquire of `taken` makes its writes visible
     * here. */
    if (!__atomic_load_n(&stream->open, __ATOMIC_ACQUIRE) ||
        !__atomic_load_n(&stream->taken, __ATOMIC_ACQUIRE) || stream->ended ||
        crn_stream_stock(stream) >= stream->ahead)
        return false;
    return !stream->modest && (!stream->kept || can_clear(stream));
}

bool crn_stream_prepare(crn_stream *stream)
{
    uint64_t stock = crn_stream_stock(stream);
    return stock < stream->ahead && prepare_more(stream, stream->ahead - stock);
}

void crn_stream_rewind(crn_stream *stream)
{
    for (uint64_t i = 0; i < stream->taken; i++)
        memset(stream->chunks[i], 0, stream->identity.size);
    __atomic_store_n(&stream->taken, 0, __ATOMIC_RELEASE);
}

/* ---- open and close ---- */

/* Returns how many whole chunks fit in `bytes`, at least 1. */
static uint64_t chunks_of(const crn_stream_plan *plan, uint64_t bytes)
{
    return bytes > plan->chunk_size ? bytes / plan->chunk_size : 1;
}

/* Returns the limit on the number of chunks. */
static uint32_t chunks_within(const crn_stream_plan *plan)
{
    /* The table has room for CRN_STREAM_CHUNKS chunks. A ring has fewer than half as many, because
     * its span numbers wrap around: begin_half (span_space.c) relies on it. */
    uint64_t room = plan->ring ? CRN_STREAM_CHUNKS / 2 - 1 : CRN_STREAM_CHUNKS;
    uint64_t most = plan->most ? plan->most / plan->chunk_size : room;
    most = most < room ? most : room;
    return (uint32_t)(most < RING_LEAST ? RING_LEAST : most);
}

/* Allocates what only a ring needs: a table of its chunks' addresses, and the dummy chunk. */
static bool open_ring(crn_stream *stream)
{
    stream->bases = reserve_table();
    stream->dummy = crn_address_reserve(stream->identity.size);
    if (!stream->bases || !stream->dummy ||
        mprotect(stream->dummy, stream->identity.size, PROT_READ | PROT_WRITE) != 0)
        return false;
    touch(stream->dummy, stream->identity.size);
    return true;
}

bool crn_stream_open(crn_stream *stream, crn_capture *capture, const crn_stream_plan *plan)
{
    uint64_t furthest = chunks_of(plan, capture->limit / AHEAD_SHARE);
    uint64_t most = chunks_of(plan, AHEAD_MOST), ahead = chunks_of(plan, AHEAD_FIRST);
    furthest = furthest < most ? furthest : most;
    *stream = (crn_stream){
        .capture = capture,
        .identity = {.kind = (uint16_t)plan->kind, .lane = plan->lane, .size = plan->chunk_size},
        .most = chunks_within(plan),
        .ring = plan->ring,
        .modest = plan->modest,
        .furthest = (uint32_t)furthest,
        .ahead = (uint32_t)(ahead < furthest ? ahead : furthest)};
    if (plan->ahead)
        stream->ahead = stream->furthest = plan->ahead;
    stream->chunks = reserve_table();
    if (!stream->chunks || (stream->ring && !open_ring(stream))) {
        crn_stream_close(stream);
        return false;
    }
    stream->first = plan->modest ? 1 : (uint32_t)chunks_of(plan, FIRST);
    if (stream->first > stream->ahead)
        stream->first = stream->ahead;
    __atomic_store_n(&stream->open, true, __ATOMIC_RELEASE);
    return true;
}

void crn_stream_close(crn_stream *stream)
{
    uint64_t size = stream->identity.size;
    for (uint32_t i = 0; stream->chunks && i < stream->made; i++)
        crn_capture_release(stream->ring ? stream->bases[i] : stream->chunks[i], size);
    crn_address_release(stream->dummy, size);
    release_table((void *)stream->chunks);
    release_table((void *)stream->bases);
    *stream = (crn_stream){0};
}

/* ---- writer ---- */

/* Gives up the oldest chunks of a full ring before chunk `number` is taken, so that the ring keeps
 * `kept` chunks with that one. */
static void give_up_oldest(crn_stream *stream, uint64_t number)
{
    uint32_t kept = __atomic_load_n(&stream->kept, __ATOMIC_ACQUIRE);
    uint64_t given = stream->given;
    while (kept && given + kept <= number)
        stream->chunks[given++ % CRN_STREAM_CHUNKS] = stream->dummy;
    __atomic_store_n(&stream->given, given, __ATOMIC_RELEASE);
}

/* Prepares chunks on the writer's thread. Disables cancellation: growth of a section must be no
 * cancellation point. */
static void prepare_here(crn_stream *stream, uint64_t count)
{
    int saved = errno, cancelling;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    prepare_more(stream, count);
    pthread_setcancelstate(cancelling, NULL);
    errno = saved;
}

char *crn_stream_take(crn_stream *stream)
{
    uint64_t number = stream->taken;
    /* The preparing thread ignores a stream of which no chunk was taken. */
    if (!number && !stream->prepared && __atomic_load_n(&stream->open, __ATOMIC_RELAXED))
        prepare_here(stream, stream->first);
    give_up_oldest(stream, number);
    if (number == __atomic_load_n(&stream->prepared, __ATOMIC_ACQUIRE))
        return NULL;
    __atomic_store_n(&stream->taken, number + 1, __ATOMIC_RELEASE);
    return stream->chunks[number % CRN_STREAM_CHUNKS];
}

char *crn_stream_take_alone(crn_stream *stream)
{
    give_up_oldest(stream, stream->taken);
    if (!crn_stream_stock(stream) && __atomic_load_n(&stream->open, __ATOMIC_RELAXED))
        prepare_here(stream, 1); /* the writer waits for it */
    return crn_stream_take(stream);
}

uint64_t crn_stream_used(const crn_stream *stream)
{
    uint64_t used = stream->taken < stream->made ? stream->taken : stream->made;
    return used * stream->identity.size;
}
