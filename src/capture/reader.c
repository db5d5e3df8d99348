/* SPDX-License-Identifier: MIT */
#include "capture/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cairn/hot.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/sampled_path.h"

/* Reads `size` bytes, or fewer at the end of the file. Returns their number; on an error returns -1
 * and sets errno. */
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

/* Reads a word of the header. Returns `otherwise` if it cannot be read. */
static uint64_t header_word(const crn_reader *reader, uint64_t place, uint64_t otherwise)
{
    uint64_t word;
    int64_t got = read_at(reader->file, &word, sizeof word, place);
    return got == sizeof word ? word : otherwise;
}

/* Reads the header, whose writer may change it meanwhile. Returns the bytes read, or -1. A copy can
 * have parts of different moments, so it is made twice. `moments` is the same before and after the
 * second copy, so the newest moment in it is whole. The strings' size is of the second copy, that
 * of other tables of the first, so the strings have all names. */
static int64_t read_header(crn_reader *reader)
{
    enum { TRIES = 20 };
    crn_disk_header *header = &reader->header, first = {0};
    int64_t got = 0;
    for (int i = 0; i < TRIES; i++) {
        got = read_at(reader->file, &first, sizeof first, 0);
        if (got < (int64_t)sizeof first) {
            *header = first;
            return got;
        }
        got = read_at(reader->file, header, sizeof *header, 0);
        if (header_word(reader, offsetof(crn_disk_header, moments), 0) == first.moments)
            break;
    }
    for (int kind = 0; kind < CRN_SECTION_KINDS; kind++)
        if (kind != CRN_SECTION_STRINGS)
            header->used[kind] = first.used[kind];
    return got;
}

static bool check_header(crn_reader *reader, const char *name, crn_error *error)
{
    crn_disk_header *header = &reader->header;
    int64_t got = read_header(reader);
    if (got < 0)
        return crn_error_set(error, CAIRN_E_READ, "%s: %s", name, strerror(errno));
    if (got == 0)
        return crn_error_set(error, CAIRN_E_TRUNCATED,
                             "%s: is empty; copy it again, or wait until its program has started",
                             name);
    size_t magic = sizeof header->magic;
    if (memcmp(header->magic, CRN_MAGIC, (size_t)got < magic ? (size_t)got : magic) != 0)
        return crn_error_set(error, CAIRN_E_FORMAT,
                             "%s: not a capture; 'cairn run' and libcairn write captures, and "
                             "'cairn import' converts files of other tools",
                             name);
    if ((size_t)got < sizeof *header)
        return crn_error_set(error, CAIRN_E_TRUNCATED,
                             "%s: truncated after %lld bytes, within its header; copy it again",
                             name, (long long)got);
    if (header->format_version > CRN_FORMAT_PACKED)
        return crn_error_set(
            error, CAIRN_E_VERSION,
            "%s: has format version %u, and this cairn reads %d; use a newer cairn", name,
            header->format_version, CRN_FORMAT_PACKED);
    if (header->format_version == 0)
        return crn_error_set(error, CAIRN_E_FORMAT, "%s: damaged: it has no format version", name);
    header->library_version[sizeof header->library_version - 1] = 0;
    return true;
}

static int compare_chunks(const void *left, const void *right)
{
    const crn_disk_chunk *a = left, *b = right;
    return CRN_ORDER(a->kind, b->kind)
               ?: CRN_ORDER(a->lane, b->lane)
               ?: CRN_ORDER(a->metric, b->metric)
               ?: CRN_ORDER(a->place, b->place);
}

/* Orders a chunk that replaces a smaller one before it. */
static int compare_replacing(const void *left, const void *right)
{
    const crn_disk_chunk *a = left, *b = right;
    return compare_chunks(a, b) ?: CRN_ORDER(b->size, a->size);
}

/* Sorts the chunks and drops those that a larger one replaces: a writer that was killed may have
 * added the one and not yet removed the other. */
static void order_chunks(crn_reader *reader)
{
    size_t kept = 0;
    qsort(reader->chunks, reader->chunk_count, sizeof *reader->chunks, compare_replacing);
    for (size_t i = 0; i < reader->chunk_count; i++)
        if (!kept || compare_chunks(&reader->chunks[kept - 1], &reader->chunks[i]) != 0)
            reader->chunks[kept++] = reader->chunks[i];
    reader->chunk_count = kept;
}

static bool read_size(crn_reader *reader)
{
    struct stat status;
    if (fstat(reader->file, &status) != 0)
        return false;
    reader->file_size = (uint64_t)status.st_size;
    return true;
}

/* Adds `count` entries of a directory, which begin at `begin`. Returns false if out of memory. */
static bool add_chunks(crn_reader *reader, uint64_t begin, uint64_t count)
{
    crn_disk_chunk *all = crn_try_realloc(reader->chunks, reader->chunk_count + count, sizeof *all);
    if (!all)
        return false;
    reader->chunks = all;
    int64_t got = read_at(reader->file, all + reader->chunk_count, count * sizeof *all, begin);
    reader->chunk_count += got < 0 ? 0 : (uint64_t)got / sizeof *all;
    return true;
}

/* Adds the chunks of a directory. Sets `*next`, the offset of the next one, and `*after`, the last
 * byte of this one's entries; `*next` is 0 if the directory cannot be read. Returns false if out of
 * memory. */
static bool read_directory(crn_reader *reader, uint64_t offset, uint64_t *next, uint64_t *after)
{
    crn_disk_directory directory;
    *next = 0;
    if (read_at(reader->file, &directory, sizeof directory, offset) < (int64_t)sizeof directory)
        return true;
    uint64_t begin = offset + sizeof directory;
    read_size(reader); /* after the count, so that a live file has all the entries */
    uint64_t left = begin < reader->file_size ? reader->file_size - begin : 0;
    uint64_t fits = left / sizeof(crn_disk_chunk);
    uint64_t count = directory.count < fits ? directory.count : fits;
    *next = directory.next;
    *after = begin + count * sizeof(crn_disk_chunk) - 1;
    return add_chunks(reader, begin, count);
}

/* Drops chunks behind the end of the file, and cuts those that go beyond it. */
static void cut_chunks(crn_reader *reader)
{
    size_t kept = 0;
    for (size_t i = 0; i < reader->chunk_count; i++) {
        crn_disk_chunk chunk = reader->chunks[i];
        if (chunk.offset >= reader->file_size)
            continue;
        if (chunk.size > reader->file_size - chunk.offset)
            chunk.size = reader->file_size - chunk.offset;
        reader->chunks[kept++] = chunk;
    }
    reader->chunk_count = kept;
}

/* Reads all directories. Each must begin after the end of the one before, so the walk ends, and all
 * their entries fit into the file. Reads the first one twice. A table that leaves the first page
 * gets an entry in a later directory, and then loses the one in the first: so if the second reading
 * of the first directory lacks it, the later directory, which is read after that, has it.
 * The size of the file is read last, because the file grows before a chunk gets its entry. */
static bool read_directories(crn_reader *reader, const char *name, crn_error *error)
{
    uint64_t after = 0, next;
    bool read = !reader->header.directory ||
                read_directory(reader, reader->header.directory, &next, &after);
    after = 0;
    for (uint64_t offset = reader->header.directory; read && offset > after; offset = next)
        read = read_directory(reader, offset, &next, &after);
    if (!read)
        return crn_error_set(error, CAIRN_E_MEMORY, "%s: no memory for its directory", name);
    if (!read_size(reader))
        return crn_error_set(error, CAIRN_E_READ, "%s: %s", name, strerror(errno));
    cut_chunks(reader);
    if (reader->chunk_count)
        order_chunks(reader);
    return true;
}

/* Returns true if the file is shorter than its header says. A program that closes the file lowers
 * the size in the header before it truncates the file. */
static bool is_truncated(const crn_reader *reader)
{
    uint64_t size = reader->header.size;
    return size > reader->file_size &&
           header_word(reader, offsetof(crn_disk_header, size), size) > reader->file_size;
}

static void free_chunks(crn_reader *reader)
{
    crn_free(reader->chunks);
    reader->chunks = NULL;
    reader->chunk_count = 0;
}

bool crn_reader_open_file(crn_reader *reader, int file, const char *name, crn_error *error)
{
    *reader = (crn_reader){.file = file};
    struct stat status;
    if (fstat(file, &status) != 0)
        return crn_error_set(error, CAIRN_E_READ, "%s: %s", name, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return crn_error_set(error, CAIRN_E_READ, "%s: is a directory; name a capture in it", name);
    if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || S_ISCHR(status.st_mode))
        return crn_error_set(
            error, CAIRN_E_READ,
            "%s: is not a regular file; captures need random access, so save it as a file first",
            name);
    reader->file_size = (uint64_t)status.st_size;
    if (check_header(reader, name, error) && read_directories(reader, name, error)) {
        reader->truncated = is_truncated(reader);
        return true;
    }
    free_chunks(reader);
    return false;
}

/* Sets an error that says what to do about a capture that cannot be opened. */
static bool cannot_open(const char *path, int reason, crn_error *error)
{
    char *sampled = reason == ENOENT ? crn_sampled_path_instead(path) : NULL;
    if (sampled)
        crn_error_set(error, CAIRN_E_READ, "%s: %s; while the program runs, its samples are in %s",
                      path, strerror(reason), sampled);
    else
        crn_error_set(error, CAIRN_E_READ, "%s: %s; %s", path, strerror(reason),
                      reason == EACCES ? "ask its owner for read permission" : "check the path");
    crn_free(sampled);
    return false;
}

bool crn_reader_open(crn_reader *reader, const char *path, crn_error *error)
{
    /* O_NONBLOCK: opening a pipe, which is refused below, must not wait for a writer. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return cannot_open(path, errno, error);
    if (crn_reader_open_file(reader, file, path, error))
        return true;
    close(file);
    return false;
}

bool crn_reader_refresh(crn_reader *reader, crn_error *error)
{
    if (reader->header.state != CRN_STATE_RECORDING)
        return true;
    free_chunks(reader);
    uint32_t waited = reader->waited;
    bool opened = crn_reader_open_file(reader, reader->file, "the capture", error);
    reader->waited = waited;
    return opened;
}

void crn_reader_close(crn_reader *reader)
{
    if (reader->file >= 0)
        close(reader->file);
    free_chunks(reader);
}

/* Returns the index of the first chunk whose identity is not before `identity`. */
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

size_t crn_reader_find(const crn_reader *reader, crn_section_kind kind, uint32_t lane)
{
    crn_disk_chunk identity = {.kind = (uint16_t)kind, .lane = lane};
    return find_chunk(reader, &identity);
}

/* The chunks of a section that follow each other without gaps from its begin. */
typedef struct extent {
    size_t first, last; /* indices of the first chunk and of the chunk after the last */
    uint64_t size;
} extent;

static extent extent_of(const crn_reader *reader, crn_section_kind kind, uint32_t lane,
                        uint16_t metric, uint64_t most)
{
    crn_disk_chunk identity = {.kind = (uint16_t)kind, .lane = lane, .metric = metric};
    extent its = {.first = find_chunk(reader, &identity)};
    for (its.last = its.first; its.last < reader->chunk_count && its.size < most; its.last++) {
        const crn_disk_chunk *chunk = &reader->chunks[its.last];
        if (chunk->kind != kind || chunk->lane != lane || chunk->metric != metric ||
            chunk->place != its.size)
            break;
        its.size += chunk->size;
    }
    return its;
}

uint64_t crn_reader_size(const crn_reader *reader, crn_section_kind kind, uint32_t lane,
                         uint16_t metric)
{
    return extent_of(reader, kind, lane, metric, UINT64_MAX).size;
}

/* Reads bytes->size bytes of the section, from offset `from` on. */
static bool read_extent(const crn_reader *reader, const extent *extent, uint64_t from,
                        const crn_bytes *bytes)
{
    for (size_t i = extent->first; i < extent->last; i++) {
        const crn_disk_chunk *chunk = &reader->chunks[i];
        uint64_t begin = chunk->place > from ? chunk->place : from;
        uint64_t end = chunk->place + chunk->size;
        end = end < from + bytes->size ? end : from + bytes->size;
        if (begin < end && read_at(reader->file, bytes->data + (begin - from), end - begin,
                                   chunk->offset + (begin - chunk->place)) < 0)
            return false;
    }
    return true;
}

/* Returns true if the capture was packed after the reader read its directories, or meanwhile, and
 * this section of lane 0 has moved. Only two sections can: a hostile file that changes its version
 * must not have its directories read for each of many. */
static bool is_stale(const crn_reader *reader, crn_section_kind kind, uint32_t lane)
{
    const crn_disk_header *header = &reader->header;
    if (lane || (kind != CRN_SECTION_LANE && kind != CRN_SECTION_RECORDS) ||
        header->state != CRN_STATE_RECORDING)
        return false;
    uint64_t version = header_word(reader, offsetof(crn_disk_header, format_version), 0);
    return (uint32_t)version == CRN_FORMAT_PACKED &&
           (header->format_version < CRN_FORMAT_PACKED ||
            header_word(reader, offsetof(crn_disk_header, size), header->size) != header->size);
}

enum { LOOKS = 3 }; /* a packing changes the directories twice */

/* Opens the reader's file once more, as it is now. Close the reader with free_chunks. */
static bool look_again(const crn_reader *reader, crn_reader *now, crn_error *error)
{
    return crn_reader_open_file(now, reader->file, "the capture", error);
}

static bool read_part(const crn_reader *reader, crn_section_kind kind, uint32_t lane,
                      uint16_t metric, uint64_t from, uint64_t most, crn_bytes *bytes,
                      crn_error *error)
{
    uint64_t wanted = most < UINT64_MAX - from ? from + most : UINT64_MAX;
    extent its = extent_of(reader, kind, lane, metric, wanted);
    uint64_t there = its.size > from ? its.size - from : 0;
    *bytes = (crn_bytes){.size = there < most ? there : most, .whole = there >= most};
    /* In a section larger than the file, chunks claim the same bytes. */
    if (bytes->size > reader->file_size)
        return crn_error_set(error, CAIRN_E_FORMAT, "damaged: its chunks overlap");
    bytes->data = crn_try_calloc(bytes->size + 1, 1);
    if (!bytes->data)
        return crn_error_set(error, CAIRN_E_MEMORY, "no memory for %llu bytes of it",
                             (unsigned long long)bytes->size);
    if (read_extent(reader, &its, from, bytes))
        return true;
    crn_free(bytes->data);
    bytes->data = NULL;
    return crn_error_set(error, CAIRN_E_READ, "cannot be read: %s", strerror(errno));
}

static bool part(const crn_reader *reader, int looks, crn_section_kind kind, uint32_t lane,
                 uint16_t metric, uint64_t from, uint64_t most, crn_bytes *bytes, crn_error *error)
{
    crn_reader now;
    if (!read_part(reader, kind, lane, metric, from, most, bytes, error))
        return false;
    if (looks == 0 || !is_stale(reader, kind, lane))
        return true;
    crn_free(bytes->data);
    *bytes = (crn_bytes){0};
    if (!look_again(reader, &now, error))
        return false;
    bool read = part(&now, looks - 1, kind, lane, metric, from, most, bytes, error);
    free_chunks(&now);
    return read;
}

bool crn_reader_part(const crn_reader *reader, crn_section_kind kind, uint32_t lane,
                     uint16_t metric, uint64_t from, uint64_t most, crn_bytes *bytes,
                     crn_error *error)
{
    return part(reader, LOOKS, kind, lane, metric, from, most, bytes, error);
}

bool crn_reader_section(const crn_reader *reader, crn_section_kind kind, uint32_t lane,
                        uint16_t metric, uint64_t most, crn_bytes *bytes, crn_error *error)
{
    return crn_reader_part(reader, kind, lane, metric, 0, most, bytes, error);
}

bool crn_reader_lane_section(const crn_reader *reader, crn_section_kind kind, uint32_t lane,
                             uint16_t metric, uint64_t most, uint64_t *left, crn_bytes *bytes,
                             crn_error *error)
{
    if (!crn_reader_section(reader, kind, lane, metric, most, bytes, error))
        return false;
    if (bytes->size <= *left) {
        *left -= bytes->size;
        return true;
    }
    crn_free(bytes->data);
    *bytes = (crn_bytes){0};
    return crn_error_set(error, CAIRN_E_FORMAT, "damaged: its lanes overlap");
}

/* A record of format version 1. */
typedef struct old_record {
    uint64_t calls, ticks;
    cairn_block block;
    uint32_t callees[3];
} old_record;

_Static_assert(sizeof(old_record) == 32, "on disk");

/* Converts `count` items at bytes->data to records. */
typedef void convert(const char *items, size_t count, cairn_priv_record *records);

static void convert_old(const char *items, size_t count, cairn_priv_record *records)
{
    const old_record *from = (const old_record *)(const void *)items;
    for (size_t r = 0; r < count; r++)
        records[r] = (cairn_priv_record){
            .calls = from[r].calls, .ticks = from[r].ticks, .block = from[r].block};
}

static void convert_packed(const char *items, size_t count, cairn_priv_record *records)
{
    const crn_disk_counters *from = (const crn_disk_counters *)(const void *)items;
    for (size_t r = 0; r < count; r++)
        records[r] = (cairn_priv_record){.calls = from[r].calls, .ticks = from[r].ticks};
}

static bool converted(crn_bytes *bytes, size_t size, convert *convert, crn_error *error)
{
    size_t count = bytes->size / size;
    cairn_priv_record *records = crn_try_calloc(count + 1, sizeof *records);
    if (records)
        convert(bytes->data, count, records);
    crn_free(bytes->data);
    *bytes = (crn_bytes){
        .data = (char *)records, .size = count * sizeof *records, .whole = bytes->whole};
    if (records)
        return true;
    *bytes = (crn_bytes){0};
    return crn_error_set(error, CAIRN_E_MEMORY, "out of memory for %zu records", count);
}

static bool is_packed(const crn_reader *reader, uint32_t lane)
{
    size_t found = crn_reader_find(reader, CRN_SECTION_PACKED, lane);
    return found < reader->chunk_count && reader->chunks[found].kind == CRN_SECTION_PACKED &&
           reader->chunks[found].lane == lane;
}

static bool read_records(const crn_reader *reader, uint32_t lane, uint64_t most, uint64_t *left,
                         crn_bytes *bytes, crn_error *error)
{
    bool old = reader->header.format_version == 1, packed = is_packed(reader, lane);
    crn_section_kind kind = packed ? CRN_SECTION_PACKED : CRN_SECTION_RECORDS;
    size_t size = packed ? sizeof(crn_disk_counters)
                  : old  ? sizeof(old_record)
                         : sizeof(cairn_priv_record);
    if (!crn_reader_lane_section(reader, kind, lane, 0, most * size, left, bytes, error))
        return false;
    return (!packed && !old) ||
           converted(bytes, size, packed ? convert_packed : convert_old, error);
}

static bool records(const crn_reader *reader, int looks, uint32_t lane, uint64_t most,
                    uint64_t *left, crn_bytes *bytes, crn_error *error)
{
    uint64_t before = *left;
    crn_reader now;
    if (!read_records(reader, lane, most, left, bytes, error))
        return false;
    if (looks == 0 || !is_stale(reader, CRN_SECTION_RECORDS, lane))
        return true;
    crn_free(bytes->data);
    *bytes = (crn_bytes){0};
    *left = before;
    if (!look_again(reader, &now, error))
        return false;
    bool read = records(&now, looks - 1, lane, most, left, bytes, error);
    free_chunks(&now);
    return read;
}

bool crn_reader_records(const crn_reader *reader, uint32_t lane, uint64_t most, uint64_t *left,
                        crn_bytes *bytes, crn_error *error)
{
    return records(reader, LOOKS, lane, most, left, bytes, error);
}

bool crn_reader_word(const crn_reader *reader, crn_section_kind kind, uint32_t lane,
                     uint16_t metric, uint64_t place, uint64_t *word, crn_error *error)
{
    crn_disk_chunk identity = {
        .kind = (uint16_t)kind, .lane = lane, .metric = metric, .place = place};
    size_t found = find_chunk(reader, &identity);
    *word = 0;
    if (found == reader->chunk_count || compare_chunks(&reader->chunks[found], &identity) != 0)
        found--; /* the chunk before may contain the offset */
    if (found >= reader->chunk_count)
        return true;
    const crn_disk_chunk *chunk = &reader->chunks[found];
    if (chunk->kind != kind || chunk->lane != lane || chunk->metric != metric ||
        place < chunk->place || chunk->size < sizeof *word ||
        place - chunk->place > chunk->size - sizeof *word)
        return true;
    if (read_at(reader->file, word, sizeof *word, chunk->offset + (place - chunk->place)) < 0)
        return crn_error_set(error, CAIRN_E_READ, "cannot be read: %s", strerror(errno));
    return true;
}

uint64_t crn_reader_generation(const crn_reader *reader)
{
    return header_word(reader, offsetof(crn_disk_header, generation), reader->header.generation);
}

/* If a reset comes each time, all figures count as 0. */
bool crn_reader_in_generation(const crn_reader *reader, crn_generation_read *read, void *data,
                              crn_error *error)
{
    enum { TRIES = 20 };
    for (int i = 0; i < TRIES; i++) {
        uint64_t generation = crn_reader_generation(reader);
        if (!read(data, generation, error))
            return false;
        if (crn_reader_generation(reader) == generation)
            return true;
    }
    return read(data, UINT64_MAX, error);
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

const char *crn_string_at(const crn_bytes *strings, uint64_t offset)
{
    bool begins = offset && offset < strings->size && !strings->data[offset - 1];
    return begins ? strings->data + offset : "";
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
