/* SPDX-License-Identifier: MIT */
#include "capture/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cairn/cairn.h>

#include "base/memory.h"

/* Reads up to `size` bytes; fewer only at the end of the file. -1 and errno. */
static int64_t read_at(int file, void *bytes, uint64_t size, uint64_t offset)
{
    uint64_t got = 0;
    while (got < size) {
        ssize_t part = pread(file, (char *)bytes + got, size - got, (off_t)(offset + got));
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0)
            return -1;
        if (part == 0)
            break;
        got += (uint64_t)part;
    }
    return (int64_t)got;
}

static bool check_header(crn_reader *reader, const char *name, crn_error *error)
{
    crn_disk_header *header = &reader->header;
    int64_t got = read_at(reader->file, header, sizeof *header, 0);
    if (got < 0)
        return crn_error_set(error, CAIRN_E_READ, "%s: %s", name, strerror(errno));
    size_t magic = sizeof header->magic;
    if (memcmp(header->magic, CRN_MAGIC, (size_t)got < magic ? (size_t)got : magic) != 0)
        return crn_error_set(error, CAIRN_E_FORMAT,
                             "%s: not a capture; captures are made by 'cairn run' or libcairn",
                             name);
    if ((size_t)got < sizeof *header)
        return crn_error_set(error, CAIRN_E_TRUNCATED,
                             "%s: cut short after %lld bytes, within its header; copy it again",
                             name, (long long)got);
    if (header->format_version > CRN_FORMAT_VERSION)
        return crn_error_set(error, CAIRN_E_VERSION,
                             "%s: written in format %u, and this cairn reads up to %d; "
                             "use a newer cairn",
                             name, header->format_version, CRN_FORMAT_VERSION);
    if (header->format_version == 0)
        return crn_error_set(error, CAIRN_E_FORMAT, "%s: damaged: it has no format version", name);
    header->library_version[sizeof header->library_version - 1] = 0;
    reader->truncated = header->size > reader->file_size;
    return true;
}

static int compare_chunks(const void *left, const void *right)
{
    const crn_disk_chunk *a = left, *b = right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    if (a->metric != b->metric)
        return a->metric < b->metric ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

/* Takes over the entries of one directory that lie in the file. */
static bool add_chunks(crn_reader *reader, const crn_disk_chunk *chunks, uint64_t count)
{
    crn_disk_chunk *all = crn_try_realloc(reader->chunks, reader->chunk_count + count, sizeof *all);
    if (!all)
        return false;
    reader->chunks = all;
    for (uint64_t i = 0; i < count; i++) {
        crn_disk_chunk chunk = chunks[i];
        if (chunk.offset >= reader->file_size)
            continue;
        if (chunk.size > reader->file_size - chunk.offset)
            chunk.size = reader->file_size - chunk.offset;
        all[reader->chunk_count++] = chunk;
    }
    return true;
}

/* Directories lie one after the other in the file, so the walk ends. */
static bool read_directories(crn_reader *reader, const char *name, crn_error *error)
{
    uint64_t after = 0;
    for (uint64_t offset = reader->header.directory; offset > after;) {
        crn_disk_directory directory;
        int64_t got = read_at(reader->file, &directory, sizeof directory, offset);
        if (got < (int64_t)sizeof directory)
            break;
        uint64_t begin = offset + sizeof directory;
        uint64_t fits = (reader->file_size - begin) / sizeof(crn_disk_chunk);
        uint64_t count = directory.count < fits ? directory.count : fits;
        crn_disk_chunk *chunks = crn_try_calloc(count, sizeof *chunks);
        got = chunks ? read_at(reader->file, chunks, count * sizeof *chunks, begin) : 0;
        bool added =
            chunks && (got < 0 || add_chunks(reader, chunks, (uint64_t)got / sizeof *chunks));
        crn_free(chunks);
        if (!added)
            return crn_error_set(error, CAIRN_E_MEMORY, "%s: no memory for its directory", name);
        after = offset;
        offset = directory.next;
    }
    if (reader->chunk_count)
        qsort(reader->chunks, reader->chunk_count, sizeof *reader->chunks, compare_chunks);
    return true;
}

bool crn_reader_open_file(crn_reader *reader, int file, const char *name, crn_error *error)
{
    *reader = (crn_reader){.file = file};
    struct stat status;
    if (fstat(file, &status) != 0)
        return crn_error_set(error, CAIRN_E_READ, "%s: %s", name, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return crn_error_set(error, CAIRN_E_READ, "%s: is a directory; name a capture in it", name);
    reader->file_size = (uint64_t)status.st_size;
    if (check_header(reader, name, error) && read_directories(reader, name, error))
        return true;
    crn_free(reader->chunks);
    reader->chunks = NULL;
    return false;
}

bool crn_reader_open(crn_reader *reader, const char *path, crn_error *error)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return crn_error_set(error, CAIRN_E_READ, "%s: %s; %s", path, strerror(errno),
                             errno == EACCES ? "ask its owner for leave to read it"
                                             : "check the path");
    if (crn_reader_open_file(reader, file, path, error))
        return true;
    close(file);
    return false;
}

void crn_reader_close(crn_reader *reader)
{
    if (reader->file >= 0)
        close(reader->file);
    crn_free(reader->chunks);
    reader->chunks = NULL;
}

/* The first chunk that is not before the one with this identity. */
static size_t find_chunk(const crn_reader *reader, const crn_disk_chunk *identity)
{
    size_t low = 0, high = reader->chunk_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_chunks(&reader->chunks[middle], identity) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool crn_reader_section(const crn_reader *reader, crn_section_kind kind, uint32_t lane,
                        uint16_t metric, uint64_t most, crn_bytes *bytes, crn_error *error)
{
    crn_disk_chunk identity = {.kind = (uint16_t)kind, .lane = lane, .metric = metric};
    size_t first = find_chunk(reader, &identity), last = first;
    uint64_t size = 0;
    for (; last < reader->chunk_count && size < most; last++) {
        const crn_disk_chunk *chunk = &reader->chunks[last];
        if (chunk->kind != kind || chunk->lane != lane || chunk->metric != metric ||
            chunk->place != size)
            break;
        size += chunk->size;
    }
    *bytes = (crn_bytes){.size = size < most ? size : most, .whole = size >= most};
    /* Chunks that claim the same bytes of the file cannot ask for more than a multiple. */
    if (bytes->size > reader->file_size)
        return crn_error_set(error, CAIRN_E_FORMAT, "damaged: its chunks overlap");
    bytes->data = crn_try_calloc(bytes->size + 1, 1);
    if (!bytes->data)
        return crn_error_set(error, CAIRN_E_MEMORY, "no memory for %llu bytes of it",
                             (unsigned long long)bytes->size);
    for (size_t i = first; i < last; i++) {
        const crn_disk_chunk *chunk = &reader->chunks[i];
        uint64_t left = bytes->size - chunk->place;
        uint64_t part = chunk->size < left ? chunk->size : left;
        if (read_at(reader->file, bytes->data + chunk->place, part, chunk->offset) < 0) {
            crn_free(bytes->data);
            bytes->data = NULL;
            return crn_error_set(error, CAIRN_E_READ, "cannot be read: %s", strerror(errno));
        }
    }
    return true;
}

bool crn_reader_lane(const crn_reader *reader, uint32_t *lane)
{
    crn_disk_chunk identity = {.kind = CRN_SECTION_LANE, .lane = *lane};
    size_t found = find_chunk(reader, &identity);
    if (found == reader->chunk_count || reader->chunks[found].kind != CRN_SECTION_LANE)
        return false;
    *lane = reader->chunks[found].lane;
    return true;
}

double crn_reader_clock_scale(const crn_reader *reader)
{
    const crn_disk_header *header = &reader->header;
    const crn_disk_moment *last = &header->last[header->moments & 1];
    uint64_t clock = last->clock - header->first.clock;
    uint64_t time = last->monotonic_ns - header->first.monotonic_ns;
    if (header->clock_kind != CRN_CLOCK_TSC || clock == 0)
        return 1;
    double scale = (double)time / (double)clock;
    return scale > 1e-3 && scale < 1e3 ? scale : 1;
}
