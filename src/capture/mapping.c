/* SPDX-License-Identifier: MIT */
#include "capture/mapping.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include <cairn/cairn.h>

#include "base/memory.h"

/* ---- truncated files ---- */

/* The place of a mapping. Never freed, because the signal handler may look at it at any time: a
 * later mapping uses it again. */
typedef struct crn_mapped {
    uintptr_t base; /* 0: unused; atomic */
    uint64_t size;  /* atomic. Changes only while `base` is 0 */
    struct crn_mapped *next;
} crn_mapped;

/* Held to change what follows. The signal handler reads all but `open_count` without the lock: the
 * thread that it interrupts may hold it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static crn_mapped *mappings; /* the last one made is the first; atomic */
static size_t open_count;
static struct sigaction before;

/* Returns true if `at` lies in the mapping. The second look at the base finds out whether the size
 * is that of another mapping, which took the entry meanwhile. */
static bool contains(const crn_mapped *mapped, uintptr_t at)
{
    uintptr_t base = __atomic_load_n(&mapped->base, __ATOMIC_ACQUIRE);
    uint64_t size = __atomic_load_n(&mapped->size, __ATOMIC_ACQUIRE);
    return base && at - base < size && __atomic_load_n(&mapped->base, __ATOMIC_RELAXED) == base;
}

/* Handles SIGBUS, raised by a read beyond the end of a truncated file: maps zeros there, which end
 * every section. Signal safe: mmap is a plain system call. */
static void fill(int signal, siginfo_t *info, void *context)
{
    uintptr_t at = (uintptr_t)info->si_addr;
    (void)context;
    const crn_mapped *mapped = __atomic_load_n(&mappings, __ATOMIC_ACQUIRE);
    for (; mapped; mapped = mapped->next) {
        if (!contains(mapped, at))
            continue;
        uintptr_t page = at & ~(uintptr_t)(CRN_PAGE - 1);
        if (mmap((void *)page, CRN_PAGE, PROT_READ, // NOLINT(performance-no-int-to-ptr)
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
            return;
    }
    sigaction(signal, &before, NULL); /* the address is in no mapping: the previous handler gets the
                                         signal when the access is repeated */
}

/* Returns an unused entry of the list, or a new one. Hold the lock. */
static crn_mapped *take_entry(void)
{
    crn_mapped *mapped = mappings;
    while (mapped && mapped->base)
        mapped = mapped->next;
    if (mapped)
        return mapped;
    mapped = crn_calloc(1, sizeof *mapped);
    mapped->next = mappings;
    __atomic_store_n(&mappings, mapped, __ATOMIC_RELEASE);
    return mapped;
}

void crn_mapping_open(crn_mapping *mapping, const crn_reader *reader)
{
    *mapping = (crn_mapping){.size = reader->file_size};
    void *base = mmap(NULL, reader->file_size, PROT_READ, MAP_PRIVATE, reader->file, 0);
    if (base == MAP_FAILED)
        return;
    pthread_mutex_lock(&lock);
    if (!open_count++) {
        struct sigaction action = {.sa_sigaction = fill, .sa_flags = SA_SIGINFO};
        sigemptyset(&action.sa_mask);
        sigaction(SIGBUS, &action, &before);
    }
    mapping->base = base;
    mapping->entry = take_entry();
    __atomic_store_n(&mapping->entry->size, mapping->size, __ATOMIC_RELEASE);
    __atomic_store_n(&mapping->entry->base, (uintptr_t)base, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

void crn_mapping_close(crn_mapping *mapping)
{
    if (!mapping->base)
        return;
    pthread_mutex_lock(&lock);
    __atomic_store_n(&mapping->entry->base, 0, __ATOMIC_RELAXED);
    if (!--open_count)
        sigaction(SIGBUS, &before, NULL);
    pthread_mutex_unlock(&lock);
    munmap((void *)mapping->base, mapping->size);
    *mapping = (crn_mapping){0};
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
