/* SPDX-License-Identifier: MIT */
#include "capture/mapping.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include <cairn/cairn.h>

#include "base/memory.h"

/* ---- truncated files ---- */

/* Held to change `mappings` and `before`. The signal handler reads both without the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static crn_mapping *mappings;
static struct sigaction before;

/* Handles SIGBUS, raised by a read beyond the end of a truncated file: maps zeros there, which end
 * every section. Signal safe: mmap is a plain system call. */
static void fill(int signal, siginfo_t *info, void *context)
{
    uintptr_t at = (uintptr_t)info->si_addr;
    (void)context;
    for (const crn_mapping *mapping = mappings; mapping; mapping = mapping->next) {
        uintptr_t base = (uintptr_t)mapping->base;
        if (at - base >= mapping->size)
            continue;
        uintptr_t page = at & ~(uintptr_t)(CRN_PAGE - 1);
        if (mmap((void *)page, CRN_PAGE, PROT_READ, // NOLINT(performance-no-int-to-ptr)
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
            return;
    }
    sigaction(signal, &before, NULL); /* the address is in no mapping: the previous handler gets the
                                         signal when the access is repeated */
}

void crn_mapping_open(crn_mapping *mapping, const crn_reader *reader)
{
    *mapping = (crn_mapping){.size = reader->file_size};
    void *base = mmap(NULL, reader->file_size, PROT_READ, MAP_PRIVATE, reader->file, 0);
    if (base == MAP_FAILED)
        return;
    pthread_mutex_lock(&lock);
    if (!mappings) {
        struct sigaction action = {.sa_sigaction = fill, .sa_flags = SA_SIGINFO};
        sigemptyset(&action.sa_mask);
        sigaction(SIGBUS, &action, &before);
    }
    mapping->base = base;
    mapping->next = mappings;
    mappings = mapping;
    pthread_mutex_unlock(&lock);
}

void crn_mapping_close(crn_mapping *mapping)
{
    if (!mapping->base)
        return;
    pthread_mutex_lock(&lock);
    crn_mapping **at = &mappings;
    while (*at && *at != mapping)
        at = &(*at)->next;
    if (*at)
        *at = mapping->next;
    if (!mappings)
        sigaction(SIGBUS, &before, NULL);
    pthread_mutex_unlock(&lock);
    munmap((void *)mapping->base, mapping->size);
    mapping->base = NULL;
}

void crn_mapping_rest(const crn_mapping *mapping)
{
    if (mapping->base)
        madvise((void *)mapping->base, mapping->size, MADV_DONTNEED);
}

/* ---- parts ---- */

/* Collects the consecutive chunks of a section. Returns false if a chunk does not consist of whole
 * items or does not begin at a multiple of a word. */
static bool find_parts(const crn_mapping *mapping, const crn_reader *reader, crn_section_kind kind,
                       uint32_t lane, uint64_t item, crn_parts *parts)
{
    uint64_t place = 0;
    for (size_t i = crn_reader_find(reader, kind, lane); i < reader->chunk_count; i++) {
        const crn_disk_chunk *chunk = &reader->chunks[i];
        if (chunk->kind != kind || chunk->lane != lane || chunk->metric || chunk->place != place)
            break;
        if (chunk->size % item || chunk->offset % sizeof(uint64_t))
            return false;
        place += chunk->size;
        if ((parts->count & (parts->count - 1)) == 0)
            parts->parts = crn_realloc(parts->parts, parts->count ? parts->count * 2 : 1,
                                       sizeof *parts->parts);
        parts->parts[parts->count++] =
            (crn_part){mapping->base + chunk->offset, chunk->size / item};
    }
    return true;
}

bool crn_mapping_section(const crn_mapping *mapping, const crn_reader *reader,
                         crn_section_kind kind, uint32_t lane, uint64_t item, crn_parts *parts,
                         crn_error *error)
{
    *parts = (crn_parts){0};
    if (mapping && mapping->base && find_parts(mapping, reader, kind, lane, item, parts))
        return true;
    crn_parts_free(parts);
    crn_bytes bytes;
    if (!crn_reader_section(reader, kind, lane, 0, reader->file_size, &bytes, error))
        return false;
    parts->copy = bytes.data;
    parts->parts = crn_calloc(1, sizeof *parts->parts);
    parts->parts[parts->count++] = (crn_part){bytes.data, bytes.size / item};
    return true;
}

void crn_parts_free(crn_parts *parts)
{
    crn_free(parts->parts);
    crn_free(parts->copy);
    *parts = (crn_parts){0};
}
