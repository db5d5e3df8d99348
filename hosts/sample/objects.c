/* SPDX-License-Identifier: MIT
 *
 * Reads interpreters' structures. An address may be wrong, or of memory that was freed. So the
 * kernel copies what other threads may free meanwhile. For what only the calling thread may free,
 * the kernel only tells whether the page can be read, which takes a tenth of the time.
 */
#include "objects.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "../native/pages.h"

/* Returns true if the page of the address can be read. The system call fails in any case, as it has
 * no such operation; before that it reads a word at the address. (Abseil does the same, in
 * AddressIsReadable.)
 */
static bool can_read(crn_words *words, uintptr_t address)
{
    enum { NO_OPERATION = -1 };
    uintptr_t page = address & ~(uintptr_t)(CRN_UNWIND_PAGE - 1);
    if (words->readable && page == words->readable)
        return true;
    int saved = errno;
    syscall(SYS_rt_sigprocmask, NO_OPERATION, address, NULL, sizeof(uint64_t));
    bool can = errno == EINVAL;
    errno = saved;
    if (can)
        words->readable = page;
    return can;
}

uintptr_t crn_word_at(crn_unwind_walk *walk, crn_words *words, uintptr_t address)
{
    uintptr_t value = 0;
    if (!address || address % sizeof value)
        return 0;
    if (words->own)
        return can_read(words, address) ? *(const volatile uintptr_t *)address : 0;
    return crn_unwind_read(walk->memory, address, &value) ? value : 0;
}

/* ---- blocks ---- */

bool crn_copy(uintptr_t from, void *to, size_t size)
{
    struct iovec here = {to, size}, there = {(void *)from, size};
    return process_vm_readv(gettid(), &here, 1, &there, 1, 0) == (ssize_t)size;
}

enum {
    SEEN = 1 << 14, /* entries of a table indexed by the object's address */
    RATE = 16,      /* times a second that the members of an old object are compared */
    YOUNG = RATE    /* units of now() (a second) in which those of a new object are compared each
                       time: it may be freed soon, and another one made in its place */
};

typedef struct seen {
    uintptr_t object;
    uint64_t added, compared; /* now() when it was added, and at the last comparison */
    cairn_block block;
    uint8_t members[CRN_MEMBERS_MOST];
} seen;

/* Returns a coarse time, RATE units a second. */
static uint64_t now(void)
{
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &moment);
    return (uint64_t)moment.tv_sec * RATE + (uint64_t)moment.tv_nsec / (1000000000 / RATE);
}

cairn_block crn_object_block(uintptr_t object, uintptr_t from, size_t size,
                             cairn_block (*add)(uintptr_t object, const void *members))
{
    static seen *table;
    static seen alone; /* the only entry if there is no memory for the table */
    uint64_t moment = now();
    _Alignas(8) uint8_t members[CRN_MEMBERS_MOST] = {0};
    if (!table)
        table = crn_pages(SEEN * sizeof *table);
    seen *entry = table ? &table[crn_unwind_hash(object) % SEEN] : &alone;
    bool is_old = entry->object == object && moment - entry->added > YOUNG;
    if (is_old && entry->compared == moment)
        return entry->block;
    crn_copy(from, members, size);
    if (entry->object != object || memcmp(members, entry->members, sizeof members) != 0) {
        entry->block = add(object, members);
        entry->added = moment;
    }
    /* Without a block, another object may take the entry at once. */
    entry->object = entry->block ? object : 0;
    memcpy(entry->members, members, sizeof members);
    entry->compared = moment;
    return entry->block;
}
