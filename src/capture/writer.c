/* SPDX-License-Identifier: MIT */
#include "capture/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/memory.h"
#include "capture/loss.h"

enum {
    LATER_DIRECTORY = CRN_FIRST(16, 1) * CRN_PAGE, /* bytes */
    CHUNK_FIRST = CRN_PAGE,                        /* bytes */
    CHUNK_SMALL = CRN_FIRST(4, 1) * CRN_PAGE,      /* of sections that have this size */
    RESERVE_FIRST = CRN_FIRST(16, 2) * CRN_PAGE,
    RESERVE_ROOMY = CRN_FIRST(64, 8) * CRN_PAGE, /* larger sections reserve more than twice their
                                                    size */
    CHUNK_LAST = CRN_FIRST(256, 1) * CRN_PAGE,
    /* The file grows by more than is needed, because each growth costs five system calls. */
    FIRST_ALLOCATION = CRN_FIRST(4, 2) * CRN_PAGE,
    LEAST_ALLOCATION = CRN_FIRST(4, 1) * CRN_PAGE
};

/* The first page of the file has the header, the first directory, and the first chunks of the four
 * tables that each capture has. So a short process has few pages to allocate, map and write. */
enum {
    FIRST_DIRECTORY = 368,
    FIRST_DIRECTORY_CAPACITY = 31,
    METRICS_BEGIN = 1376,
    NOTES_BEGIN = 1440,
    BLOCKS_BEGIN = 1600,
    STRINGS_BEGIN = 2992,
};

_Static_assert(FIRST_DIRECTORY >= sizeof(crn_disk_header) &&
                   FIRST_DIRECTORY + sizeof(crn_disk_directory) +
                           FIRST_DIRECTORY_CAPACITY * sizeof(crn_disk_chunk) <=
                       METRICS_BEGIN,
               "the first page");

/* The first chunks of these tables, by kind of section; in test builds shorter than the space
 * between them. */
static const struct {
    uint64_t offset, size;
} first_chunks[] = {
    [CRN_SECTION_METRICS] = {METRICS_BEGIN, CRN_FIRST(NOTES_BEGIN - METRICS_BEGIN, 16)},
    [CRN_SECTION_NOTES] = {NOTES_BEGIN, CRN_FIRST(BLOCKS_BEGIN - NOTES_BEGIN, 16)},
    [CRN_SECTION_BLOCKS] = {BLOCKS_BEGIN, CRN_FIRST(STRINGS_BEGIN - BLOCKS_BEGIN, 48)},
    [CRN_SECTION_STRINGS] = {STRINGS_BEGIN, CRN_FIRST(CRN_PAGE - STRINGS_BEGIN, 64)},
};

static cairn_error error_of_errno(void)
{
    return errno == ENOSPC || errno == EFBIG || errno == EDQUOT ? CAIRN_E_SPACE : CAIRN_E_MAP;
}

/* ---- the file ---- */

/* Stores for readers why the file lacks space. */
static cairn_error refuse(crn_capture *capture, crn_refusal refusal)
{
    __atomic_store_n(&capture->header->refused, refusal, __ATOMIC_RELAXED);
    return CAIRN_E_SPACE;
}

/* The system did not let the file grow by `size` bytes. If it lacks space, so much is not requested
 * again: each attempt would fill the disk. */
static cairn_error refuse_growth(crn_capture *capture, uint64_t size)
{
    cairn_error error = error_of_errno();
    if (error != CAIRN_E_SPACE)
        return error;
    capture->refused_size = size;
    return refuse(capture, CRN_REFUSED_SYSTEM);
}

static bool is_shorter(int file, uint64_t size)
{
    struct stat status;
    return fstat(file, &status) == 0 && (uint64_t)status.st_size < size;
}

/* Returns true if the file has at least `size` bytes. If not, somebody truncated it: loses the
 * capture, since growing the file would bring zeros back for the lost bytes. */
static bool is_whole(crn_capture *capture, int file, uint64_t size)
{
    if (!is_shorter(file, size))
        return true;
    crn_capture_lose(capture);
    return false;
}

/* Extends the file by `more` bytes, or by `least` if that fails or is more. Returns by how many; 0
 * on an error. A failed attempt may have filled the disk and yet written `least` bytes. */
static uint64_t append(int file, uint64_t at, uint64_t least, uint64_t more)
{
    if (more > least && crn_file_append(file, at, more))
        return more;
    bool enough = more > least && !is_shorter(file, at + least);
    return enough || crn_file_append(file, at, least) ? least : 0;
}

/* Grows the file by at least `size` bytes. Hold the lock. */
static cairn_error allocate(crn_capture *capture, uint64_t size)
{
    if (capture->refused_size && size >= capture->refused_size)
        return CAIRN_E_SPACE;
    int file = crn_file_descriptor(&capture->file);
    if (file < 0)
        return CAIRN_E_OPEN;
    uint64_t at = capture->allocated, most = capture->limit - at;
    uint64_t more = at < 2 * LEAST_ALLOCATION ? at * 3 / 4 / CRN_PAGE * CRN_PAGE : LEAST_ALLOCATION;
    uint64_t got = append(file, at, size, most < more ? most : more);
    if (!got)
        return refuse_growth(capture, size);
    if (!is_whole(capture, file, at + got))
        return CAIRN_E_LOST;
    capture->allocated = at + got;
    return CAIRN_OK;
}

/* Takes the next `size` bytes of the file, allocated on disk, and sets their `*offset`. Hold the
 * lock. */
static cairn_error take_space(crn_capture *capture, uint64_t size, uint64_t *offset)
{
    uint64_t end = capture->end;
    cairn_error error = CAIRN_OK;
    if (capture->detached)
        return CAIRN_E_FORKED;
    if (crn_capture_is_lost(capture))
        return CAIRN_E_LOST;
    if (size > capture->limit || end > capture->limit - size)
        return refuse(capture, CRN_REFUSED_LIMIT);
    if (end + size > capture->allocated)
        error = allocate(capture, end + size - capture->allocated);
    if (error)
        return error;
    *offset = end;
    capture->end = end + size;
    __atomic_store_n(&capture->header->size, capture->end, __ATOMIC_RELEASE);
    return CAIRN_OK;
}

/* Takes back the bytes from `offset` on. Hold the lock, unless no other thread uses the capture. */
static void give_back(crn_capture *capture, uint64_t offset)
{
    capture->end = offset;
    __atomic_store_n(&capture->header->size, offset, __ATOMIC_RELEASE);
}

/* Maps allocated bytes of the file `place` bytes after the base of a reservation. For a file in
 * memory, also makes the page table entries, which costs less than a page fault a page. For a file
 * on disk it would cost more. */
static bool map_allocated(crn_capture *capture, char *base, uint64_t place, int file,
                          uint64_t offset, uint64_t size)
{
    if (!crn_capture_map(base, place, file, offset, size))
        return false;
    if (crn_file_is_nameless(&capture->file))
        crn_address_fetch(base + place, size);
    return true;
}

/* Maps a directory. The program may have closed the file's descriptor. */
static cairn_error map_directory(crn_capture *capture, uint64_t offset, uint64_t size)
{
    char *base = crn_capture_reserve(capture, size);
    int file = base ? crn_file_descriptor(&capture->file) : -1;
    if (file < 0 || !map_allocated(capture, base, 0, file, offset, size)) {
        crn_capture_release(base, size);
        return CAIRN_E_MAP;
    }
    capture->directory = (crn_disk_directory *)base;
    capture->directory_offset = offset;
    capture->directory_size = size;
    capture->directory->capacity =
        (uint32_t)((size - sizeof(crn_disk_directory)) / sizeof(crn_disk_chunk));
    return CAIRN_OK;
}

/* The second directory has one page. A capture that needs a third will need much more. */
static cairn_error add_directory(crn_capture *capture)
{
    crn_disk_directory *full = capture->directory;
    uint64_t full_size = capture->directory_size, offset = 0;
    uint64_t size = full_size ? LATER_DIRECTORY : CRN_PAGE;
    cairn_error error = take_space(capture, size, &offset);
    if (error)
        return error;
    error = map_directory(capture, offset, size);
    if (error) {
        give_back(capture, offset);
        return error;
    }
    __atomic_store_n(&full->next, offset, __ATOMIC_RELEASE);
    if (full_size)
        crn_capture_release((char *)full, full_size);
    return CAIRN_OK;
}

/* Returns the last chunk if `chunk` follows it in the file and in its section; otherwise NULL.
 * Merging the two keeps the directory short if only one section grows. */
static crn_disk_chunk *followed(crn_capture *capture, const crn_disk_chunk *chunk)
{
    uint32_t count = __atomic_load_n(&capture->directory->count, __ATOMIC_RELAXED);
    if (!count)
        return NULL;
    crn_disk_chunk *last = &capture->directory->chunks[count - 1];
    bool follows = last->kind == chunk->kind && last->metric == chunk->metric &&
                   last->lane == chunk->lane && last->place + last->size == chunk->place &&
                   last->offset + last->size == capture->end;
    return follows ? last : NULL;
}

/* Takes space for a chunk and maps it `place` bytes after the base of a reservation. Hold the
 * lock. */
static cairn_error take_mapped(crn_capture *capture, crn_disk_chunk *chunk, char *base,
                               uint64_t place)
{
    cairn_error error = take_space(capture, chunk->size, &chunk->offset);
    if (error || map_allocated(capture, base, place, crn_file_descriptor(&capture->file),
                               chunk->offset, chunk->size))
        return error;
    give_back(capture, chunk->offset);
    return CAIRN_E_MAP;
}

static cairn_error extend(crn_capture *capture, crn_disk_chunk *last, crn_disk_chunk *chunk,
                          char *base)
{
    cairn_error error = take_mapped(capture, chunk, base, 0);
    if (!error)
        __atomic_store_n(&last->size, last->size + chunk->size, __ATOMIC_RELEASE);
    return error;
}

/* Makes sure that the directory has an unused entry. Hold the lock. */
static cairn_error find_entry(crn_capture *capture)
{
    bool full = capture->directory->count == capture->directory->capacity;
    return full ? add_directory(capture) : CAIRN_OK;
}

static void publish_chunk(crn_capture *capture, const crn_disk_chunk *chunk)
{
    crn_disk_directory *directory = capture->directory;
    directory->chunks[directory->count] = *chunk;
    __atomic_store_n(&directory->count, directory->count + 1, __ATOMIC_RELEASE);
}

/* Allocates space for a chunk, maps it and adds it to the directory. It is added last, since the
 * section goes on at the same place if it cannot be mapped. Hold the lock. */
static cairn_error enter_chunk(crn_capture *capture, crn_disk_chunk *chunk, char *base,
                               uint64_t place)
{
    cairn_error error = find_entry(capture);
    if (!error)
        error = take_mapped(capture, chunk, base, place);
    if (!error)
        publish_chunk(capture, chunk);
    return error;
}

static cairn_error take_chunk(crn_capture *capture, crn_disk_chunk *chunk, char *base,
                              uint64_t place)
{
    crn_futex_lock_take(&capture->lock);
    cairn_error error = enter_chunk(capture, chunk, base, place);
    crn_futex_lock_give(&capture->lock);
    return error;
}

static cairn_error take_or_extend(crn_capture *capture, crn_disk_chunk *chunk, char *base)
{
    crn_futex_lock_take(&capture->lock);
    crn_disk_chunk *last = followed(capture, chunk);
    cairn_error error =
        last ? extend(capture, last, chunk, base) : enter_chunk(capture, chunk, base, 0);
    crn_futex_lock_give(&capture->lock);
    return error;
}

char *crn_capture_chunk(crn_capture *capture, crn_disk_chunk *chunk)
{
    char *base = crn_capture_reserve(capture, chunk->size);
    if (base && !take_or_extend(capture, chunk, base))
        return base;
    crn_capture_release(base, chunk->size);
    return NULL;
}

static cairn_error map_header(crn_capture *capture)
{
    int file = capture->file.descriptor;
    capture->allocated = capture->limit < FIRST_ALLOCATION ? CRN_PAGE : FIRST_ALLOCATION;
    if (!crn_file_extend(file, 0, capture->allocated))
        return error_of_errno();
    char *base = crn_capture_reserve(capture, CRN_PAGE);
    if (!base || !crn_capture_map(base, 0, file, 0, CRN_PAGE)) {
        crn_capture_release(base, CRN_PAGE);
        return CAIRN_E_MAP;
    }
    capture->header = (crn_disk_header *)base;
    *capture->header = (crn_disk_header){.format_version = CRN_FORMAT_VERSION,
                                         .state = CRN_STATE_RECORDING,
                                         .library_version = CAIRN_VERSION,
                                         .directory = FIRST_DIRECTORY,
                                         .size = CRN_PAGE,
                                         .process = (uint32_t)getpid()};
    capture->end = capture->header->size;
    capture->directory = (crn_disk_directory *)(void *)(base + FIRST_DIRECTORY);
    capture->directory->capacity = FIRST_DIRECTORY_CAPACITY;
    memcpy(capture->header->magic, CRN_MAGIC, sizeof capture->header->magic);
    return CAIRN_OK;
}

cairn_error crn_capture_create(crn_capture *capture, const char *path, uint64_t limit)
{
    *capture = (crn_capture){.limit = limit};
    if (!crn_file_create(&capture->file, path, CRN_MAGIC, sizeof capture->header->magic))
        return errno == ENOSPC || errno == EDQUOT ? CAIRN_E_SPACE : CAIRN_E_OPEN;
    crn_capture_reserve_spare(capture);
    cairn_error error = map_header(capture);
    if (error) {
        crn_capture_release_spare(capture);
        crn_file_close(&capture->file);
        return error;
    }
    capture->lock = (crn_futex_lock){0};
    return CAIRN_OK;
}

void crn_capture_move(crn_capture *to, const crn_capture *from)
{
    *to = *from;
    crn_capture_pass_on((char *)to->header, to);
    if (to->directory_size)
        crn_capture_pass_on((char *)to->directory, to);
}

cairn_error crn_capture_publish(crn_capture *capture)
{
    bool named = crn_file_publish(&capture->file, CRN_MAGIC, sizeof capture->header->magic);
    return named ? CAIRN_OK : CAIRN_E_OPEN;
}

int crn_capture_file(crn_capture *capture)
{
    crn_futex_lock_take(&capture->lock);
    int file = crn_file_descriptor(&capture->file);
    crn_futex_lock_give(&capture->lock);
    return file;
}

int crn_capture_file_in_memory(crn_capture *capture)
{
    return crn_file_is_nameless(&capture->file) ? crn_capture_file(capture) : -1;
}

/* Releases the unused end of a chunk. An unused chunk gets kind 0, which readers skip. */
static void trim_chunk(int file, crn_disk_chunk *chunk, uint64_t used)
{
    used = (used + CRN_PAGE - 1) / CRN_PAGE * CRN_PAGE;
    if (used >= chunk->size)
        return;
    fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(chunk->offset + used),
              (off_t)(chunk->size - used));
    chunk->size = used;
    if (!used)
        chunk->kind = 0;
}

/* The chunks of a directory that are read at once. */
enum { BATCH = 32 };

/* Trims `count` chunks, whose entries are at `at`. Returns the end of what the file still needs of
 * them; UINT64_MAX on an error. */
static uint64_t trim_batch(int file, uint64_t at, uint32_t count, crn_chunk_use *use,
                           const void *data)
{
    crn_disk_chunk chunks[BATCH];
    uint64_t end = 0, size = count * sizeof *chunks;
    if (pread(file, chunks, size, (off_t)at) != (ssize_t)size)
        return UINT64_MAX;
    for (uint32_t i = 0; i < count; i++, at += sizeof *chunks) {
        crn_disk_chunk *chunk = &chunks[i], before = *chunk;
        trim_chunk(file, chunk, use(data, chunk));
        if (memcmp(chunk, &before, sizeof before) != 0 &&
            (!crn_file_may_reach(at + sizeof *chunk) ||
             pwrite(file, chunk, sizeof *chunk, (off_t)at) != sizeof *chunk))
            return UINT64_MAX;
        if (chunk->size && end < chunk->offset + chunk->size)
            end = chunk->offset + chunk->size;
    }
    return end;
}

/* Trims the chunks of all directories. Uses pread, since only the last directory is mapped. Returns
 * the end of what the file still needs; UINT64_MAX on an error. */
static uint64_t trim_directories(int file, uint64_t first, crn_chunk_use *use, const void *data)
{
    crn_disk_directory directory = {.next = first};
    uint64_t end = 0;
    while (directory.next) {
        uint64_t at = directory.next;
        if (pread(file, &directory, sizeof directory, (off_t)at) != sizeof directory)
            return UINT64_MAX;
        at += sizeof directory;
        uint64_t filled = at + directory.capacity * sizeof(crn_disk_chunk);
        end = end < filled ? filled : end;
        for (uint32_t count, i = 0; i < directory.count; i += count) {
            count = directory.count - i < BATCH ? directory.count - i : BATCH;
            uint64_t needed = trim_batch(file, at + i * sizeof(crn_disk_chunk), count, use, data);
            if (needed == UINT64_MAX)
                return needed;
            end = end < needed ? needed : end;
        }
    }
    return (end + CRN_PAGE - 1) / CRN_PAGE * CRN_PAGE;
}

/* A reader must not find the file shorter than the header says. */
void crn_capture_cut(crn_capture *capture, int file, uint64_t end)
{
    uint64_t size = capture->end;
    if (end >= capture->allocated)
        return;
    give_back(capture, end);
    if (ftruncate(file, (off_t)end) == 0)
        capture->allocated = end;
    else
        give_back(capture, size);
}

/* Returns the descriptor of a capture that is whole; -1 if there is none. Hold the lock. */
static int file_of_whole(crn_capture *capture)
{
    if (capture->detached || crn_capture_is_lost(capture))
        return -1;
    int file = crn_file_descriptor(&capture->file);
    return file >= 0 && is_whole(capture, file, capture->end) ? file : -1;
}

uint64_t crn_capture_trim(crn_capture *capture, crn_chunk_use *use, const void *data)
{
    crn_futex_lock_take(&capture->lock);
    int file = file_of_whole(capture);
    crn_futex_lock_give(&capture->lock);
    if (file < 0)
        return UINT64_MAX;
    return trim_directories(file, capture->header->directory, use, data);
}

void crn_capture_shorten(crn_capture *capture, uint64_t end)
{
    crn_futex_lock_take(&capture->lock);
    end = end < capture->end ? end : capture->end;
    int file = end < capture->allocated ? file_of_whole(capture) : -1;
    if (file >= 0)
        crn_capture_cut(capture, file, end);
    crn_futex_lock_give(&capture->lock);
}

void crn_capture_close(crn_capture *capture, crn_capture_state state)
{
    int file = capture->file.descriptor;
    if (!capture->detached && !crn_capture_is_lost(capture) && crn_file_is_open(&capture->file) &&
        is_whole(capture, file, capture->end))
        crn_capture_cut(capture, file, capture->end);
    __atomic_store_n(&capture->header->state, state, __ATOMIC_RELEASE);
    if (capture->directory_size)
        crn_capture_release((char *)capture->directory, capture->directory_size);
    crn_capture_release((char *)capture->header, CRN_PAGE);
    crn_capture_release_spare(capture);
    crn_file_close(&capture->file);
}

void crn_capture_detach(crn_capture *capture)
{
    capture->detached = true;
    int file = crn_file_descriptor(&capture->file);
    crn_address_detach((char *)capture->header, file, 0, CRN_PAGE);
    if (capture->directory_size)
        crn_address_detach((char *)capture->directory, file, capture->directory_offset,
                           capture->directory_size);
}

/* ---- sections ---- */

void crn_section_open(crn_section *section, crn_capture *capture, crn_section_kind kind,
                      uint16_t metric, uint32_t lane)
{
    *section = (crn_section){.capture = capture,
                             .identity = {.kind = (uint16_t)kind, .metric = metric, .lane = lane}};
}

/* Returns true if the section's chunk is in the first page, which is mapped with the header. */
static bool is_in_first_page(const crn_section *section)
{
    return section->mapped && !section->reserved;
}

void crn_section_close(crn_section *section)
{
    if (!is_in_first_page(section))
        crn_capture_release(section->base, section->reserved);
    crn_free(section->chunks);
    *section = (crn_section){0};
}

void crn_section_detach(crn_section *section)
{
    int file = crn_file_descriptor(&section->capture->file);
    if (is_in_first_page(section)) /* crn_capture_detach has copied it */
        return;
    for (uint32_t i = 0; i < section->chunk_count; i++)
        crn_address_detach(section->base + section->chunks[i].place, file,
                           section->chunks[i].offset, section->chunks[i].size);
}

/* Returns how much address space to reserve for a section of `size` bytes. Moving a section costs a
 * page fault a page, so a large section reserves much, unless the program's address space is
 * limited. */
static uint64_t reserved_size(uint64_t size)
{
    if (size < RESERVE_FIRST / 2)
        return RESERVE_FIRST;
    return size * (size < RESERVE_ROOMY || crn_address_is_limited() ? 2 : 16);
}

/* Reserves address space for `size` bytes and moves the section there. On an error the section is
 * unchanged. */
static cairn_error reserve(crn_section *section, uint64_t size)
{
    if (size <= section->reserved)
        return CAIRN_OK;
    size = reserved_size(size);
    char *base = crn_capture_reserve(section->capture, size);
    if (!base)
        return CAIRN_E_MEMORY;
    int file = section->chunk_count ? crn_capture_file(section->capture) : -1;
    for (uint32_t i = 0; i < section->chunk_count; i++) {
        const crn_disk_chunk *chunk = &section->chunks[i];
        if (!map_allocated(section->capture, base, chunk->place, file, chunk->offset,
                           chunk->size)) {
            crn_capture_release(base, size);
            return CAIRN_E_MAP;
        }
    }
    char *old = section->base;
    uint64_t old_size = section->reserved;
    section->base = base; /* set before the old mapping goes: the handler of a signal may use the
                             section here */
    section->reserved = size;
    crn_capture_release(old, old_size);
    return CAIRN_OK;
}

/* Returns the size of the next chunk, of a section that must have `bytes`. */
static uint64_t chunk_size(const crn_section *section, uint64_t bytes)
{
    uint64_t mapped = is_in_first_page(section) ? 0 : section->mapped; /* that chunk is replaced */
    uint64_t size = mapped / 8, least = mapped < CHUNK_SMALL ? CHUNK_FIRST : CHUNK_SMALL;
    size = size < least ? least : size > CHUNK_LAST ? CHUNK_LAST : size;
    if (size < bytes - mapped)
        size = bytes - mapped;
    return (size + CRN_PAGE - 1) / CRN_PAGE * CRN_PAGE;
}

static uint64_t first_size(const crn_section *section)
{
    uint16_t kind = section->identity.kind;
    return kind < sizeof first_chunks / sizeof *first_chunks ? first_chunks[kind].size : 0;
}

static cairn_error add_chunk(crn_section *section, crn_disk_chunk *chunk)
{
    chunk->place = section->mapped;
    cairn_error error = reserve(section, section->mapped + chunk->size);
    return error ? error : take_chunk(section->capture, chunk, section->base, chunk->place);
}

/* Gives the section its chunk in the first page. Hold the lock. */
static cairn_error begin_in_first_page(crn_section *section, crn_disk_chunk *chunk)
{
    crn_capture *capture = section->capture;
    cairn_error error = capture->detached ? CAIRN_E_FORKED : find_entry(capture);
    if (error)
        return error;
    chunk->offset = first_chunks[chunk->kind].offset;
    chunk->size = first_chunks[chunk->kind].size;
    section->base = (char *)capture->header + chunk->offset;
    publish_chunk(capture, chunk);
    return CAIRN_OK;
}

/* Removes the chunk in the first page from the first directory. Its bytes stay, because a reader
 * may have read the directory before. */
static void retire_first(crn_capture *capture, const crn_disk_chunk *first)
{
    crn_disk_directory *directory =
        (crn_disk_directory *)(void *)((char *)capture->header + FIRST_DIRECTORY);
    for (uint32_t i = 0; i < FIRST_DIRECTORY_CAPACITY; i++)
        if (directory->chunks[i].kind == first->kind &&
            directory->chunks[i].offset == first->offset)
            __atomic_store_n(&directory->chunks[i].kind, 0, __ATOMIC_RELEASE);
}

/* Copies a table from the first page to a larger chunk. The bytes of these tables never change, so
 * both chunks are right for a reader, who takes the larger. Hold the lock. */
static cairn_error leave_first_page(crn_section *section, crn_disk_chunk *chunk)
{
    crn_capture *capture = section->capture;
    uint64_t reserved = reserved_size(chunk->size);
    char *base = crn_capture_reserve(capture, reserved);
    if (!base)
        return CAIRN_E_MEMORY;
    cairn_error error = find_entry(capture);
    if (!error)
        error = take_mapped(capture, chunk, base, 0);
    if (error) {
        crn_capture_release(base, reserved);
        return error;
    }
    memcpy(base, section->base, section->mapped);
    publish_chunk(capture, chunk);
    retire_first(capture, section->chunks);
    section->base = base;
    section->reserved = reserved;
    section->mapped = section->chunk_count = 0;
    return CAIRN_OK;
}

static cairn_error change_first_page(crn_section *section, crn_disk_chunk *chunk)
{
    crn_futex_lock_take(&section->capture->lock);
    cairn_error error =
        section->mapped ? leave_first_page(section, chunk) : begin_in_first_page(section, chunk);
    crn_futex_lock_give(&section->capture->lock);
    return error;
}

static cairn_error grow(crn_section *section, uint64_t bytes)
{
    crn_disk_chunk chunk = section->identity;
    chunk.size = chunk_size(section, bytes);
    crn_disk_chunk *chunks =
        crn_try_realloc(section->chunks, section->chunk_count + 1, sizeof *chunks);
    if (!chunks)
        return CAIRN_E_MEMORY;
    section->chunks = chunks;
    bool begins = !section->mapped && !section->reserved && bytes <= first_size(section);
    cairn_error error = begins || is_in_first_page(section) ? change_first_page(section, &chunk)
                                                            : add_chunk(section, &chunk);
    if (error)
        return error;
    chunks[section->chunk_count++] = chunk;
    section->mapped += chunk.size;
    return CAIRN_OK;
}

/* Disables cancellation: a cancelled thread would keep the lock, and its caller may not expect a
 * cancellation point. */
cairn_error crn_section_grow(crn_section *section, uint64_t bytes)
{
    if (bytes <= section->mapped)
        return CAIRN_OK;
    int cancelling;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    cairn_error error = grow(section, bytes);
    pthread_setcancelstate(cancelling, NULL);
    return error;
}

cairn_error crn_section_append(crn_section *section, const void *bytes, uint64_t size,
                               uint64_t *place)
{
    uint64_t *used = &section->capture->header->used[section->identity.kind];
    cairn_error error = crn_section_grow(section, *used + size);
    if (!error && crn_capture_is_lost(section->capture)) /* loss may have set `used` to 0 */
        error = CAIRN_E_LOST;
    if (error)
        return error;
    *place = *used;
    memcpy(section->base + *used, bytes, size);
    __atomic_store_n(used, *used + size, __ATOMIC_RELEASE);
    return CAIRN_OK;
}
