/* SPDX-License-Identifier: MIT
 *
 * pack.c - makes the capture of a short process smaller when recording ends.
 *
 * A capture of two hundred contexts has 14 KB of contexts, of which 5 are the writer's caches. The
 * counters alone go to one page, which was taken for them before any chunk. Then the pages of the
 * records are free: a second chunk of links moves to the first of them, and the file is cut off
 * behind. A process that is killed at any moment leaves a capture that is whole, because the
 * counters, and later the moved links, are written before their entries in the directory. A reader
 * that read the directory before finds the format's version changed, and looks again.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cairn/hot.h>

#include "capture/loss.h"
#include "capture/writer.h"

enum { MOST = CRN_PAGE / sizeof(crn_disk_counters) };

void crn_capture_expect_pack(crn_capture *capture)
{
    enum { LEAST_LIMIT = 16 * CRN_PAGE };
    if (capture->limit < LEAST_LIMIT || capture->end + CRN_PAGE > capture->allocated)
        return;
    capture->packed_at = capture->end;
    capture->end += CRN_PAGE;
    __atomic_store_n(&capture->header->size, capture->end, __ATOMIC_RELEASE);
}

static bool is_of(const crn_disk_chunk *chunk, const crn_section *section)
{
    return chunk->kind == section->identity.kind && chunk->lane == section->identity.lane;
}

static uint64_t end_of(const crn_disk_chunk *chunk)
{
    return chunk->offset + chunk->size;
}

/* Returns the end of the file once it is packed: of the header, the counters, the links, and all
 * chunks that are neither links nor records. */
static uint64_t packed_end(const crn_capture *capture, const crn_section *links,
                           const crn_section *records)
{
    const crn_disk_directory *directory = capture->directory;
    uint64_t end = end_of(&links->chunks[0]), packed = capture->packed_at + CRN_PAGE;
    uint64_t moved = links->chunk_count == 2 ? records->chunks[0].offset + CRN_PAGE : 0;
    end = end < packed ? packed : end;
    end = end < moved ? moved : end;
    for (uint32_t i = 0; i < directory->count; i++) {
        const crn_disk_chunk *chunk = &directory->chunks[i];
        bool stays = chunk->kind && !is_of(chunk, links) && !is_of(chunk, records);
        if (stays && end < end_of(chunk) && chunk->offset >= CRN_PAGE)
            end = end_of(chunk);
    }
    return end;
}

/* Returns true if the capture is small enough, and whole. */
static bool may_be_packed(const crn_capture *capture, const crn_section *links,
                          const crn_section *records, uint32_t count, int file)
{
    struct stat status;
    const crn_disk_directory *directory = capture->directory;
    return capture->packed_at && !capture->detached && !crn_capture_is_lost(capture) &&
           !capture->directory_size && directory->count < directory->capacity && count <= MOST &&
           records->chunk_count && links->chunk_count && links->chunk_count <= 2 &&
           (links->chunk_count == 1 || links->chunks[1].size == CRN_PAGE) && file >= 0 &&
           fstat(file, &status) == 0 && (uint64_t)status.st_size >= capture->end;
}

/* Writes the counters a few at a time: the stack may be a signal's. */
static bool write_counters(const crn_capture *capture, int file, const crn_section *records,
                           uint32_t count)
{
    enum { PART = 64 };
    const cairn_priv_record *all = (const cairn_priv_record *)(const void *)records->base;
    uint64_t at = capture->packed_at;
    if (!crn_file_may_reach(at + CRN_PAGE))
        return false;
    for (uint32_t first = 0; first < count; first += PART) {
        crn_disk_counters part[PART] = {{0}};
        for (uint32_t r = first; r < count && r - first < PART; r++)
            part[r - first] = (crn_disk_counters){all[r].calls, all[r].ticks};
        if (pwrite(file, part, sizeof part, (off_t)at) != (ssize_t)sizeof part)
            return false;
        at += sizeof part;
    }
    return true;
}

/* Replaces the entries of the records by one of the counters. An old reader would find no records,
 * so the version changes first. */
static void enter_counters(crn_capture *capture, const crn_section *records)
{
    crn_disk_directory *directory = capture->directory;
    __atomic_store_n(&capture->header->format_version, CRN_FORMAT_PACKED, __ATOMIC_RELEASE);
    directory->chunks[directory->count] = (crn_disk_chunk){.kind = CRN_SECTION_PACKED,
                                                           .lane = records->identity.lane,
                                                           .offset = capture->packed_at,
                                                           .size = CRN_PAGE};
    __atomic_store_n(&directory->count, directory->count + 1, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < directory->count; i++)
        if (is_of(&directory->chunks[i], records))
            __atomic_store_n(&directory->chunks[i].kind, 0, __ATOMIC_RELEASE);
}

/* Moves the second chunk of links to the first page of the records. */
static bool move_links(crn_capture *capture, int file, crn_section *links,
                       const crn_section *records)
{
    crn_disk_chunk *own = &links->chunks[1];
    uint64_t from = own->offset, to = records->chunks[0].offset;
    memcpy(records->base, links->base + own->place, CRN_PAGE);
    if (!crn_capture_map(links->base, own->place, file, to, CRN_PAGE))
        return false;
    own->offset = to;
    for (uint32_t i = 0; i < capture->directory->count; i++) {
        crn_disk_chunk *chunk = &capture->directory->chunks[i];
        if (is_of(chunk, links) && chunk->offset == from)
            __atomic_store_n(&chunk->offset, to, __ATOMIC_RELEASE);
    }
    return true;
}

bool crn_capture_pack(crn_capture *capture, crn_section *links, crn_section *records,
                      uint32_t count)
{
    int file = crn_file_descriptor(&capture->file);
    if (!may_be_packed(capture, links, records, count, file))
        return false;
    uint64_t end = packed_end(capture, links, records);
    if (end >= capture->end || !write_counters(capture, file, records, count))
        return false;
    enter_counters(capture, records);
    if ((links->chunk_count == 2 && !move_links(capture, file, links, records)) ||
        !crn_address_clear(records->base, records->mapped))
        return false;
    records->chunk_count = 0;
    crn_capture_cut(capture, file, end);
    return true;
}
