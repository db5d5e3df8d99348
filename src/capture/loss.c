/* SPDX-License-Identifier: MIT
 *
 * A table holds all reservations. A list would need a lock, whose holder the handler of SIGBUS can
 * interrupt. Callers find an entry by its hash; the handler looks at all entries.
 */
#include "capture/loss.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ENTRIES = 1 << 14, /* a power of two */
    PROBES = 64, /* number of entries for a reservation to choose from. If all are taken, it gets
                    none, and a loss does not replace its mappings */
    SPARE = 1 << 20,    /* bytes that crn_capture_reserve_spare reserves */
    NEIGHBOURS_LOG = 14 /* log2 of the bytes of address space that share a hash: a small process
                           then uses adjacent entries */
};

typedef struct entry {
    char *base;      /* NULL: free; atomic */
    uint64_t mapped; /* bytes from the base; atomic */
    crn_capture *of;
} entry;

static entry entries[ENTRIES];
static char being_entered[1]; /* base of an incomplete entry */
static unsigned catching;     /* number of threads in crn_capture_catch or crn_capture_lose;
                                 atomic */

static entry *probe(const char *base, unsigned i)
{
    return &entries[(((uintptr_t)base >> NEIGHBOURS_LOG) + i) & (ENTRIES - 1)];
}

/* ---- reservations ---- */

static void enter(char *base, crn_capture *capture)
{
    for (unsigned i = 0; i < PROBES; i++) {
        entry *entry = probe(base, i);
        char *none = NULL;
        if (!__atomic_compare_exchange_n(&entry->base, &none, being_entered, false,
                                         __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            continue;
        __atomic_store_n(&entry->mapped, 0, __ATOMIC_RELAXED);
        entry->of = capture;
        __atomic_store_n(&entry->base, base, __ATOMIC_SEQ_CST);
        return;
    }
}

static entry *find(const char *base)
{
    for (unsigned i = 0; i < PROBES; i++)
        if (__atomic_load_n(&probe(base, i)->base, __ATOMIC_ACQUIRE) == base)
            return probe(base, i);
    return NULL;
}

/* Takes address space that crn_capture_reserve_spare reserved. Returns NULL if too little is
 * left. */
static char *take_spare(crn_capture *capture, uint64_t size)
{
    uint64_t used = __atomic_load_n(&capture->spare_used, __ATOMIC_RELAXED);
    do {
        if (!capture->spare || size > SPARE - used)
            return NULL;
    } while (!__atomic_compare_exchange_n(&capture->spare_used, &used, used + size, true,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return capture->spare + used;
}

void crn_capture_reserve_spare(crn_capture *capture)
{
    capture->spare = crn_address_reserve(SPARE);
}

void crn_capture_release_spare(crn_capture *capture)
{
    uint64_t used = capture->spare_used;
    if (capture->spare && used < SPARE)
        crn_address_release(capture->spare + used, SPARE - used);
    capture->spare = NULL;
}

char *crn_capture_reserve(crn_capture *capture, uint64_t size)
{
    char *base = take_spare(capture, size);
    if (!base)
        base = crn_address_reserve(size);
    if (base)
        enter(base, capture);
    return base;
}

bool crn_capture_map(char *base, uint64_t place, int file, uint64_t offset, uint64_t size)
{
    entry *entry = find(base);
    if (entry && entry->mapped < place + size)
        __atomic_store_n(&entry->mapped, place + size, __ATOMIC_RELEASE);
    return crn_address_map(base + place, file, offset, size);
}

void crn_capture_pass_on(char *base, crn_capture *to)
{
    entry *entry = find(base);
    if (entry)
        __atomic_store_n(&entry->of, to, __ATOMIC_RELEASE);
}

/* Before it releases the address space for other uses, waits until no handler can map memory there.
 * If that takes too long (a fork may have removed the thread that ran the handler), the space stays
 * reserved. */
void crn_capture_release(char *base, uint64_t size)
{
    enum { PATIENCE = 10000 };
    entry *entry = base ? find(base) : NULL;
    if (entry)
        __atomic_store_n(&entry->base, NULL, __ATOMIC_SEQ_CST);
    for (int i = 0; __atomic_load_n(&catching, __ATOMIC_SEQ_CST); i++) {
        if (i == PATIENCE)
            return;
        sched_yield();
    }
    crn_address_release(base, size);
}

/* ---- loss ---- */

static void replace(char *base, uint64_t size)
{
    if (size)
        (void)mmap(base, size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

static void put(int file, size_t offset, uint32_t word)
{
    (void)!pwrite(file, &word, sizeof word, (off_t)offset);
}

/* Notes the loss in the header, unless the program closed the descriptor: its number may now mean
 * another file. */
static void say_in_file(const crn_capture *capture)
{
    struct stat status;
    int file = capture->file.descriptor;
    if (capture->detached || fstat(file, &status) != 0 || status.st_dev != capture->file.device ||
        status.st_ino != capture->file.inode || status.st_size < (off_t)CRN_PAGE)
        return;
    put(file, offsetof(crn_disk_header, stopped_by), CAIRN_E_LOST);
    put(file, offsetof(crn_disk_header, state), CRN_STATE_STOPPED);
}

/* Replaces all mappings of the capture, also when called again: there may be new mappings. */
static void lose(crn_capture *capture)
{
    bool known = __atomic_exchange_n(&capture->lost, true, __ATOMIC_SEQ_CST);
    for (size_t i = 0; i < ENTRIES; i++) {
        const entry *entry = &entries[i];
        char *base = __atomic_load_n(&entry->base, __ATOMIC_SEQ_CST);
        if (!base || base == being_entered || entry->of != capture)
            continue;
        uint64_t size = __atomic_load_n(&entry->mapped, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&entry->base, __ATOMIC_SEQ_CST) == base)
            replace(base, size);
    }
    if (!known)
        say_in_file(capture);
}

void crn_capture_lose(crn_capture *capture)
{
    int saved = errno;
    __atomic_add_fetch(&catching, 1, __ATOMIC_SEQ_CST);
    lose(capture);
    __atomic_sub_fetch(&catching, 1, __ATOMIC_SEQ_CST);
    errno = saved;
}

static crn_capture *capture_at(const char *address)
{
    for (size_t i = 0; i < ENTRIES; i++) {
        const char *base = __atomic_load_n(&entries[i].base, __ATOMIC_SEQ_CST);
        if (base && base != being_entered &&
            (uint64_t)(address - base) < __atomic_load_n(&entries[i].mapped, __ATOMIC_ACQUIRE))
            return entries[i].of;
    }
    return NULL;
}

bool crn_capture_catch(const void *address)
{
    int saved = errno;
    __atomic_add_fetch(&catching, 1, __ATOMIC_SEQ_CST);
    crn_capture *capture = capture_at(address);
    if (capture)
        lose(capture);
    __atomic_sub_fetch(&catching, 1, __ATOMIC_SEQ_CST);
    errno = saved;
    return capture;
}

void crn_capture_catch_in_child(void)
{
    catching = 0;
}
